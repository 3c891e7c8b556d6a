#include "serve/prewarmer.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"

namespace holdfast::serve {

namespace {

// Fewer tokens are read with the next prompt in no more time than it takes anyway.
constexpr TokenPos kWorthReading = 8;

}  // namespace

Prewarmer::Prewarmer(LoopCore& core, const RequestEnds& ends, cache::CacheJournal* journal)
    : core_(core),
      ends_(ends),
      journal_(journal),
      answers_(core.slots.size()),
      pieces_(core.options.has_exact_prompts() ? 0.0 : core.options.pace.target_ms) {}

// --- what waits ------------------------------------------------------------------------------

void Prewarmer::offer(PrewarmOffer offer) {
  CHECK(!reading_);
  const auto& allowed = core_.options.may_prewarm;
  const auto slot = ends_.last_on(offer.request);
  if (!slot || !allowed || !allowed()) return;
  const cache::LiveSlot& held = core_.cache.slots()[*slot];
  // Nobody is likely to come back to a one-off.
  if (held.one_off) return;
  auto answer = std::make_unique<AnswerToRead>();
  answer->request = std::move(offer.request);
  answer->run = held.run;
  answer->prepare = std::move(offer.prepare);
  answers_[static_cast<std::size_t>(slot->value)] = std::move(answer);
}

void Prewarmer::take(PrewarmPrompt prompt) {
  for (const auto& answer : answers_) {
    if (answer == nullptr || answer->request != prompt.request || answer->next != nullptr) continue;
    answer->next = std::make_unique<const PrewarmPrompt>(std::move(prompt));
    const PrewarmPrompt& next = *answer->next;
    answer->prompt = {.space = next.space,
                      .tokens = next.prompt,
                      .keys = next.prepared.keys_of(next.prompt),
                      .cuts = next.prepared.cuts,
                      .spans = next.spans,
                      .names = next.prepared.names,
                      .end = next.prepared.end,
                      .ahead = true};
    return;
  }
}

bool Prewarmer::is_current(SlotId slot) const {
  const AnswerToRead& answer = *answers_[static_cast<std::size_t>(slot.value)];
  const cache::LiveSlot& held = core_.cache.slots()[slot];
  return held.run == answer.run && held.length() > 0;
}

// The answer that was given last, of those for which there is something to do.
std::optional<SlotId> Prewarmer::next() {
  std::optional<SlotId> latest;
  for (const Slot& slot : core_.slots) {
    auto& answer = answers_[static_cast<std::size_t>(slot.id.value)];
    if (answer == nullptr) continue;
    if (!is_current(slot.id)) {
      answer.reset();
      continue;
    }
    if (!answer->prepare && answer->next == nullptr) continue;
    const auto run = [&](SlotId id) { return core_.cache.slots()[id].run; };
    if (!latest || run(slot.id) > run(*latest)) latest = slot.id;
  }
  return latest;
}

bool Prewarmer::has_work() { return reading_ || next(); }

void Prewarmer::step() {
  if (reading_) return read_piece();
  const auto slot = next();
  if (!slot) return;
  AnswerToRead& answer = *answers_[static_cast<std::size_t>(slot->value)];
  answer.next == nullptr ? std::exchange(answer.prepare, nullptr)() : begin(*slot);
}

// --- reading ---------------------------------------------------------------------------------

// More than the answer may have to be read where the states before it are gone; and where the
// client is expected to send back what was sampled, nothing is left to read.
bool Prewarmer::worth_reading(SlotId slot, TokenPos reused) const {
  const AnswerToRead& answer = *answers_[static_cast<std::size_t>(slot.value)];
  const TokenSpan prompt = answer.next->prompt;
  const cache::LiveSlot& held = core_.cache.slots()[slot];
  TokenPos known = common_prefix(held.tokens, prompt);
  // Where prompts are exact, what was decoded is nothing to begin with.
  if (core_.options.has_exact_prompts()) known = std::min(known, held.exact);
  const TokenPos least = answer.begun ? 1 : kWorthReading;
  return length_of(prompt) < core_.engine.context_tokens() && length_of(prompt) - reused >= least &&
         reused + core_.grid.rule().step >= known;
}

void Prewarmer::begin(SlotId slot) {
  auto& answer = answers_[static_cast<std::size_t>(slot.value)];
  answer->prompt.number = core_.next_number();
  const auto choice = core_.cache.admission().plan(answer->prompt, std::span(&slot, 1));
  if (!worth_reading(slot, choice.plan.reused)) {
    ++counts_.needless;
    if (journal_ != nullptr) {
      journal_->dropped(answer->prompt.number, cache::RequestEnd::kCancelled);
    }
    answer.reset();
    return;
  }
  receipt_ = {};
  receipt_.id = answer->request + "-prewarm-" + std::to_string(answer->prompt.number);
  receipt_.unix_ms = core_.clock.unix_ms();
  (void)core_.cache.begin(answer->prompt, choice, receipt_);
  answer->run = core_.cache.slots()[slot].run;
  answer->begun = true;
  reading_ = slot;
  began_at_ = core_.length(slot);
  read_piece();
}

void Prewarmer::read_piece() {
  const SlotId slot = *reading_;
  const cache::Prompt& prompt = answers_[static_cast<std::size_t>(slot.value)]->prompt;
  cache::SlotGrowth& growth = core_.cache.growth();
  const TokenPos begin = core_.length(slot);
  const TokenPos tokens = pieces_.of(growth.chunk_end(slot) - begin);
  const TokenSpan piece =
      prompt.tokens.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(tokens));
  const auto before = core_.clock.now();
  if (!growth.before_chunk(slot) || !core_.engine.prefill(slot, piece, engine::LogitsOf::kNone)) {
    leave_slot(cache::RequestEnd::kFailed);
    answers_[static_cast<std::size_t>(slot.value)].reset();
    return;
  }
  core_.engine.wait();
  const double ms = env::ms_between(before, core_.clock.now());
  pieces_.note(tokens, ms);
  counts_.tokens += static_cast<std::uint64_t>(tokens);
  counts_.seconds += ms / 1000.0;
  growth.prefilled(slot, piece, receipt_);
  if (begin + tokens < length_of(prompt.tokens)) return;
  ++counts_.read;
  leave_slot(cache::RequestEnd::kMaxTokens);
  answers_[static_cast<std::size_t>(slot.value)].reset();
}

