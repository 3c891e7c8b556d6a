// TreeWorld does the same random operations to a TokenTree and to its oracle,
// and compares the two after each. For tests.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tree/testing/shrink.h"
#include "tree/testing/tree_maker.h"
#include "tree/testing/tree_oracle.h"
#include "tree/testing/tree_verify.h"
#include "tree/token_tree.h"

namespace holdfast::tree {

class TreeWorld {
 public:
  static constexpr int kKinds = 12;

  // `tail_max`: how many tokens a new path may add. Small ones make many short
  // edges, ones beyond kBlockTokens make blocks of several cells.
  TreeWorld(StateNeeds needs, TokenPos tail_max) : make_(tail_max), oracle_(needs), tree_(needs) {}

  // Empty, or what went wrong.
  [[nodiscard]] std::string apply(SeededOp op) {
    make_.seed(op.seed);
    now_ += below(3);
    switch (op.kind) {
      case 0:
      case 1:
      case 2: commit(); break;
      case 3: match(); break;
      case 4: attach(); break;
      case 5: evict_snapshot(); break;
      case 6: evict_rows(); break;
      case 7: pin(); break;
      case 8: unpin(); break;
      case 9: use(); break;
      case 10: mark(); break;
      default: trim(); break;
    }
    TreeVerifier verifier(tree_, oracle_);
    const std::string difference = verifier.run(known_);
    if (failure_.empty()) failure_ = difference;
    return failure_;
  }
  [[nodiscard]] const std::string& log() const { return log_; }

 private:
  unsigned below(unsigned limit) { return make_.below(limit); }
  bool one_in(unsigned n) { return make_.one_in(n); }
  void expect(bool holds, const std::string& what) {
    if (!holds && failure_.empty()) failure_ = what;
  }
  void note(const std::string& what) { log_ += "  " + what + "\n"; }
  TokenPos position_below(TokenSpan tokens) {
    return static_cast<TokenPos>(below(static_cast<unsigned>(tokens.size())));
  }
  static std::string text(const KnownPath& path) {
    std::string letters = std::to_string(path.space.low) + ":";
    for (const Token token : path.tokens) letters += static_cast<char>('a' + token);
    return letters;
  }

  void stamp(const Keys& keys, TokenPos end) {
    for (TokenPos p = 1; p <= end; ++p) oracle_.at(keys[p]).last_use = now_;
  }
  // Stamps as the tree does: up to the end of the edge that holds the position.
  void stamp_node(NodeId node) { stamp(keys_of(node), tree_.facts(node).range.end); }
  Keys keys_of(NodeId node) {
    return TreeOracle::keys(tree_.facts(node).space, tree_.path(node).tokens());
  }
  // A node of the tree, or none.
  NodeId random_node() {
    const KnownPath path = make_.path(known_);
    const Match match = tree_.match(path.space, path.tokens);
    if (match.stops.empty() || one_in(3)) return match.node;
    return match.stops[below(static_cast<unsigned>(match.stops.size()))].node;
  }
  void attach_to_oracle(const Keys& keys, const SnapshotPtr& snapshot) {
    Spot& spot = oracle_.at(keys[snapshot->position()]);
    if (spot.snapshot) return;
    spot.snapshot = snapshot;
    spot.snapshot_use = now_;
    spot.snapshot_note = {};
  }

  void commit() {
    const KnownPath path = make_.path(known_);
    const Keys keys = TreeOracle::keys(path.space, path.tokens);
    const auto rows = one_in(4) ? std::vector<ExtentBlockPtr>{} : make_.blocks(keys);
    std::vector<SnapshotPtr> snapshots;
    std::vector<PlacedHints> marks;
    for (unsigned n = below(3); n > 0; --n) {
      snapshots.push_back(make_.snapshot(keys, 1 + position_below(path.tokens)));
    }
    if (one_in(4)) marks.push_back({1 + position_below(path.tokens), Hint::kPromptEnd});
    note("commit " + text(path) + ", " + std::to_string(rows.size()) + " blocks, " +
         std::to_string(snapshots.size()) + " snapshots");

    const Committed outcome = tree_.commit({path.space, path.tokens, rows, snapshots, marks, now_});
    const ByteCount before = oracle_.resident();
    const std::size_t known_before = oracle_.size();
    oracle_.learn(keys);
    for (const auto& row : rows) oracle_.put(keys, row);
    for (const auto& snapshot : snapshots) attach_to_oracle(keys, snapshot);
    for (const auto& mark : marks) {
      Spot& spot = oracle_.at(keys[mark.position]);
      spot.marks = spot.marks | mark.hints;
    }
    known_.push_back(path);
    filed_.push_back({outcome.node, length_of(path.tokens)});
    stamp_node(outcome.node);
    expect(outcome.new_bytes == oracle_.resident() - before, "new_bytes");
    expect(std::cmp_equal(outcome.new_tokens, oracle_.size() - known_before), "new_tokens");
    const TokenRange last = tree_.facts(outcome.node).range;
    expect(last.begin < length_of(path.tokens) && length_of(path.tokens) <= last.end, "its node");
  }

