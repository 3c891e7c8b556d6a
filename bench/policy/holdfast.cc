#include "policy/holdfast.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "cache/state_cache.h"
#include "policy/weightless_engine.h"

namespace holdfast::policy {

namespace {

constexpr SlotId kSlot{0};
constexpr SpaceKey kSpace{1, 1};
constexpr SpaceKey kNobodys{0, 0};

TokenPos longest(const Workload& workload) {
  TokenPos most = 1;
  for (const Request& request : workload.requests) most = std::max(most, request.total());
  return most;
}

cache::CacheOptions options_for(const PolicySetup& setup) {
  cache::CacheOptions options;
  options.memory.budget = setup.budget / WeightlessEngine::unit_for(setup.shape);
  options.merged_chunk = setup.workload->merged_chunk;
  return options;
}

class Holdfast final : public Policy {
 public:
  explicit Holdfast(const PolicySetup& setup)
      : workload_(*setup.workload),
        engine_(setup.shape, longest(workload_) + 1, setup.machine, clock_),
        cache_({.engine = &engine_, .clock = &clock_}, options_for(setup)) {}

  Served serve(const Turn& turn) override {
    const cache::CacheStatus before = cache_.status();
    clock_.begin_request(turn.request->time_ms);
    workload_.write_tokens(*turn.request, tokens_);
    Served served;
    served.reused = read_prompt(turn);
    answer(turn);
    clock_.begin_request(turn.request->time_ms);
    leave_slot();
    const cache::CacheStatus after = cache_.status();
    served.written = (after.stored_bytes - before.stored_bytes) * engine_.unit();
    served.evicted = static_cast<std::uint32_t>(after.evicted_snapshots + after.evicted_rows -
                                                before.evicted_snapshots - before.evicted_rows);
    served.states = static_cast<std::uint32_t>(after.snapshot_count + after.evicted_snapshots -
                                               before.snapshot_count - before.evicted_snapshots);
    return served;
  }

  [[nodiscard]] ByteCount held() const override {
    return cache_.memory().tree().bytes().resident * engine_.unit();
  }

 private:
  // Returns how much of it was there.
  TokenPos read_prompt(const Turn& turn) {
    const auto input = static_cast<std::size_t>(turn.request->input);
    find_messages(turn);
    cuts_ = turn.request->cuts;
    if (cuts_.empty()) cut_grid(turn.request->input);
    const TokenSpan tokens = TokenSpan(tokens_).first(input);
    const cache::Prompt prompt{.space = kSpace,
                               .tokens = tokens,
                               .keys = tokens,
                               .cuts = cuts_,
                               .spans = spans_,
                               .header_end = header_end(turn)};
    cache::Receipt receipt;
    cache_.begin(prompt, cache_.admission().plan(prompt, {&kSlot, 1}), receipt);
    for (TokenPos at = receipt.restored; at < turn.request->input;) {
      const TokenPos end = cache_.growth().chunk_end(kSlot);
      const TokenSpan chunk =
          tokens.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(end - at));
      CHECK(engine_.prefill(kSlot, chunk, engine::LogitsOf::kNone).ok());
      cache_.growth().prefilled(kSlot, chunk, receipt);
      at = end;
    }
    return receipt.restored;
  }

  void answer(const Turn& turn) {
    const TokenSpan tokens =
        TokenSpan(tokens_).subspan(static_cast<std::size_t>(turn.request->input));
    if (!tokens.empty()) {
      const engine::DecodeStep step{kSlot, tokens};
      CHECK(engine_.decode({&step, 1}).ok());
      cache_.growth().decoded(kSlot, tokens);
    }
    const std::uint64_t run = cache_.slots()[kSlot].run;
    cache_.end(kSlot);
    if (turn.request->tool_call) cache_.live().called_tool(kSlot, run);
  }

  // A prompt of one token that shares nothing takes the slot, and is never read.
  void leave_slot() {
    static constexpr std::array<Token, 1> kToken{0};
    const cache::Prompt prompt{.space = kNobodys, .tokens = kToken, .keys = kToken, .reuse = false};
    cache::Receipt receipt;
    cache_.begin(prompt, cache_.admission().plan(prompt, {&kSlot, 1}), receipt);
    cache_.end(kSlot);
  }

  void find_messages(const Turn& turn) {
    spans_ = turn.request->messages;
    if (!spans_.empty()) return;
    const TokenPos input = turn.request->input;
    TokenPos begin = 0;
    const auto close = [&](TokenPos end, Role role) {
      if (end <= begin || end >= input) return;
      spans_.push_back({role, begin, end});
      begin = end;
    };
    close(turn.request->system_end, Role::kSystem);
    for (const Path::Step& step : turn.path->steps()) {
      const std::uint32_t of = turn.path->trie().node(step.node).prompt_end_of;
      if (of < turn.index) close(step.end - 1, Role::kUser);
    }
    close(input - 1, Role::kUser);
  }

  // A trace knows nothing of headers: one token opens the answer.
  [[nodiscard]] static TokenPos header_end(const Turn& turn) {
    const auto& messages = turn.request->messages;
    const bool opens = !messages.empty() && messages.back().role == Role::kAssistant &&
                       messages.back().end == turn.request->input;
    return opens ? messages.back().begin : turn.request->input - 1;
  }

  void cut_grid(TokenPos input) {
    cuts_.clear();
    TokenPos last = 0;
    const auto cut_to = [&](TokenPos end) {
      for (; end - last > kGridStep; cuts_.push_back(last)) last += kGridStep;
      if (end > last && end < input) cuts_.push_back(last = end);
    };
    for (const MessageSpan& span : spans_) cut_to(span.end);
    cut_to(input);
  }

  const Workload& workload_;
  TraceClock clock_;
  WeightlessEngine engine_;
  cache::StateCache cache_;
  Tokens tokens_;
  std::vector<TokenPos> cuts_;
  std::vector<MessageSpan> spans_;
};

}  // namespace

PolicyPtr make_holdfast(const PolicySetup& setup) { return std::make_unique<Holdfast>(setup); }

}  // namespace holdfast::policy
