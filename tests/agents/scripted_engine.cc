#include "scripted_engine.h"

#include <thread>
#include <utility>

#include "base/check.h"

namespace holdfast {
namespace {

Token turn_end_of(const engine::TextModel& text) {
  const std::vector<Tokens> ends = text.turn_ends();
  CHECK(!ends.empty() && text.ends_generation(ends.front().front()));
  return ends.front().front();
}

std::string text_of(const engine::TextModel& text, TokenSpan tokens) {
  std::string all;
  for (const Token token : tokens) all += text.piece(token, true);
  return all;
}

}  // namespace

ScriptedEngine::ScriptedEngine(engine::FakeOptions fake, const engine::TextModel& text,
                               Script script)
    : fake_(std::move(fake)),
      text_(text),
      script_(std::move(script)),
      turn_end_(turn_end_of(text)),
      lines_(static_cast<std::size_t>(fake_.slot_count())) {}

Result<void> ScriptedEngine::note(SlotId slot, Result<void> done, Tokens tokens) {
  line(slot) = Line{};
  if (done) line(slot).tokens = std::move(tokens);
  return done;
}

void ScriptedEngine::plan_answer(Line& line) const {
  const ScriptedAnswer answer = script_.answer_to(text_of(text_, line.tokens));
  line.answer = text_.tokenize(answer.text, false, true);
  const Tokens line_break = text_.tokenize("\n", false, false);
  CHECK(line_break.size() == 1);
  line.answer.insert(line.answer.end(), answer.blank_tokens, line_break.front());
  line.answer.push_back(turn_end_);
  line.answer_at = line.tokens.size();
}

Result<void> ScriptedEngine::prefill(SlotId slot, TokenSpan chunk, engine::LogitsOf logits) {
  std::this_thread::sleep_for(script_.read_time_per_token() * chunk.size());
  Tokens tokens = line(slot).tokens;
  tokens.insert(tokens.end(), chunk.begin(), chunk.end());
  auto done = note(slot, fake_.prefill(slot, chunk, logits), std::move(tokens));
  if (done && logits == engine::LogitsOf::kLastToken) plan_answer(line(slot));
  return done;
}

Result<void> ScriptedEngine::decode(std::span<const engine::DecodeStep> steps) {
  std::this_thread::sleep_for(script_.write_time_per_step());
  auto done = fake_.decode(steps);
  for (const engine::DecodeStep& step : steps) {
    if (!done) {
      line(step.slot) = Line{};
      continue;
    }
    Tokens& tokens = line(step.slot).tokens;
    tokens.insert(tokens.end(), step.tokens.begin(), step.tokens.end());
  }
  return done;
}

Result<engine::Sampled> ScriptedEngine::sample(SlotId slot, engine::Sampler&, TokenPos row) {
  const Line& now = line(slot);
  CHECK(row == 0 && now.tokens.size() >= now.answer_at);
  const std::size_t said = now.tokens.size() - now.answer_at;
  engine::Sampled sampled;
  sampled.token = said < now.answer.size() ? now.answer[said] : turn_end_;
  return sampled;
}

Result<engine::Sampled> ScriptedEngine::sample_kept(std::span<const float>, engine::Sampler&) {
  return Error{ErrorCode::kEngine, "A script does not follow from logits.", ""};
}

engine::TruncateAnswer ScriptedEngine::truncate(SlotId slot, TokenPos position) {
  const engine::TruncateAnswer answer = fake_.truncate(slot, position);
  if (answer == engine::TruncateAnswer::kDone) {
    line(slot).tokens.resize(static_cast<std::size_t>(position));
  }
  return answer;
}

void ScriptedEngine::clear(SlotId slot) {
  fake_.clear(slot);
  line(slot) = Line{};
}

Result<void> ScriptedEngine::load(SlotId slot, const engine::SavedStateView& saved) {
  if (saved.scope == engine::SaveScope::kWhole) {
    clear(slot);
    return Error{ErrorCode::kUnsupported, "A scripted slot is not loaded as a whole.", ""};
  }
  Tokens tokens = line(slot).tokens;
  auto done = fake_.load(slot, saved);
  if (done) tokens.resize(static_cast<std::size_t>(saved.length));
  return note(slot, std::move(done), std::move(tokens));
}

Result<void> ScriptedEngine::restore(SlotId slot, const engine::RestorePoint& point) {
  return note(slot, fake_.restore(slot, point), Tokens(point.tokens.begin(), point.tokens.end()));
}

std::vector<std::string> ScriptedEngine::check() const {
  std::vector<std::string> violations = fake_.check();
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const SlotId slot{static_cast<int>(i)};
    if (length_of(lines_[i].tokens) != fake_.length(slot)) {
      violations.push_back("SCRIPTED-1: slot " + std::to_string(i) + " holds other tokens");
    }
  }
  return violations;
}

}  // namespace holdfast