  void match() {
    const KnownPath path = make_.path(known_);
    note("match " + text(path));
    const std::string difference = TreeVerifier(tree_, oracle_).run_match(path);
    expect(difference.empty(), difference);
    compare_with_filed(path);
  }

  // With every path that was ever committed, whatever has become of it.
  void compare_with_filed(const KnownPath& path) {
    const Match match = tree_.match(path.space, path.tokens);
    for (std::size_t i = 0; i < known_.size(); ++i) {
      if (known_[i].space != path.space) continue;
      const TokenPos common = tree_.common(match, path.tokens, filed_[i], known_[i].tokens);
      expect(common == common_prefix(path.tokens, known_[i].tokens),
             "common with " + text(known_[i]));
    }
  }

  void attach() {
    const NodeId node = random_node();
    if (!node) return;
    const TokenRange range = tree_.facts(node).range;
    const Keys keys = keys_of(node);
    const TokenPos position =
        range.begin + 1 + static_cast<TokenPos>(below(static_cast<unsigned>(range.length())));
    note("attach at " + std::to_string(position));
    const SnapshotPtr made = make_.snapshot(keys, position);
    const Tokens tokens = tree_.path(node).tokens();
    const TokenSpan front = TokenSpan(tokens).first(static_cast<std::size_t>(position));
    const Committed there = tree_.commit(
        {.space = tree_.facts(node).space, .tokens = front, .snapshots = {&made, 1}, .now = now_});
    attach_to_oracle(keys, made);
    stamp_node(there.node);
    expect(tree_.facts(there.node).range.end == position, "attached elsewhere");
  }

  [[nodiscard]] std::vector<NodeId> all_candidates() const {
    std::vector<NodeId> all;
    for (const Held held : {Held::kSnapshot, Held::kBlocks}) {
      for (NodeId at = tree_.oldest(held); at; at = tree_.newer(held, at)) all.push_back(at);
    }
    return all;
  }
  void expect_alive(const std::vector<NodeId>& candidates, NodeId evicted) {
    for (const NodeId node : candidates) {
      expect(node == evicted || tree_.alive(node), "another candidate vanished");
    }
  }

  // An eviction is refused at pinned nodes and where there is nothing.
  void evict_snapshot() {
    const NodeId node = one_in(2) ? tree_.oldest(Held::kSnapshot) : random_node();
    if (!node) return;
    Spot& spot = oracle_.at(keys_of(node).back());
    oracle_.survey();
    const bool possible = !spot.pinned && spot.snapshot;
    const EvictionNote why{one_in(3) ? EvictReason::kNone : EvictReason::kBudget, now_};
    note("evict the snapshot at " + std::to_string(spot.position));
    const ByteCount before = oracle_.resident();
    const auto candidates = all_candidates();
    const auto freed = tree_.evict_snapshot(node, why);
    expect_alive(candidates, node);
    expect(freed.has_value() == possible, "refusal of evict_snapshot");
    if (!possible) return;
    spot.snapshot = nullptr;
    spot.snapshot_note = why ? why : EvictionNote{};
    expect(freed == before - oracle_.resident(), "bytes freed by a snapshot");
  }

  void evict_rows() {
    const NodeId node = one_in(2) ? tree_.oldest(Held::kBlocks) : random_node();
    if (!node) return;
    const TokenRange range = tree_.facts(node).range;
    const Keys keys = keys_of(node);
    const TokenPos from = one_in(2) ? 0 : range.begin + position_below(tree_.path(node).tokens());
    note("evict rows of [" + std::to_string(range.begin) + ", " + std::to_string(range.end) +
         ") from " + std::to_string(from));
    oracle_.survey();
    bool possible = false;
    const ByteCount before = oracle_.resident();
    for (TokenPos p = std::max(from, range.begin); p < range.end; ++p) {
      Spot& spot = oracle_.at(keys[p + 1]);
      if (oracle_.at(keys.back()).pinned) break;
      possible |= spot.row != nullptr;
      spot.row = nullptr;
    }
    const auto candidates = all_candidates();
    const auto freed = tree_.evict_rows(node, from, {EvictReason::kBudget, now_});
    expect_alive(candidates, node);
    expect(freed.has_value() == possible, "refusal of evict_rows");
    expect(!freed || *freed == before - oracle_.resident(), "bytes freed by rows");
  }

