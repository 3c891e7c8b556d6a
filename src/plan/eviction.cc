// Candidates wait in a heap under the value they had when they were looked at.
// An eviction changes what others are worth:
//
//   rises   a deeper snapshot has farther to come back from the one above it
//   falls   the nearest snapshot above becomes a tip, and would now take rows
//           along; the rows that a tip shared with others belong to fewer of them; rows
//           become dead weight, or outermost
//
// A rise is seen when the candidate's turn comes: it is looked at again, and put
// back. A fall would be seen too late, so those whom an eviction may make cheaper
// are looked at at once: everything upwards to the nearest state, and the tips that shared
// rows with it.
#include "plan/eviction.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace holdfast::plan {

namespace {

enum class ReuseKind { kInterior, kTip, kTipAfterToolCall, kProven, kOneOff };

ReuseKind kind_of(const tree::NodeFacts& facts, Growing growing) {
  const bool shared = facts.hints.has(Hint::kJunction) || facts.hints.has(Hint::kSystemEnd);
  if (shared && facts.hits > 1) return ReuseKind::kProven;
  if (facts.hints.has(Hint::kOneOff) && facts.hits == 0) return ReuseKind::kOneOff;
  const bool wanted = (facts.hints.has(Hint::kTip) && !facts.left_behind) || facts.latest_prompt;
  if (!wanted || facts.node == growing.node) return ReuseKind::kInterior;
  return facts.hints.has(Hint::kToolCall) ? ReuseKind::kTipAfterToolCall : ReuseKind::kTip;
}

ReuseOdds odds_of(ReuseKind kind, const tree::NodeFacts& facts, const EvictionPolicy& policy) {
  switch (kind) {
    case ReuseKind::kInterior: break;
    case ReuseKind::kTip: return policy.tip;
    case ReuseKind::kTipAfterToolCall: return policy.tip_after_tool_call;
    case ReuseKind::kProven: return {policy.proven.weight * facts.hits, policy.proven.tau_s};
    case ReuseKind::kOneOff: return policy.one_off;
  }
  return policy.interior;
}

double value_of(double wanted, TokenPos tokens, ByteCount bytes) {
  return wanted * std::max(tokens, 1) / static_cast<double>(std::max<ByteCount>(bytes, 1));
}

// How likely it is to be wanted soon.
double wanted(ReuseKind kind, const tree::NodeFacts& facts, tree::Tick last_use,
              const RoomRequest& room, const EvictionPolicy& policy) {
  const ReuseOdds odds = odds_of(kind, facts, policy);
  if (room.loop != nullptr) {
    const std::uint64_t age = room.loop->age(last_use);
    if (kind == ReuseKind::kProven) return odds.weight / static_cast<double>(age + 1);
    return odds.weight * room.loop->density(age);
  }
  const tree::Tick now = room.now;
  const double age_s = now > last_use ? static_cast<double>(now - last_use) / 1000.0 : 0.0;
  return odds.weight / (age_s + odds.tau_s);
}

}  // namespace

double snapshot_value(const tree::NodeFacts& facts, const RoomRequest& room,
                      const EvictionPolicy& policy, Growing growing) {
  const bool takes_rows = facts.snapshots_below == 0 && facts.node != growing.node;
  return value_of(wanted(kind_of(facts, growing), facts, facts.snapshot_last_use, room, policy),
                  facts.recompute, facts.snapshot_bytes + (takes_rows ? facts.shared_bytes : 0));
}

double rows_value(const tree::NodeFacts& facts, const RoomRequest& room,
                  const EvictionPolicy& policy) {
  return value_of(wanted(kind_of(facts, {}), facts, facts.last_use, room, policy), facts.recompute,
                  facts.block_bytes);
}

namespace {

struct Candidate {
  double value = 0;
  tree::Tick last_use = 0;
  TokenPos position = 0;
  tree::NodeId node;
  tree::Held held = tree::Held::kSnapshot;
  tree::EvictReason reason = tree::EvictReason::kBudget;

  // The least comes out of a heap first when it counts as the greatest.
  bool operator<(const Candidate& other) const { return rank() > other.rank(); }
  // A parent was used no earlier than its children; so rows go from the outside.
  [[nodiscard]] std::tuple<double, tree::Tick, TokenPos, tree::NodeId, tree::Held> rank() const {
    return {value, last_use, -position, node, held};
  }
};

ByteCount mean_bytes_per_token(const tree::TokenTree& tree) {
  const std::uint64_t tokens = tree.counts().tokens - tree.counts().ghost_tokens;
  return tokens == 0
             ? 1
             : std::max<ByteCount>(tree.bytes(tree::ByteKind::kBlocks).resident / tokens, 1);
}

// Of the tips that shared rows with one that went this many are looked at again at once.
constexpr std::size_t kTipsSharing = 4;

// Who may go, and for how much. Looked at again after each eviction, which changes both.
class Candidates {
 public:
  Candidates(const tree::TokenTree& tree, const RoomRequest& request, const EvictionPolicy& policy)
      : tree_(tree),
        request_(request),
        policy_(policy),
        bytes_per_token_(mean_bytes_per_token(tree)) {
    note_growing_path();
  }

