// Compares everything a TokenTree says with its TreeOracle. For tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tree/testing/tree_maker.h"
#include "tree/testing/tree_oracle.h"
#include "tree/token_tree.h"

namespace holdfast::tree {

class TreeVerifier {
 public:
  TreeVerifier(const TokenTree& tree, TreeOracle& oracle) : tree_(tree), oracle_(oracle) {}

  // The first difference, or an empty string. `known` lists every committed path.
  [[nodiscard]] std::string run(const std::vector<KnownPath>& known) {
    for (const std::string& violation : tree_.check()) expect(false, violation);
    oracle_.survey();
    for (const KnownPath& path : known) verify_match(path);
    verify_totals();
    for (const auto& [node, keys] : nodes_) verify_node(node, keys);
    verify_lists();
    verify_conversations();
    return failure_;
  }

  // The same for one match of any path.
  [[nodiscard]] std::string run_match(const KnownPath& path) {
    oracle_.survey();
    verify_match(path);
    return failure_;
  }

 private:
  void expect(bool holds, const std::string& what) {
    if (!holds && failure_.empty()) failure_ = what;
  }

  void verify_match(const KnownPath& path) {
    const auto keys = TreeOracle::keys(path.space, path.tokens);
    const Match match = tree_.match(path.space, path.tokens);
    TokenPos matched = 0;
    while (matched < length_of(path.tokens) && oracle_.find(keys[matched + 1])) ++matched;
    TokenPos covered = 0;
    while (covered < matched && oracle_.at(keys[covered + 1]).row) ++covered;
    if (!oracle_.needs().blocks) covered = matched;
    expect(match.matched == matched,
           "matched " + std::to_string(match.matched) + ", not " + std::to_string(matched));
    expect(match.covered == covered,
           "covered " + std::to_string(match.covered) + ", not " + std::to_string(covered));
    if (!failure_.empty()) return;
    const bool leaves =
        0 < matched && matched < length_of(path.tokens) && oracle_.at(keys[matched]).children > 0;
    expect(match.leaves_known_path == leaves, "leaves_known_path");
    for (TokenPos limit = 0; limit <= length_of(path.tokens); ++limit) {
      const TokenPos deepest =
          oracle_.restorable_at_or_above(keys[static_cast<std::size_t>(std::min(limit, matched))]);
      expect(match.restorable(limit) == deepest, "restorable up to " + std::to_string(limit));
    }
    for (const Stop& stop : match.stops) {
      const Spot& spot = oracle_.at(keys[stop.position]);
      expect(stop.has_snapshot == (spot.snapshot != nullptr), "has_snapshot of a stop");
      expect(stop.restorable == oracle_.restorable(spot), "restorable of a stop");
      nodes_[stop.node] = {keys.begin(), keys.begin() + stop.position + 1};
    }
    if (match.node) verify_rows(match.node, matched, keys);
  }

  // The rows hold what this path computed, and the gaps are where they should be.
  void verify_rows(NodeId node, TokenPos position, const std::vector<PrefixKey>& keys) {
    std::set<TokenPos> present;
    for (const BlockUse& use : tree_.path(node).rows(position)) {
      for (TokenPos p = use.range.begin; p < use.range.end; ++p) {
        const auto row = static_cast<std::size_t>(p - use.block->range().begin);
        expect(key_in(use.block->bytes(), row) == keys[p + 1], "a row of another prefix");
        expect(oracle_.at(keys[p + 1]).row == use.block, "a row from another block");
        expect(present.insert(p).second, "a row twice");
      }
    }
    for (const TokenRange& gap : tree_.path(node).gaps(position)) {
      for (TokenPos p = gap.begin; p < gap.end; ++p) {
        expect(present.insert(p).second && !oracle_.at(keys[p + 1]).row, "a gap that is none");
      }
    }
    expect(std::cmp_equal(present.size(), position), "rows and gaps leave something out");
  }

  void verify_totals() {
    for (const ByteKind kind : {ByteKind::kBlocks, ByteKind::kSnapshots}) {
      expect(tree_.bytes(kind) == oracle_.bytes(kind), "byte totals");
    }
    expect(tree_.counts().tokens == oracle_.size(), "token count");
    std::uint64_t ghosts = 0;
    for (const auto& [key, spot] : oracle_) {
      if (!spot.row && !spot.snapshot && !spot.pinned && !spot.bytes_deeper) ++ghosts;
    }
    expect(tree_.counts().ghost_tokens == ghosts, "ghost tokens");
  }

