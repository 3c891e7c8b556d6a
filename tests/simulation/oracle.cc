#include "oracle.h"

#include <algorithm>
#include <utility>

#include "call.h"
#include "trouble.h"

namespace holdfast::simulation {

namespace {

engine::FakeOptions cold(engine::FakeOptions fake, bool one_chunk) {
  fake.faults = nullptr;
  fake.slots = 1;
  if (one_chunk) fake.chunk_tokens_max = fake.context_tokens;
  return fake;
}

serve::SchedulerOptions without_memory(Exactness exact, TokenPos grid_step) {
  serve::SchedulerOptions options;
  options.exact = exact;
  options.grid_step = grid_step;
  return options;
}

// Where the first stop string begins, if the text has come to the end of one.
std::optional<std::size_t> stop_at(const std::string& text, const std::vector<std::string>& stops) {
  std::optional<std::size_t> first;
  for (const std::string& stop : stops) {
    if (const auto at = text.find(stop); at != std::string::npos)
      first = std::min(first.value_or(at), at);
  }
  return first;
}

}  // namespace

Oracle::Oracle(engine::FakeOptions fake, Exactness exact, TokenPos grid_step)
    : exact_(exact),
      engine_(cold(fake, false)),
      bare_(cold(fake, true)),
      scheduler_(engine_, text_, without_memory(exact, grid_step), clock_) {}

Expected Oracle::answer(const Ask& ask) {
  const TokenPos room = engine_.context_tokens() - length_of(ask.prompt);
  const bool context_is_the_limit = ask.max_tokens < 0 || ask.max_tokens + 4 > room;
  return prompts_are_exact(exact_) || context_is_the_limit ? by_scheduler(ask) : by_engine(ask);
}

Expected Oracle::by_engine(const Ask& ask) {
  const auto sampler = text_.make_sampler({}, nullptr);
  bare_.clear(SlotId{0});
  demand(bare_.prefill(SlotId{0}, ask.prompt, engine::LogitsOf::kLastToken).ok(),
         "the oracle cannot read");
  Expected expected;
  for (TokenPos said = 1;; ++said) {
    const Token token = bare_.sample(SlotId{0}, **sampler, 0).value().token;
    if (token == engine::kFakeTurnEnd && !ask.ignore_eos) return expected;
    if (said == 1) expected.first = token;
    expected.text += text_.piece(token, false);
    if (const auto stop = stop_at(expected.text, ask.stops)) {
      return {expected.text.substr(0, *stop), serve::FinishReason::kStopString, expected.first};
    }
    if (said == ask.max_tokens)
      return {expected.text, serve::FinishReason::kMaxTokens, expected.first};
    const engine::DecodeStep step{SlotId{0}, TokenSpan(&token, 1)};
    demand(bare_.decode({&step, 1}).ok(), "the oracle cannot write");
  }
}

Expected Oracle::by_scheduler(const Ask& ask) {
  Ask alone = ask;
  alone.reuse = false;
  alone.slot.reset();
  alone.timeout = {};
  alone.draft = {.max = 0};
  const auto call = std::make_shared<Call>(alone, "cold" + std::to_string(++asked_));
  demand(scheduler_.submit(call->request(text_)).ok(), "the oracle refuses");
  while (!call->ended()) scheduler_.run_round();
  demand(call->finished.has_value() && call->finished->receipt->restored == 0,
         "the oracle is not cold");
  return {call->text, call->finished->reason, call->first};
}

}  // namespace holdfast::simulation