  [[nodiscard]] std::optional<Candidate> look_at(tree::NodeId node, tree::Held held) const {
    if (!tree_.alive(node)) return std::nullopt;
    return look_at(tree_.facts(node), held);
  }
  [[nodiscard]] std::optional<Candidate> look_at(const tree::NodeFacts& facts,
                                                 tree::Held held) const {
    return held == tree::Held::kSnapshot ? as_snapshot(facts) : as_rows(facts);
  }

  // An eviction may part edges, so the path is noted again after each.
  void note_growing_path() {
    tree::NodeId at = request_.growing.node;
    if (!at || !tree_.alive(at)) return;
    growing_path_.clear();
    for (; at; at = tree_.facts(at).parent) growing_path_.insert(at);
  }

 private:
  [[nodiscard]] bool is_growing(const tree::NodeFacts& facts) const {
    return growing_path_.contains(facts.node);
  }

  [[nodiscard]] std::optional<Candidate> as_snapshot(const tree::NodeFacts& facts) const {
    if (!facts.has_snapshot || facts.pinned) return std::nullopt;
    const Growing growing{is_growing(facts) ? facts.node : tree::NodeId{}};
    const bool interior = kind_of(facts, growing) == ReuseKind::kInterior;
    return Candidate{.value = snapshot_value(facts, request_, policy_, growing),
                     .last_use = facts.snapshot_last_use,
                     .position = facts.range.end,
                     .node = facts.node,
                     .held = tree::Held::kSnapshot,
                     .reason = interior ? tree::EvictReason::kThinned : tree::EvictReason::kBudget};
  }

  [[nodiscard]] std::optional<Candidate> as_rows(tree::NodeFacts facts) const {
    if (facts.row_tokens == 0 || facts.pinned || is_growing(facts)) return std::nullopt;
    Candidate rows{.value = 0,
                   .last_use = facts.last_use,
                   .position = facts.range.end,
                   .node = facts.node,
                   .held = tree::Held::kBlocks,
                   .reason = tree::EvictReason::kDeadWeight};
    if (facts.dead_weight(tree_.needs())) return rows;
    // A tip of a state without snapshots is an edge below which nothing is held.
    if (tree_.needs().snapshot || !facts.hints.has(Hint::kTip)) return std::nullopt;
    // Rows that only share the block of the edge above free nothing, but it cannot
    // go before them: they count as rows do on the average.
    if (facts.block_bytes == 0) {
      facts.block_bytes = static_cast<ByteCount>(facts.row_tokens) * bytes_per_token_;
    }
    rows.value = rows_value(facts, request_, policy_);
    rows.reason = tree::EvictReason::kBudget;
    return rows;
  }

  const tree::TokenTree& tree_;
  const RoomRequest& request_;
  const EvictionPolicy& policy_;
  const ByteCount bytes_per_token_;
  std::set<tree::NodeId> growing_path_;
};

class Evictor {
 public:
  Evictor(tree::TokenTree& tree, const RoomRequest& request, const EvictionPolicy& policy)
      : tree_(tree),
        request_(request),
        candidates_max_(policy.candidates_max),
        all_(tree, request, policy),
        next_snapshot_(tree.oldest(tree::Held::kSnapshot)),
        next_rows_(tree.oldest(tree::Held::kBlocks)) {}

  std::vector<Victim> run() {
    while (freed_ < request_.needed) {
      if (const auto least = take_least()) {
        evict(*least);
      } else if (!look_further()) {
        break;
      }
    }
    return std::move(victims_);
  }

 private:
  void consider(const tree::NodeFacts& facts, tree::Held held) {
    if (const auto candidate = all_.look_at(facts, held)) waiting_.push(*candidate);
  }

  // -- looking, oldest first -------------------------------------------------------

  // The next lot of candidates. None: all have been looked at; or the last lot
  // held nothing that may make way for a newcomer of so little worth.
  bool look_further() {
    const bool fruitless = victims_before_.has_value() && *victims_before_ == victims_.size();
    if (fruitless && request_.worth < std::numeric_limits<double>::infinity()) return false;
    victims_before_ = victims_.size();
    const bool snapshots = look_through(tree::Held::kSnapshot, next_snapshot_);
    const bool rows = look_through(tree::Held::kBlocks, next_rows_);
    return snapshots || rows;
  }

  bool look_through(tree::Held held, tree::NodeId& next) {
    std::size_t seen = 0;
    for (; next && seen < candidates_max_; ++seen) {
      const tree::NodeFacts facts = tree_.facts(next);
      consider(facts, held);
      next = tree_.newer(held, next);
    }
    return seen > 0;
  }

