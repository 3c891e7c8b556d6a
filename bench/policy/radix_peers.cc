#include "policy/radix_peers.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "policy/radix.h"

namespace holdfast::policy {

namespace {

TokenPos align(TokenPos position, TokenPos grain) { return position / grain * grain; }

// What the three have in common: look, reuse, insert, make room.
class RadixPolicy : public Policy {
 public:
  explicit RadixPolicy(const PolicySetup& setup)
      : setup_(setup), tree_(*setup.trie, setup_.shape) {}

  Served serve(const Turn& turn) final {
    ++now_;
    now_s_ = static_cast<double>(turn.request->time_ms) / 1000;
    served_ = {};
    const TokenPos limit = turn.request->input - 1;
    const RadixMatch match = tree_.match(*turn.path, limit);
    const RadixId hit = deepest_state(tree_, match, limit);
    served_.reused = setup_.shape.has_state()
                         ? (hit == kNoRadixNode ? 0 : tree_.node(hit).end.position)
                         : match.matched;
    if (hit != kNoRadixNode) {
      tree_.node(hit).state_used = now_;
      tree_.node(hit).used_s = now_s_;
    }
    for (const TokenPos place : places(turn, match.matched)) put_state(turn, place);
    put_rows(turn, turn.request->total());
    touch(turn);
    make_room();
    return served_;
  }
  [[nodiscard]] ByteCount held() const final { return tree_.bytes(); }

 protected:
  // Where states are put while [reused, total) is computed, ascending.
  [[nodiscard]] virtual std::vector<TokenPos> places(const Turn& turn, TokenPos matched) const = 0;
  virtual void make_room() = 0;

  void put_rows(const Turn& turn, TokenPos length) {
    TokenPos added = 0;
    const RadixId node = tree_.insert(*turn.path, length, added);
    served_.written += setup_.shape.rows(added);
    if (added > 0) tree_.node(node).used_s = now_s_;
  }

  void put_state(const Turn& turn, TokenPos place) {
    if (place <= served_.reused || !setup_.shape.has_state()) return;
    TokenPos added = 0;
    const RadixId node = tree_.insert(*turn.path, place, added);
    served_.written += setup_.shape.rows(added);
    if (!tree_.add_state(node)) return;
    tree_.node(node).state_used = now_;
    tree_.node(node).used_s = now_s_;
    served_.written += setup_.shape.state_bytes;
    ++served_.states;
  }

  void touch(const Turn& turn) {
    for (const RadixId id : tree_.match(*turn.path, turn.request->total()).nodes) {
      tree_.node(id).used = now_;
    }
  }

  // A leaf goes, and with it the edges above that now lead to no state.
  void drop_leaf(RadixId leaf) {
    ++served_.evicted;
    while (leaf != kRadixRoot) {
      const RadixId parent = tree_.node(leaf).parent;
      tree_.drop_leaf(leaf);
      leaf = parent;
      if (tree_.node(leaf).children > 0 || tree_.node(leaf).state) return;
      if (!setup_.shape.has_state()) return;
    }
  }

  // The one with the least of what `value` says, of those for which it says anything.
  template <typename Value>
  [[nodiscard]] RadixId least(Value value) const {
    RadixId best = kNoRadixNode;
    double least = std::numeric_limits<double>::infinity();
    for (RadixId id = 1; id < tree_.size(); ++id) {
      if (!tree_.node(id).alive) continue;
      const std::optional<double> here = value(tree_.node(id));
      if (here && *here < least) {
        least = *here;
        best = id;
      }
    }
    return best;
  }

  const PolicySetup setup_;
  Radix tree_;
  Served served_;
  std::uint64_t now_ = 0;
  double now_s_ = 0;
};

// --- plain LRU ------------------------------------------------------------------

class Lru final : public RadixPolicy {
 public:
  using RadixPolicy::RadixPolicy;

 private:
  [[nodiscard]] std::vector<TokenPos> places(const Turn& turn, TokenPos matched) const override {
    return {matched, turn.request->input, turn.request->total()};
  }
  void make_room() override {
    while (tree_.bytes() > setup_.budget) {
      const RadixId oldest = least([](const RadixNode& node) -> std::optional<double> {
        if (node.children == 0) return static_cast<double>(node.used);
        if (node.state) return static_cast<double>(node.state_used);
        return std::nullopt;
      });
      if (tree_.node(oldest).children == 0) {
        drop_leaf(oldest);
      } else {
        ++served_.evicted;
        tree_.drop_state(oldest);
      }
    }
  }
};

// --- SGLang ---------------------------------------------------------------------

class Sglang final : public RadixPolicy {
 public:
  explicit Sglang(const PolicySetup& setup) : RadixPolicy(setup) {
    if (setup.budget == kUnlimited) return;
    rows_max_ = setup.budget;
    if (!setup.shape.has_state()) return;
    states_max_ = static_cast<ByteCount>(static_cast<double>(setup.budget) * kRatio / (1 + kRatio));
    rows_max_ -= states_max_;
  }

