// A coding agent's day in little memory: one long conversation, and beside it what agents ask on
// the way (titles, summaries, quota probes) and what others ask. The long one is what costs minutes
// to read again.
#include <gtest/gtest.h>

#include <random>

#include "cache/state_cache.h"
#include "engine/testing/fake.h"
#include "plan/one_offs.h"

namespace holdfast::cache {
namespace {

constexpr TokenPos kStep = 64;
constexpr TokenPos kMain = 8192;
constexpr ByteCount kRowBytes = 8;

class TurnedClock final : public env::Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return TimePoint{} + passed; }
  std::chrono::milliseconds passed{0};
};

struct Setting {
  engine::FakeKind kind = engine::FakeKind::kHybrid;
  ByteCount snapshot = 800 * kRowBytes;
  int slots = 1;
  double memory = 1.25;  // of what the long conversation takes with three snapshots

  [[nodiscard]] ByteCount budget() const {
    return static_cast<ByteCount>(memory * static_cast<double>(kMain * kRowBytes + 3 * snapshot));
  }
};

class Server {
 public:
  explicit Server(const Setting& setting)
      : engine_({.kind = setting.kind,
                 .slots = setting.slots,
                 .context_tokens = 4 * kMain,
                 .chunk_tokens_max = kStep,
                 .snapshot_bytes = setting.snapshot}),
        cache_({.engine = &engine_, .clock = &clock_}, options(setting)) {
    for (int i = 0; i < setting.slots; ++i) slots_.push_back(SlotId{i});
  }

  // Reads the prompt. Returns the tokens that were not read. `session`: 0: none.
  TokenPos ask(const Tokens& talk, std::uint64_t session) {
    std::vector<TokenPos> cuts;
    for (TokenPos at = kStep; at < length_of(talk); at += kStep) cuts.push_back(at);
    const TokenPos end = length_of(talk);
    Prompt prompt{
        .space = {1, 2}, .tokens = talk, .keys = talk, .cuts = cuts, .header_end = end - 1};
    Receipt receipt;
    const StartChoice outlook = cache_.admission().plan(prompt, slots_);
    const TokenPos known = std::max(outlook.match.matched, outlook.plan.reused);
    if (session > 0) prompt.one_off = one_offs_.note(std::to_string(session), {end, known});
    const SlotId slot{outlook.plan.slot};
    cache_.begin(prompt, outlook, receipt);
    while (engine_.length(slot) < end) {
      const TokenPos begin = engine_.length(slot);
      const auto chunk = TokenSpan(talk).subspan(
          static_cast<std::size_t>(begin),
          static_cast<std::size_t>(cache_.growth().chunk_end(slot) - begin));
      EXPECT_TRUE(engine_.prefill(slot, chunk, engine::LogitsOf::kNone).ok());
      cache_.growth().prefilled(slot, chunk, receipt);
    }
    cache_.end(slot);
    EXPECT_EQ(cache_.check(), std::vector<std::string>{});
    return receipt.restored;
  }

  void pass(double seconds) {
    clock_.passed += std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  }
  Tokens words(TokenPos count) {
    Tokens tokens;
    for (TokenPos i = 0; i < count; ++i) tokens.push_back(static_cast<Token>(random_() % 256));
    return tokens;
  }

 private:
  [[nodiscard]] static CacheOptions options(const Setting& setting) {
    CacheOptions options;
    options.memory.budget = setting.budget();
    options.merged_chunk = kStep;
    return options;
  }

  plan::OneOffs one_offs_;
  std::mt19937 random_{3};
  TurnedClock clock_;
  engine::FakeEngine engine_;
  StateCache cache_;
  std::vector<SlotId> slots_;
};

void say(Tokens& talk, const Tokens& more) { talk.insert(talk.end(), more.begin(), more.end()); }

// An hour with an agent: a conversation grows; then its user thinks for a while, and meanwhile the
// agent asks for titles and probes its quota, and somebody else asks short questions. Then it goes
// on, or is compacted, which goes on from all of it too.
struct Hour {
  Setting setting;
  double pause_s = 600.0;   // until the conversation goes on
  TokenPos title = 1500;    // tokens
  TokenPos question = 128;  // somebody else's
};

// The share of the conversation that need not be read again.
double kept(const Hour& hour, bool named) {
  constexpr std::uint64_t kAgent = 1;
  constexpr std::uint64_t kNobody = 0;
  const std::uint64_t agent = named ? kAgent : kNobody;
  Server server(hour.setting);
  Tokens main = server.words(kMain / 2);
  for (int turn = 0; turn < 8; ++turn) {
    server.ask(main, agent);
    server.pass(5);
    say(main, server.words(kMain / 2 / 8));
  }
  server.ask(main, agent);
  const TokenPos length = length_of(main);
  for (int i = 0; i < 6; ++i) {
    server.pass(hour.pause_s / 6);
    server.ask(server.words(hour.title), agent);
    server.ask(server.words(8), agent);
    if (i % 3 == 0) server.ask(server.words(hour.question), kNobody);
  }
  say(main, server.words(64));
  return static_cast<double>(server.ask(main, agent)) / length;
}

std::vector<Hour> hours() {
  std::vector<Hour> all;
  for (const auto kind : {engine::FakeKind::kHybrid, engine::FakeKind::kAttention}) {
    for (const double pause : {60.0, 600.0, 3600.0})
      all.push_back({.setting = {.kind = kind}, .pause_s = pause});
  }
  return all;
}

TEST(Session, WhatAnAgentAsksOnTheWayDoesNotPushItsConversationOut) {
  for (const Hour& hour : hours()) EXPECT_GE(kept(hour, true), 0.95) << hour.pause_s;
}

// Or the test above would say nothing.
TEST(Session, WithoutTheSessionItDoes) {
  for (const Hour& hour : hours()) EXPECT_LE(kept(hour, false), 0.6) << hour.pause_s;
}

TEST(Session, ASecondSlotIsEnoughToo) {
  for (Hour hour : hours()) {
    hour.setting.slots = 2;
    EXPECT_GE(kept(hour, true), 0.95) << hour.pause_s;
  }
}

// One-offs are kept where there is room, and the latest of them where there is little.
TEST(Session, OneOffsTakeTheRoomThatIsLeft) {
  Server server({.memory = 1.5});
  Tokens main = server.words(kMain);
  server.ask(main, 1);
  const Tokens title = server.words(600);
  server.ask(title, 1);
  server.ask(server.words(8), 1);
  EXPECT_GT(server.ask(title, 1), 500);
}

// A subagent is a one-off with its first prompt alone.
TEST(Session, WhatIsComeBackToIsKeptAsAnythingElse) {
  Server server({});
  Tokens main = server.words(kMain);
  server.ask(main, 1);
  Tokens sub = server.words(1024);
  server.ask(sub, 1);
  say(sub, server.words(128));
  server.ask(sub, 1);
  server.ask(server.words(8), 1);  // takes the slot
  say(sub, server.words(128));
  EXPECT_GE(server.ask(sub, 1), 1024);
}

}  // namespace
}  // namespace holdfast::cache