  // The least valuable candidate, if it may go.
  std::optional<Candidate> take_least() {
    while (!waiting_.empty() && waiting_.top().value < request_.worth) {
      const Candidate then = waiting_.top();
      waiting_.pop();
      const auto now = all_.look_at(then.node, then.held);
      if (!now) continue;  // it went already
      if (now->value <= then.value) return now;
      waiting_.push(*now);
    }
    return std::nullopt;
  }

  // -- going -------------------------------------------------------------------------

  void evict(const Candidate& victim) {
    const tree::NodeFacts facts = tree_.facts(victim.node);
    step_over(victim);
    const TokenPos from = tail_of(victim, facts);
    const auto freed = take_bytes(victim, from);
    if (!freed) return;
    freed_ += *freed;
    victims_.push_back(
        {victim.held, victim.node, facts.space, facts.range.end, *freed, victim.reason});
    if (freed_ >= request_.needed) return;

    all_.note_growing_path();
    look_upward_from(facts);
    if (victim.held == tree::Held::kSnapshot) look_at_tips_sharing(facts);
    if (from > facts.range.begin && !tree_.alive(victim.node)) look_again_at_rows();
  }

  std::optional<ByteCount> take_bytes(const Candidate& victim, TokenPos from) {
    const tree::EvictionNote note{victim.reason, request_.now};
    if (victim.held == tree::Held::kSnapshot) return tree_.evict_snapshot(victim.node, note);
    return tree_.evict_rows(victim.node, from, note);
  }

  // Where the rows begin that free what is still needed; 0: all of the edge.
  [[nodiscard]] TokenPos tail_of(const Candidate& victim, const tree::NodeFacts& facts) const {
    const ByteCount missing = request_.needed - freed_;
    const bool all =
        victim.held == tree::Held::kSnapshot || victim.reason == tree::EvictReason::kDeadWeight;
    if (all || missing >= facts.block_bytes) return 0;
    const auto rows = static_cast<ByteCount>(facts.row_tokens);
    const ByteCount tokens = (missing * rows + facts.block_bytes - 1) / facts.block_bytes;
    return (facts.range.end - static_cast<TokenPos>(tokens)) / kBlockTokens * kBlockTokens;
  }

  // The lists are walked while they shrink.
  void step_over(const Candidate& victim) {
    tree::NodeId& next = victim.held == tree::Held::kSnapshot ? next_snapshot_ : next_rows_;
    if (next == victim.node) next = tree_.newer(victim.held, next);
  }

  // From the node whose bytes went up to the nearest one with a state of its own.
  // What lies above that, or above a fork with another state below, is as it was.
  void look_upward_from(const tree::NodeFacts& gone) {
    tree::NodeId at = tree_.alive(gone.node) ? gone.node : gone.parent;
    while (at && tree_.alive(at)) {
      const tree::NodeFacts facts = tree_.facts(at);
      if (facts.pinned) return;
      mend_walk(facts);
      consider(facts, tree::Held::kBlocks);
      consider(facts, tree::Held::kSnapshot);
      const bool has_state = tree_.needs().snapshot ? facts.has_snapshot : facts.row_tokens > 0;
      if (has_state || !facts.hints.has(Hint::kTip)) return;
      at = facts.parent;
    }
  }

  // More rows are theirs now than when they were looked at.
  void look_at_tips_sharing(const tree::NodeFacts& gone) {
    const tree::NodeId at = tree_.alive(gone.node) ? gone.node : gone.parent;
    if (!at || !tree_.alive(at)) return;
    for (const tree::NodeId tip : tree_.tips_sharing(at, kTipsSharing)) {
      if (const auto candidate = all_.look_at(tip, tree::Held::kSnapshot))
        waiting_.push(*candidate);
    }
  }

  // An edge whose last rows now lie before its end has been parted there, and its
  // upper part stands in the list of rows in its place.
  void mend_walk(const tree::NodeFacts& facts) {
    if (facts.node == next_rows_ && facts.row_tokens == 0) next_rows_ = facts.parent;
  }

  // A node whose tail went may have been joined to the ghost below it. What is left
  // of its rows has a new node then, which only the list knows.
  void look_again_at_rows() {
    next_rows_ = tree_.oldest(tree::Held::kBlocks);
    look_through(tree::Held::kBlocks, next_rows_);
  }

  tree::TokenTree& tree_;
  const RoomRequest& request_;
  const std::size_t candidates_max_;  // in one lot
  Candidates all_;
  tree::NodeId next_snapshot_;  // the oldest that has not been looked at; none: all have
  tree::NodeId next_rows_;
  std::optional<std::size_t> victims_before_;  // the last lot was looked at
  std::priority_queue<Candidate> waiting_;     // under the value they had when looked at
  std::vector<Victim> victims_;
  ByteCount freed_ = 0;
};

}  // namespace

std::vector<Victim> evict_bytes(tree::TokenTree& tree, const RoomRequest& request,
                                const EvictionPolicy& policy) {
  return Evictor(tree, request, policy).run();
}

}  // namespace holdfast::plan