  void pin() {
    const NodeId node = random_node();
    if (!node || pins_.size() > 4) return;
    note("pin at " + std::to_string(tree_.facts(node).range.end));
    pins_.emplace_back(node, tree_.pin(node));
    ++oracle_.at(keys_of(node).back()).pins;
  }

  void unpin() {
    if (pins_.empty()) return;
    const auto at = pins_.begin() + below(static_cast<unsigned>(pins_.size()));
    note("unpin at " + std::to_string(tree_.facts(at->first).range.end));
    --oracle_.at(keys_of(at->first).back()).pins;
    pins_.erase(at);
  }

  void use() {
    const NodeId node = random_node();
    if (!node) return;
    const bool hit = one_in(2);
    note((hit ? "hit at " : "touch at ") + std::to_string(tree_.facts(node).range.end));
    if (!hit) {
      const Tokens tokens = tree_.path(node).tokens();
      (void)tree_.commit({.space = tree_.facts(node).space, .tokens = tokens, .now = now_});
    }
    if (hit) tree_.record_hit(node, now_);
    stamp_node(node);
    if (!hit) return;
    Spot& spot = oracle_.at(keys_of(node).back());
    ++spot.hits;
    if (spot.snapshot) spot.snapshot_use = now_;
  }

  void mark() {
    const NodeId node = random_node();
    if (!node) return;
    const Hints hints = one_in(2) ? Hints(Hint::kJunction) : Hint::kPromptEnd;
    Spot& spot = oracle_.at(keys_of(node).back());
    note("mark at " + std::to_string(spot.position));
    spot.marks = spot.marks | hints;
    tree_.mark(node, hints);
  }

  // Forgets one leaf: the oldest of those that hold nothing.
  void trim() {
    oracle_.survey();
    std::map<PrefixKey, Keys> leaves;  // ghost leaves by the last key of their path
    for (const KnownPath& path : known_) {
      const Match match = tree_.match(path.space, path.tokens);
      if (!match.node || !tree_.facts(match.node).ghost) continue;
      const Keys keys = keys_of(match.node);
      if (oracle_.at(keys.back()).children == 0) leaves[keys.back()] = keys;
    }
    if (leaves.empty()) return expect(tree_.counts().ghost_tokens == 0, "a ghost without leaves");
    Tick oldest = ~Tick{0};
    std::map<PrefixKey, TokenPos> begins;
    for (const auto& [key, keys] : leaves) oldest = std::min(oldest, oracle_.at(key).last_use);
    for (const KnownPath& path : known_) {
      const Match match = tree_.match(path.space, path.tokens);
      if (match.node) begins[keys_of(match.node).back()] = tree_.facts(match.node).range.begin;
    }
    note("trim one leaf");
    expect(tree_.trim_ghost(tree_.counts().ghost_tokens - 1) > 0, "nothing was trimmed");
    int gone = 0;
    for (const auto& [key, keys] : leaves) {
      if (!is_forgotten(keys)) continue;
      ++gone;
      expect(oracle_.at(key).last_use == oldest, "a younger leaf was trimmed");
      for (auto p = static_cast<std::size_t>(begins[key]) + 1; p < keys.size(); ++p) {
        oracle_.forget(keys[p]);
      }
    }
    expect(gone == 1, "not one leaf was trimmed");
  }

  // The tree no longer knows the last token of this path.
  bool is_forgotten(const Keys& keys) {
    for (const KnownPath& path : known_) {
      const Keys known = TreeOracle::keys(path.space, path.tokens);
      if (known.size() < keys.size() || known[keys.size() - 1] != keys.back()) continue;
      return std::cmp_less(tree_.match(path.space, path.tokens).matched, keys.size() - 1);
    }
    return true;
  }

  TreeMaker make_;
  TreeOracle oracle_;
  TokenTree tree_;
  std::vector<std::pair<NodeId, Pin>> pins_;  // after the tree: destroyed before it
  std::vector<KnownPath> known_;
  std::vector<Filed> filed_;  // where each of them was put
  Tick now_ = 1;
  std::string log_;
  std::string failure_;
};

}  // namespace holdfast::tree
