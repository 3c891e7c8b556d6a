#include "clients.h"

#include <algorithm>
#include <utility>

#include "engine/testing/fake.h"
#include "trouble.h"

namespace holdfast::simulation {

namespace {

constexpr std::size_t kTalksMax = 8;
constexpr std::size_t kOpenMax = 8;

// Two tenants, whose states are never shared.
SpaceKey space_of(std::size_t whose) { return SpaceKey{whose, 7}; }

Tokens tokens_of(const std::string& text) {
  Tokens tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

}  // namespace

Clients::Clients(Choices& choices, Oracle& oracle, const EngineFaults& faults, Counts& counts,
                 const Setting& setting)
    : choices_(choices), oracle_(oracle), faults_(faults), counts_(counts), setting_(setting) {}

void Clients::act(serve::Scheduler& scheduler) {
  if (!calls_.empty() && choices_.once_in(6)) return leave(scheduler);
  if (calls_.size() < kOpenMax) ask(scheduler);
}

void Clients::ask(serve::Scheduler& scheduler) {
  const std::size_t talk = choose_talk();
  const Ask next = next_turn(talk);
  for (std::size_t times = choices_.once_in(8) ? 3 : 1; times > 0; --times)
    submit(scheduler, talk, next);
}

void Clients::submit(serve::Scheduler& scheduler, std::size_t talk, const Ask& ask) {
  const auto call = std::make_shared<Call>(ask, "r" + std::to_string(++asked_));
  call->engine_failures_before = faults_.calls_failed();
  call->engine_faults_before = faults_.faults();
  static const engine::FakeText kText;
  const auto taken = scheduler.submit(call->request(kText));
  if (taken) return calls_.push_back({call, talk});
  demand(taken.error().code == ErrorCode::kUnavailable ||
             taken.error().code == ErrorCode::kContextExceeded,
         "a request was refused: " + taken.error().message);
  counts_.add("requests refused");
}

// Cancelled, as when its connection breaks. Whether it hears of that depends on what comes first.
void Clients::leave(serve::Scheduler& scheduler) {
  Call& call = *calls_[choices_.below(calls_.size())].call;
  scheduler.cancel(call.id);
  call.cancelled = true;
  counts_.add(call.deltas > 0 ? "clients that left in the middle of an answer"
                              : "clients that left before it");
}

// --- what is asked
// --------------------------------------------------------------------------------------------

std::size_t Clients::choose_talk() {
  if (talks_.empty() || choices_.once_in(10)) return new_talk();
  return choices_.below(talks_.size());
}

std::size_t Clients::new_talk() {
  Talk talk;
  talk.whose = choices_.once_in(4) ? 1 : 0;
  const char* const systems[] = {"you are a very patient and exact machine", "be brief"};
  if (!choices_.once_in(3)) add_turn(talk, Role::kSystem, tokens_of(systems[choices_.below(2)]));
  if (talks_.size() < kTalksMax) talks_.emplace_back();
  const std::size_t at =
      talks_.size() < kTalksMax ? talks_.size() - 1 : choices_.below(talks_.size());
  talks_[at] = std::move(talk);
  return at;
}

void Clients::add_turn(Talk& talk, Role role, const Tokens& said) {
  const TokenPos begin = length_of(talk.tokens);
  talk.tokens.push_back(engine::kFakeTurnStart);
  talk.tokens.insert(talk.tokens.end(), said.begin(), said.end());
  talk.tokens.push_back(engine::kFakeTurnEnd);
  talk.spans.push_back({role, begin, length_of(talk.tokens)});
}

Tokens Clients::words(std::size_t most) {
  Tokens said;
  for (std::size_t left = 1 + choices_.below(most); left > 0; --left) {
    said.push_back(static_cast<Token>('a' + choices_.below(4)));
  }
  return said;
}

// Goes back to an earlier turn: what follows is another branch.
void Clients::cut_back(Talk& talk) {
  if (talk.spans.empty()) return;
  const std::size_t kept = choices_.below(talk.spans.size());
  talk.tokens.resize(kept == 0 ? 0 : static_cast<std::size_t>(talk.spans[kept - 1].end));
  talk.spans.resize(kept);
}

Ask Clients::next_turn(std::size_t at) {
  Talk& talk = talks_[at];
  if (length_of(talk.tokens) > setting_.fake.context_tokens - 60 || choices_.once_in(6))
    cut_back(talk);
  const bool again =
      !talk.spans.empty() && talk.spans.back().role == Role::kUser && choices_.once_in(2);
  if (!again) add_turn(talk, Role::kUser, words(choices_.once_in(5) ? 150 : 24));
  Ask ask;
  ask.prompt = talk.tokens;
  ask.prompt.push_back(engine::kFakeTurnStart);
  if (!choices_.once_in(4)) ask.spans = talk.spans;
  ask.space = space_of(talk.whose);
  ask.tenant = "tenant" + std::to_string(talk.whose);
  if (choices_.once_in(2)) ask.session = "talk" + std::to_string(at);
  vary(ask);
  return ask;
}

void Clients::vary(Ask& ask) {
  ask.max_tokens = choices_.one_of<TokenPos>({0, 1, 8, 20, 20, 40});
  if (ask.max_tokens == 0) ask.max_tokens = choices_.once_in(4) ? -1 : 12;
  ask.draft = {.max = choices_.one_of<TokenPos>({0, 2, 8}), .adaptive = choices_.once_in(2)};
  ask.ignore_eos = choices_.once_in(6);
  if (choices_.once_in(6)) ask.stops = {choices_.once_in(2) ? "e" : "qu", "xyz"};
  if (choices_.once_in(10)) ask.reuse = false;
  if (choices_.once_in(10))
    ask.slot =
        SlotId{static_cast<int>(choices_.below(static_cast<std::size_t>(setting_.fake.slots)))};
  if (choices_.once_in(12)) ask.timeout = std::chrono::milliseconds(1 + choices_.below(60));
}

// --- what comes back
// ------------------------------------------------------------------------------------------

void Clients::collect(serve::Scheduler* scheduler) {
  for (std::size_t i = 0; i < calls_.size();) {
    if (!calls_[i].call->ended()) {
      ++i;
      continue;
    }
    judge(calls_[i], scheduler);
    calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Clients::server_ended() {
  ending_ = true;
  for (const Open& open : calls_)
    demand(open.call->ended(), "request " + open.call->id + " never heard of the end");
  collect(nullptr);
  ending_ = false;
}

std::string Clients::first_waiting() const { return calls_.empty() ? "" : calls_.front().call->id; }

void Clients::judge(const Open& open, serve::Scheduler* scheduler) {
  const Call& call = *open.call;
  demand(call.disorder.empty(), call.id + ": " + call.disorder);
  const Expected expected = oracle_.answer(call.ask);
  if (call.failed) return judge_failure(call, expected);
  demand(call.first == expected.first, call.id + " began '" + call.text + "' where cold '" +
                                           expected.text + "': its prompt differs");
  demand(!answers_alike(call) || call.text == expected.text,
         call.id + " was answered '" + call.text + "', cold '" + expected.text + "'");
  demand(!answers_alike(call) || call.finished->reason == expected.reason,
         call.id + " ended for another reason than cold");
  demand(call.finished->receipt->exact == setting_.exact, call.id + " was promised something else");
  const cache::Receipt& receipt = *call.finished->receipt;
  demand_none(cache::check_receipt(receipt));
  demand(receipt.restored + receipt.recomputed == receipt.prompt_tokens,
         call.id + ": its receipt does not add up");
  demand(call.ask.reuse || receipt.restored == 0, call.id + " wanted nothing reused");
  counts_.add("answers compared");
  counts_.add("tokens restored", static_cast<std::uint64_t>(receipt.restored));
  counts_.add("tokens read", static_cast<std::uint64_t>(receipt.recomputed));
  if (receipt.fetched > 0) counts_.add("answers that began with a state from disk");
  go_on(open, scheduler);
}

// History shows an answer as it was, or without its beginning, as templates leave thoughts out.
void Clients::go_on(const Open& open, serve::Scheduler* scheduler) {
  const Call& call = *open.call;
  Talk& talk = talks_[open.talk];
  const bool still_there =
      std::ranges::equal(talk.tokens, TokenSpan(call.ask.prompt).first(call.ask.prompt.size() - 1));
  if (!still_there || call.text.empty()) return;
  const std::size_t hidden = choices_.once_in(2) ? choices_.below(call.text.size()) : 0;
  add_turn(talk, Role::kAssistant, tokens_of(call.text.substr(hidden)));
  if (scheduler != nullptr) offer_prewarm(call, talk, *scheduler);
}

// Sometimes with a history that the client will not send.
void Clients::offer_prewarm(const Call& call, const Talk& talk, serve::Scheduler& scheduler) {
  Talk guess = talk;
  if (choices_.once_in(5)) add_turn(guess, Role::kUser, words(20));
  serve::PrewarmPrompt next;
  next.request = call.id;
  next.space = call.ask.space;
  next.prompt = guess.tokens;
  next.spans = guess.spans;
  next.prepared = scheduler.prepare(next.prompt, next.space, true);
  counts_.add("answers offered to be read ahead");
  scheduler.offer_prewarm({call.id, [&scheduler, next] { scheduler.prewarm(next); }});
}

// Whether all of an answer has to be the cold one, or what follows from its prompt alone.
bool Clients::answers_alike(const Call& call) const {
  return setting_.exact != Exactness::kPrompt || faults_.faults() == call.engine_faults_before;
}

void Clients::judge_failure(const Call& call, const Expected& expected) {
  demand(!call.first || call.first == expected.first, call.id + ": its prompt differs from cold");
  demand(!answers_alike(call) || expected.text.starts_with(call.text),
         call.id + " had wrong text before it failed: '" + call.text + "', cold '" + expected.text +
             "'");
  const ErrorCode code = call.failed->code;
  const bool explained =
      (code == ErrorCode::kCancelled && call.cancelled) ||
      (code == ErrorCode::kTimeout && call.ask.timeout.count() > 0) ||
      (code == ErrorCode::kUnavailable && ending_) ||
      (code == ErrorCode::kEngine && faults_.calls_failed() > call.engine_failures_before);
  demand(explained, call.id + " failed for no reason: " + call.failed->message);
  counts_.add("answers that failed, with a reason");
}

}  // namespace holdfast::simulation