void Prewarmer::yield() {
  if (!reading_) return;
  ++counts_.interrupted;
  leave_slot(cache::RequestEnd::kCancelled);
}

// The slot is idle again, and holds what was read.
void Prewarmer::leave_slot(cache::RequestEnd end) {
  const SlotId slot = *std::exchange(reading_, std::nullopt);
  const AnswerToRead& answer = *answers_[static_cast<std::size_t>(slot.value)];
  core_.cache.end(slot);
  const auto read = static_cast<std::size_t>(core_.length(slot));
  log_.note(answer.prompt.space, answer.prompt.tokens.first(read), began_at_);
  if (journal_ == nullptr) return;
  receipt_.complete = true;
  cache::FinishedRequest over;
  over.number = answer.prompt.number;
  over.end = end;
  over.receipt = &receipt_;
  journal_->finished(over, core_.cache.status());
}

// --- what it was good for --------------------------------------------------------------------

TokenPos Prewarmer::claim(SpaceKey space, TokenSpan prompt, TokenPos restored) {
  const TokenPos tokens = log_.claim(space, prompt, restored);
  counts_.used_tokens += static_cast<std::uint64_t>(tokens);
  return tokens;
}

std::vector<std::string> Prewarmer::check() const {
  std::vector<std::string> violations;
  if (reading_) violations.push_back("PREWARM-2: an answer is being read");
  for (const Slot& slot : core_.slots) {
    const auto& answer = answers_[static_cast<std::size_t>(slot.id.value)];
    if (answer != nullptr && core_.cache.slots()[slot.id].run < answer->run) {
      violations.push_back("PREWARM-1: slot " + std::to_string(slot.id.value));
    }
  }
  return violations;
}

}  // namespace holdfast::serve