  void verify_node(NodeId node, const std::vector<PrefixKey>& keys) {
    const NodeFacts facts = tree_.facts(node);
    Spot& end = oracle_.at(keys.back());
    std::set<PrefixKey> edge;
    TokenPos rows = 0;
    Tick last_use = 0;
    std::uint32_t hits = 0;
    for (TokenPos p = facts.range.begin; p < facts.range.end; ++p) {
      Spot& spot = oracle_.at(keys[p + 1]);
      edge.insert(keys[p + 1]);
      rows += spot.row ? 1 : 0;
      last_use = std::max(last_use, spot.last_use);
      hits += std::exchange(spot.hits, 0);
    }
    // From here on the edge has one age and its hits lie at its end, as in the tree.
    for (const PrefixKey key : edge) oracle_.at(key).last_use = last_use;
    end.hits = hits;

    expect(facts.range.end == end.position, "range");
    expect(facts.last_use == last_use, "last_use");
    expect(facts.hits == hits, "hits");
    expect(facts.pinned == end.pinned, "pinned");
    expect(facts.row_tokens == rows, "row_tokens");
    expect(facts.has_snapshot == (end.snapshot != nullptr), "has_snapshot");
    expect(facts.snapshot_note == end.snapshot_note, "snapshot_note");
    expect(facts.restorable == oracle_.restorable(end), "restorable");
    expect(std::cmp_equal(facts.children, end.children), "children");
    const bool ghost = !end.pinned && !end.bytes_deeper && rows == 0 && !end.snapshot;
    expect(facts.ghost == ghost, "ghost");
    expect(facts.recompute ==
               facts.range.end - oracle_.restorable_at_or_above(keys[facts.range.begin]),
           "recompute");
    verify_share(facts, keys);
    expect(facts.block_bytes == oracle_.blocks_only_of(edge), "block_bytes");
    verify_hints(facts, end);
    verify_snapshot(facts, end, keys.back());
  }

  // Token by token: how many of the snapshots that stand at or behind it are this node's.
  void verify_share(const NodeFacts& facts, const std::vector<PrefixKey>& keys) {
    if (!facts.has_snapshot) return;
    double part = 0;
    for (TokenPos p = facts.range.end - facts.recompute; p < facts.range.end; ++p) {
      int all = 0;
      for (const auto& [node, path] : nodes_) {
        const bool behind = std::ranges::find(path, keys[p + 1]) != path.end();
        all += behind && tree_.snapshot(node) != nullptr ? 1 : 0;
      }
      part += (1.0 + facts.snapshots_below) / all;
    }
    expect(std::abs(facts.shared - part) <= 1.001, "shared");
  }

  void verify_hints(const NodeFacts& facts, const Spot& end) {
    const bool deeper = oracle_.needs().snapshot ? end.snapshot_deeper : end.bytes_deeper;
    const bool junction = end.children > 1 || end.marks.has(Hint::kJunction);
    Hints hints = end.marks;
    if (junction) hints = hints | Hint::kJunction;
    if (!deeper) hints = hints | Hint::kTip;
    if (deeper && !junction) hints = hints | Hint::kInterior;
    expect(facts.hints == hints, "hints");
  }

  void verify_snapshot(const NodeFacts& facts, Spot& end, PrefixKey key) {
    if (!end.snapshot) return;
    expect(tree_.snapshot(facts.node) == end.snapshot, "another snapshot");
    expect(key_in(end.snapshot->bytes(), 0) == key, "a snapshot of another prefix");
    expect(facts.snapshot_last_use == end.snapshot_use, "snapshot_last_use");
    const SnapshotPtr held = std::exchange(end.snapshot, nullptr);
    const ByteCount without = oracle_.resident();
    end.snapshot = held;
    expect(facts.snapshot_bytes == oracle_.resident() - without, "snapshot_bytes");
  }

