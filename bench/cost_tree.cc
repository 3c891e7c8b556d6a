// The forest that is measured: agents with a system block each, projects below them,
// conversations below those, all of one prompt's length.
//
//   agent      [ system 8% |
//   project                | files 30% |
//   conversation                       | messages ...... 62% )
//
// A message has 40 to 1,200 tokens; a checkpoint lies at its end, and in long ones
// every 256 tokens. Rows and snapshots have the proportions of Qwen3.5 0.8B (a
// snapshot weighs as much as 1,644 tokens) but few bytes, so that all fits in memory.
#include "cost_tree.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "plan/eviction.h"
#include "plan/start_plan.h"
#include "state/grid.h"
#include "tree/token_tree.h"

namespace holdfast::bench {

namespace {

constexpr SpaceKey kSpace{1, 1};
constexpr Token kTurnEnd = 1;
constexpr TokenPos kGridStep = 256;
constexpr std::size_t kRowBytes = 2;
constexpr std::size_t kSnapshotBytes = 1644 * kRowBytes;
constexpr int kAgents = 10;
constexpr int kProjectsPerAgent = 8;
constexpr int kSlots = 4;
constexpr TokenPos kQuestionTokens = 200;
// Larger than the last level of most caches.
constexpr std::size_t kFlushBytes = std::size_t{64} << 20;

// Time of this thread alone, in microseconds: what else runs on the machine takes a
// core away for milliseconds now and then, which would say nothing about the tree.
double now_us() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}
double us_since(double start_us) { return now_us() - start_us; }

// Keeps the optimiser from leaving out what is measured.
template <typename T>
void use(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

class Forest {
 public:
  explicit Forest(const TreeSetting& setting)
      : setting_(setting), random_(setting.seed), tree_({.blocks = true, .snapshot = true}) {
    for (int i = 0; i < kAgents; ++i) agents_.push_back(messages(share(0.08)));
    for (int i = 0; i < kAgents * kProjectsPerAgent; ++i) projects_.push_back(messages(share(0.3)));
    while (tree_.counts().nodes < setting.nodes) add_conversation();
  }

  struct Conversation {
    int project = 0;
    Tokens tokens;
    tree::Filed filed;
  };

  [[nodiscard]] tree::TokenTree& tree() { return tree_; }
  [[nodiscard]] const std::vector<Conversation>& conversations() const { return conversations_; }
  [[nodiscard]] const Conversation& any() { return conversations_[below(conversations_.size())]; }
  // One that shares a prefix with `other`, if there is one: its project, or its agent.
  [[nodiscard]] const Conversation& relative(const Conversation& other, int projects_apart) {
    for (int tries = 0; tries < 1000; ++tries) {
      const Conversation& one = any();
      const int same = projects_apart == 0 ? 1 : kProjectsPerAgent;
      if (&one != &other && one.project / same == other.project / same) return one;
    }
    return any();
  }
  [[nodiscard]] std::vector<TokenPos> cuts(TokenSpan tokens) const { return grid_.cuts(tokens); }
  [[nodiscard]] tree::Tick tick() { return now_ += 1000; }
  [[nodiscard]] std::size_t below(std::size_t limit) { return random_() % limit; }
  [[nodiscard]] Tokens messages(TokenPos count) {
    Tokens tokens;
    while (length_of(tokens) < count) {
      const auto length = 40 + static_cast<TokenPos>(random_() % 1160);
      for (TokenPos i = 0; i < length; ++i) tokens.push_back(2 + below(150'000));
      tokens.push_back(kTurnEnd);
    }
    tokens.resize(static_cast<std::size_t>(count));
    tokens.back() = kTurnEnd;
    return tokens;
  }

  // Commits all of the tokens with rows and a snapshot at each cut, where they are new.
  tree::Committed commit(TokenSpan tokens) {
    const TokenPos known = tree_.match(kSpace, tokens).matched;
    std::vector<ExtentBlockPtr> blocks;
    for (TokenPos at = known; at < length_of(tokens);) {
      const TokenPos end = std::min((at / kBlockTokens + 1) * kBlockTokens, length_of(tokens));
      const auto bytes = static_cast<std::size_t>(end - at) * kRowBytes;
      blocks.push_back(std::make_shared<const ExtentBlock>(TokenRange{at, end}, StateBytes(bytes)));
      at = end;
    }
    std::vector<SnapshotPtr> snapshots;
    std::vector<tree::PlacedHints> marks;
    for (const TokenPos cut : cuts(tokens)) {
      if (cut <= known) continue;
      const bool ends_turn = tokens[static_cast<std::size_t>(cut - 1)] == kTurnEnd;
      snapshots.push_back(std::make_shared<const Snapshot>(cut, StateBytes(kSnapshotBytes)));
      marks.push_back({cut, ends_turn ? Hint::kMessageEnd : Hint::kGridStep});
    }
    return tree_.commit({kSpace, tokens, blocks, snapshots, marks, tick()});
  }

 private:
  [[nodiscard]] TokenPos share(double of) const {
    return static_cast<TokenPos>(of * setting_.prompt_tokens);
  }

  void add_conversation() {
    Conversation one;
    one.project = static_cast<int>(below(projects_.size()));
    for (const Tokens* part : {&agents_[static_cast<std::size_t>(one.project / kProjectsPerAgent)],
                               &projects_[static_cast<std::size_t>(one.project)]}) {
      one.tokens.insert(one.tokens.end(), part->begin(), part->end());
    }
    const Tokens own = messages(setting_.prompt_tokens - length_of(one.tokens));
    one.tokens.insert(one.tokens.end(), own.begin(), own.end());
    // Checkpoint by checkpoint, as a prompt is read.
    for (const TokenPos cut : cuts(one.tokens)) {
      commit(TokenSpan(one.tokens).first(static_cast<std::size_t>(cut)));
    }
    one.filed = {commit(one.tokens).node, length_of(one.tokens)};
    conversations_.push_back(std::move(one));
  }

  const TreeSetting setting_;
  std::mt19937_64 random_;
  Grid grid_{GridRule{kGridStep, {{kTurnEnd}}}};
  tree::Tick now_ = 0;
  std::vector<Tokens> agents_;
  std::vector<Tokens> projects_;
  std::vector<Conversation> conversations_;
  tree::TokenTree tree_;
};

void flush_caches() {
  static std::vector<std::uint64_t> buffer(kFlushBytes / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < buffer.size(); i += 8) ++buffer[i];
  use(buffer);
}

// --- (a) ---------------------------------------------------------------------------

struct Question {
  Tokens tokens;
  std::vector<TokenPos> cuts;
  // What the slots hold. Requests ended there, so the tree knows where it is filed.
  std::vector<Forest::Conversation> live;
};

enum class Agreement {
  kPartly,  // the slots: this conversation, one of its project, of its agent, any
  kAll,     // the worst case: all slots hold the prompt's conversation
};

// Most prompts go on with a conversation; some part from it.
Question make_question(Forest& forest, Agreement agreement) {
  const Forest::Conversation& known = forest.any();
  Question question;
  const bool parts = forest.below(3) == 0;
  const std::size_t kept = parts ? forest.below(known.tokens.size()) : known.tokens.size();
  question.tokens.assign(known.tokens.begin(),
                         known.tokens.begin() + static_cast<std::ptrdiff_t>(kept));
  const TokenPos rest = length_of(known.tokens) - length_of(question.tokens) + kQuestionTokens;
  const Tokens fresh = forest.messages(rest);
  question.tokens.insert(question.tokens.end(), fresh.begin(), fresh.end());
  question.cuts = forest.cuts(question.tokens);
  if (agreement == Agreement::kAll) {
    question.live.assign(kSlots, known);
  } else {
    question.live = {known, forest.relative(known, 0), forest.relative(known, 1), forest.any()};
  }
  return question;
}

struct StartTimes {
  double live_us = 0;  // the slots' tokens compared
  double match_us = 0;
  double plan_us = 0;
  std::size_t nodes = 0;

  [[nodiscard]] double all_us() const { return live_us + match_us + plan_us; }
};

// What StateCache::plan does.
StartTimes time_start(const tree::TokenTree& tree, const Question& question) {
  StartTimes times;
  const TokenSpan prompt = question.tokens;
  auto start = now_us();
  const tree::Match match = tree.match(kSpace, prompt);
  times.match_us = us_since(start);
  times.nodes = match.stops.size();
  start = now_us();
  std::vector<plan::LiveState> slots;
  for (const Forest::Conversation& live : question.live) {
    plan::LiveState slot;
    slot.slot = static_cast<int>(slots.size());
    slot.length = slot.exact = length_of(live.tokens);
    slot.common = tree.common(match, prompt, live.filed, live.tokens);
    slot.can_truncate = [length = slot.length](TokenPos position) { return position == length; };
    slots.push_back(std::move(slot));
  }
  times.live_us = us_since(start);
  start = now_us();
  plan::StartInput input;
  input.prompt_length = length_of(prompt);
  input.cuts = question.cuts;
  input.match = &match;
  input.slots = slots;
  input.costs = {.bytes_per_token = 12 << 10, .bytes_per_snapshot = 19 << 20};
  const plan::StartPlan plan = plan::plan_start(input);
  times.plan_us = us_since(start);
  use(plan);
  return times;
}

Measurement measure_start(Forest& forest, const TreeSetting& setting, Agreement agreement) {
  Samples all, live, match, plan, warm, warm_match, nodes;
  for (int i = 0; i < setting.samples; ++i) {
    Question question = make_question(forest, agreement);
    flush_caches();
    // A prompt has just been read by the tokenizer and the grid; nothing else has.
    question.tokens = Tokens(question.tokens);
    use(question.tokens);
    const StartTimes cold = time_start(forest.tree(), question);
    all.add(cold.all_us());
    live.add(cold.live_us);
    match.add(cold.match_us);
    plan.add(cold.plan_us);
    nodes.add(static_cast<double>(cold.nodes));
    const StartTimes again = time_start(forest.tree(), question);
    warm.add(again.all_us());
    warm_match.add(again.match_us);
  }
  Measurement result;
  result.what = "match and plan";
  result.under = std::to_string(forest.tree().counts().nodes) + " nodes, " +
                 std::to_string(forest.tree().counts().tokens) + " tokens known, prompts of " +
                 std::to_string(setting.prompt_tokens) + ", " + std::to_string(kSlots) +
                 " slots that agree " + (agreement == Agreement::kAll ? "in all" : "in part") +
                 ", cold caches, time of one thread";
  result.figures = percentiles("start_us", all);
  for (const auto& [name, samples] : {std::pair{"of_it_slots_us", &live},
                                      {"of_it_match_us", &match},
                                      {"of_it_plan_us", &plan},
                                      {"warm_start_us", &warm},
                                      {"of_it_match_us_warm", &warm_match}}) {
    for (const Figure& figure : percentiles(name, *samples)) result.figures.push_back(figure);
  }
  result.figures.push_back({"nodes_on_path", nodes.median()});
  if (agreement == Agreement::kPartly) {
    result.judged = "start_us_p99";
    result.goal = 100;
  }
  return result;
}

// --- (b) ---------------------------------------------------------------------------

// The budget is full: each checkpoint of some conversation needs the room of others.
Measurement measure_eviction(Forest& forest, const TreeSetting& setting) {
  const plan::EvictionPolicy policy;
  Samples evict_us, commit_us, victims;
  std::uint64_t nothing = 0;
  for (int i = 0; i < setting.samples; ++i) {
    Tokens tokens = forest.any().tokens;
    const Tokens more = forest.messages(kGridStep);
    tokens.insert(tokens.end(), more.begin(), more.end());
    const tree::Match match = forest.tree().match(kSpace, tokens);
    plan::RoomRequest request;
    request.needed = kSnapshotBytes + more.size() * kRowBytes;
    request.now = forest.tick();
    request.worth = policy.tip.weight / policy.tip.tau_s * static_cast<double>(more.size()) /
                    static_cast<double>(request.needed);
    request.growing = {match.stops.empty() ? tree::NodeId{} : match.stops.back().node};
    flush_caches();
    auto start = now_us();
    const auto gone = plan::evict_bytes(forest.tree(), request, policy);
    evict_us.add(us_since(start));
    victims.add(static_cast<double>(gone.size()));
    if (gone.empty()) ++nothing;
    start = now_us();
    forest.commit(tokens);
    commit_us.add(us_since(start));
  }
  Measurement result;
  result.what = "eviction";
  result.under = std::to_string(forest.tree().counts().nodes) +
                 " nodes, room for one checkpoint of 256 tokens at a time, cold caches";
  result.figures = percentiles("evict_us", evict_us);
  for (const Figure& figure : percentiles("commit_us", commit_us)) result.figures.push_back(figure);
  result.figures.push_back({"victims_p50", victims.median()});
  result.figures.push_back({"calls_without_victim", static_cast<double>(nothing)});
  return result;
}

}  // namespace

void measure_tree(const TreeSetting& setting, Report& report) {
  std::fprintf(stderr, "planting a tree of %zu nodes ...\n", setting.nodes);
  Forest forest(setting);
  report.add(measure_start(forest, setting, Agreement::kPartly));
  report.add(measure_start(forest, setting, Agreement::kAll));
  report.add(measure_eviction(forest, setting));
}

}  // namespace holdfast::bench