 private:
  static constexpr double kRatio = 0.9;  // of the pool of states to that of rows
  static constexpr TokenPos kChunk = 8192;
  static constexpr TokenPos kPage = 64;
  static constexpr TokenPos kTrack = 256;

  [[nodiscard]] std::vector<TokenPos> places(const Turn& turn, TokenPos matched) const override {
    std::vector<TokenPos> all;
    for (TokenPos at = served_.reused + kChunk; at < turn.request->input; at += kChunk) {
      all.push_back(align(at, kPage));
    }
    all.push_back(align(matched, kPage));
    all.push_back(align(turn.request->input, kPage));
    const TokenPos decoded = align(turn.request->total(), kTrack);
    if (decoded > turn.request->input) all.push_back(decoded);
    return all;
  }

  void make_room() override {
    while (tree_.row_bytes() > rows_max_) {
      drop_leaf(least([](const RadixNode& node) -> std::optional<double> {
        return node.children == 0 ? std::optional(static_cast<double>(node.used)) : std::nullopt;
      }));
    }
    while (tree_.state_bytes() > states_max_) {
      const RadixId oldest = least([](const RadixNode& node) -> std::optional<double> {
        return node.state ? std::optional(static_cast<double>(node.state_used)) : std::nullopt;
      });
      if (tree_.node(oldest).children == 0) {
        drop_leaf(oldest);
      } else {
        ++served_.evicted;
        tree_.drop_state(oldest);
      }
    }
  }

  ByteCount states_max_ = kUnlimited;
  ByteCount rows_max_ = kUnlimited;
};

// --- Marconi --------------------------------------------------------------------

class Marconi final : public RadixPolicy {
 public:
  Marconi(const PolicySetup& setup, double alpha) : RadixPolicy(setup), alpha_(alpha) {}

 private:
  [[nodiscard]] std::vector<TokenPos> places(const Turn& turn, TokenPos matched) const override {
    return {matched, turn.request->total()};
  }

  struct Score {
    RadixId id = kNoRadixNode;
    double recency = 0;
    double efficiency = 0;
  };

  void make_room() override {
    while (tree_.bytes() > setup_.budget) {
      const RadixId victim = worst();
      if (tree_.node(victim).children == 0) {
        drop_leaf(victim);
      } else {
        ++served_.evicted;
        tree_.drop_state(victim);
      }
    }
  }

  [[nodiscard]] RadixId worst() {
    scores_.clear();
    for (RadixId id = 1; id < tree_.size(); ++id) {
      const RadixNode& node = tree_.node(id);
      const bool candidate =
          node.alive && (node.children == 0 || (node.children == 1 && node.state));
      if (candidate) scores_.push_back(score(id, node));
    }
    const auto norm = [&](double Score::*part) {
      const auto [low, high] = std::ranges::minmax_element(scores_, {}, part);
      const double base = (*low).*part;
      const double range = (*high).*part - base;
      for (Score& one : scores_) one.*part = range > 0 ? (one.*part - base) / range : 0;
    };
    if (scores_.empty()) return any_state();
    norm(&Score::recency);
    norm(&Score::efficiency);
    return std::ranges::min_element(
               scores_, {}, [&](const Score& one) { return one.recency + alpha_ * one.efficiency; })
        ->id;
  }

  // Forks alone are left: the oldest state goes.
  [[nodiscard]] RadixId any_state() const {
    return least([](const RadixNode& node) -> std::optional<double> {
      return node.state ? std::optional(node.used_s) : std::nullopt;
    });
  }

  [[nodiscard]] Score score(RadixId id, const RadixNode& node) const {
    const double age = std::max(now_s_ - node.used_s, 1e-3);
    RadixId above = node.parent;  // where a state, or a fork, begins the edge
    while (above != kRadixRoot && !tree_.node(above).state && tree_.node(above).children == 1) {
      above = tree_.node(above).parent;
    }
    const TokenPos begin = tree_.node(above).end.position;
    double bytes = static_cast<double>(setup_.shape.state_bytes);
    if (node.children == 0)
      bytes += static_cast<double>(setup_.shape.rows(node.end.position - begin));
    return {id, 1 / age, setup_.shape.work(begin, node.end.position) / std::max(bytes, 1.0)};
  }

  const double alpha_;
  std::vector<Score> scores_;
};

}  // namespace

PolicyPtr make_lru(const PolicySetup& setup) { return std::make_unique<Lru>(setup); }
PolicyPtr make_sglang(const PolicySetup& setup) { return std::make_unique<Sglang>(setup); }
PolicyPtr make_marconi(const PolicySetup& setup, double alpha) {
  return std::make_unique<Marconi>(setup, alpha);
}

}  // namespace holdfast::policy