  void verify_lists() {
    for (const Held held : {Held::kSnapshot, Held::kBlocks}) {
      std::set<NodeId> listed;
      for (NodeId node = tree_.oldest(held); node; node = tree_.newer(held, node)) {
        expect(listed.insert(node).second, "a candidate twice");
      }
      for (const auto& [node, keys] : nodes_) {
        const NodeFacts facts = tree_.facts(node);
        const bool holds = held == Held::kSnapshot ? facts.has_snapshot : facts.row_tokens > 0;
        expect(listed.contains(node) == (holds && !facts.pinned), "eviction candidates");
      }
    }
  }

  struct Shares {
    HeldBytes own;
    HeldBytes shared;
  };
  // An object, or the place of a snapshot, and the tips on whose paths it lies.
  struct Used {
    HeldBytes bytes;
    std::set<PrefixKey> tips;
  };
  static void add(HeldBytes& to, const HeldBytes& more) {
    to.rows += more.rows;
    to.snapshots += more.snapshots;
    to.snapshot_count += more.snapshot_count;
  }

  // What lies on the way to the tips, found spot by spot.
  template <typename Tips>
  [[nodiscard]] std::map<std::pair<const void*, PrefixKey>, Used> used_by(const Tips& tips) {
    std::map<std::pair<const void*, PrefixKey>, Used> used;
    for (const auto& [tip, shares] : tips) {
      const auto see = [&, tip = tip](const void* object, PrefixKey prefix, HeldBytes bytes) {
        Used& one = used[{object, prefix}];
        one.bytes = bytes;
        one.tips.insert(tip);
      };
      PrefixKey key = tip;
      for (const Spot* spot = oracle_.find(key); spot; spot = oracle_.find(key)) {
        if (spot->row) see(spot->row.get(), 0, {.rows = spot->row->size()});
        if (spot->snapshot) {
          see(nullptr, key, {.snapshot_count = 1});
          see(spot->snapshot.get(), 0, {.snapshots = spot->snapshot->size()});
        }
        key = spot->parent;
      }
    }
    return used;
  }

  // What only one tip needs is its own.
  void verify_conversations() {
    std::map<PrefixKey, Shares> tips;
    for (const auto& [key, spot] : oracle_) {
      if ((spot.row || spot.snapshot) && !spot.bytes_deeper) tips[key] = {};
    }
    Shares all;
    for (const auto& [object, used] : used_by(tips)) {
      const bool alone = used.tips.size() == 1;
      add(alone ? all.own : all.shared, used.bytes);
      for (const PrefixKey tip : used.tips) {
        add(alone ? tips[tip].own : tips[tip].shared, used.bytes);
      }
    }
    const HeldConversations told = tree_.conversations(tips.size());
    expect(told.count == tips.size() && told.latest.size() == tips.size(), "how many tips");
    expect(told.own == all.own && told.shared == all.shared, "own and shared of all");
    expect(told.own.sum() + told.shared.sum() == tree_.bytes().resident, "their sum");
    Tick before = ~Tick{0};
    for (const HeldConversation& one : told.latest) {
      const Tokens tokens = tree_.path(one.tip).tokens();
      const auto keys = TreeOracle::keys(one.space, tokens);
      const auto tip = tips.find(keys[one.tokens]);
      expect(tip != tips.end(), "a tip that is none, or twice");
      if (tip == tips.end()) return;
      expect(one.own == tip->second.own && one.shared == tip->second.shared, "own and shared");
      expect(one.last_use == tree_.facts(one.tip).last_use && one.last_use <= before, "order");
      std::vector<TokenPos> places;
      for (TokenPos at = 1; at <= one.tokens; ++at) {
        if (oracle_.at(keys[at]).snapshot != nullptr) places.push_back(at);
      }
      expect(one.snapshots_at == places, "where its snapshots are");
      before = one.last_use;
      tips.erase(tip);
    }
    const HeldConversations one = tree_.conversations(1);
    expect(one.count == told.count && one.own == told.own, "the same of fewer");
    if (!told.latest.empty()) expect(one.latest.at(0).tip == told.latest.at(0).tip, "the latest");
  }

  const TokenTree& tree_;
  TreeOracle& oracle_;
  std::map<NodeId, std::vector<PrefixKey>> nodes_;  // with the keys of their path
  std::string failure_;
};

}  // namespace holdfast::tree
