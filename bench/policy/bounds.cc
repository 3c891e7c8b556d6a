#include "policy/bounds.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"

namespace holdfast::policy {

namespace {

constexpr std::uint32_t kNever = 0xffff'ffff;

// Tokens [begin, end) of a prompt, last passed by request `last`.
struct Stretch {
  TokenPos begin = 0;
  TokenPos end = 0;
  std::uint32_t last = 0;
  std::uint32_t first = 0;  // the first request that passed `end`
  Prefix place;             // of `end`
};

// A place up to which a request could reuse, and what that takes beyond the place before.
struct Piece {
  std::uint32_t request = 0;
  std::uint32_t upto = 0;  // stretches
  double gain = 0;
  double cost = 0;                                          // bytes x seconds
  [[nodiscard]] bool operator<(const Piece& other) const {  // better first
    return gain * other.cost > other.gain * cost;
  }
};

class Pieces {
 public:
  Pieces(const PolicySetup& setup, Gain gain) : setup_(setup), gain_(gain) {
    const auto& requests = setup.workload->requests;
    std::vector<std::uint32_t> first(setup.trie->size(), kNever);
    std::vector<std::uint32_t> last(setup.trie->size(), kNever);
    Path path(*setup.trie);
    for (std::uint32_t i = 0; i < requests.size(); ++i) {
      path.follow(i);
      stretches_.push_back(stretches_of(i, path, first, last));
      add_hull(i);
      for (const Path::Step& step : path.steps()) {
        if (first[step.node] == kNever) first[step.node] = i;
        last[step.node] = i;
      }
    }
    std::ranges::stable_sort(pieces_, [](const Piece& a, const Piece& b) { return a < b; });
  }

  [[nodiscard]] const std::vector<Piece>& all() const { return pieces_; }
  [[nodiscard]] const std::vector<Stretch>& stretches(std::uint32_t request) const {
    return stretches_[request];
  }

 private:
  [[nodiscard]] std::vector<Stretch> stretches_of(std::uint32_t request, const Path& path,
                                                  const std::vector<std::uint32_t>& first,
                                                  const std::vector<std::uint32_t>& last) const {
    std::vector<Stretch> all;
    const TokenPos limit = setup_.trie->reusable(request);
    for (const Path::Step& step : path.steps()) {
      const TokenPos begin = all.empty() ? 0 : all.back().end;
      if (begin >= limit) break;
      CHECK(last[step.node] != kNever);
      const Stretch next{begin,
                         std::min(step.end, limit),
                         last[step.node],
                         first[step.node],
                         {step.node, std::min(step.end, limit)}};
      if (!all.empty() && all.back().last == next.last) {
        const TokenPos from = all.back().begin;
        all.back() = next;
        all.back().begin = from;
      } else {
        all.push_back(next);
      }
    }
    return all;
  }

  [[nodiscard]] double held_s(std::uint32_t since, std::uint32_t until) const {
    const auto& requests = setup_.workload->requests;
    return static_cast<double>(requests[until].time_ms - requests[since].time_ms) / 1000;
  }

  [[nodiscard]] double gain_of(TokenPos end) const {
    return gain_ == Gain::kTokens ? end : setup_.shape.work(0, end);
  }

  // The concave hull of gain over cost, from nothing reused.
  void add_hull(std::uint32_t request) {
    struct Point {
      double cost, gain;
      std::uint32_t upto;
    };
    std::vector<Point> hull = {{0, 0, 0}};
    double rows = 0;
    const auto& stretches = stretches_[request];
    for (std::uint32_t k = 0; k < stretches.size(); ++k) {
      const double age = held_s(stretches[k].last, request);
      rows += static_cast<double>(setup_.shape.rows(stretches[k].end - stretches[k].begin)) * age;
      const Point point{rows + static_cast<double>(setup_.shape.state_bytes) * age,
                        gain_of(stretches[k].end), k + 1};
      while (hull.size() > 1) {
        const Point& b = hull[hull.size() - 1];
        const Point& a = hull[hull.size() - 2];
        const bool below =
            (b.gain - a.gain) * (point.cost - a.cost) <= (point.gain - a.gain) * (b.cost - a.cost);
        if (!below) break;
        hull.pop_back();
      }
      hull.push_back(point);
    }
    for (std::size_t k = 1; k < hull.size(); ++k) {
      pieces_.push_back({request, hull[k].upto, hull[k].gain - hull[k - 1].gain,
                         hull[k].cost - hull[k - 1].cost});
    }
  }

  const PolicySetup& setup_;
  const Gain gain_;
  std::vector<std::vector<Stretch>> stretches_;
  std::vector<Piece> pieces_;
};

// Bytes held between each request and the next: adds over ranges, largest of a range.
class Timeline {
 public:
  explicit Timeline(std::size_t moments) {
    while (size_ < moments) size_ *= 2;
    most_.assign(2 * size_, 0);
    added_.assign(2 * size_, 0);
  }
  void add(std::size_t begin, std::size_t end, std::int64_t bytes) {
    if (begin < end) add(1, 0, size_, begin, end, bytes);
  }
  [[nodiscard]] std::int64_t most(std::size_t begin, std::size_t end) const {
    return begin < end ? most(1, 0, size_, begin, end) : 0;
  }

 private:
  void add(std::size_t node, std::size_t low, std::size_t high, std::size_t begin, std::size_t end,
           std::int64_t bytes) {
    if (end <= low || high <= begin) return;
    if (begin <= low && high <= end) {
      most_[node] += bytes;
      added_[node] += bytes;
      return;
    }
    const std::size_t middle = (low + high) / 2;
    add(2 * node, low, middle, begin, end, bytes);
    add(2 * node + 1, middle, high, begin, end, bytes);
    most_[node] = added_[node] + std::max(most_[2 * node], most_[2 * node + 1]);
  }
  [[nodiscard]] std::int64_t most(std::size_t node, std::size_t low, std::size_t high,
                                  std::size_t begin, std::size_t end) const {
    if (end <= low || high <= begin) return 0;
    if (begin <= low && high <= end) return most_[node];
    const std::size_t middle = (low + high) / 2;
    return added_[node] + std::max(most(2 * node, low, middle, begin, end),
                                   most(2 * node + 1, middle, high, begin, end));
  }

  std::size_t size_ = 1;
  std::vector<std::int64_t> most_;
  std::vector<std::int64_t> added_;
};

class Packer {
 public:
  explicit Packer(const PolicySetup& setup)
      : setup_(setup), pieces_(setup, Gain::kWork), timeline_(setup.workload->requests.size()) {}

  std::vector<TokenPos> pack() {
    std::vector<TokenPos> reuse(setup_.workload->requests.size(), 0);
    std::vector<std::uint32_t> upto(reuse.size(), 0);
    for (const Piece& piece : pieces_.all()) {
      const auto& stretches = pieces_.stretches(piece.request);
      if (!try_hold(piece, upto[piece.request])) continue;
      upto[piece.request] = piece.upto;
      reuse[piece.request] = stretches[piece.upto - 1].end;
    }
    return reuse;
  }

 private:
  struct Hold {
    std::size_t begin, end;
    std::int64_t bytes;
  };

  bool try_hold(const Piece& piece, std::uint32_t from) {
    const auto& stretches = pieces_.stretches(piece.request);
    std::vector<Hold> holds;
    for (std::uint32_t k = from; k < piece.upto; ++k) {
      const Stretch& rows = stretches[k];
      holds.push_back({rows.last, piece.request,
                       static_cast<std::int64_t>(setup_.shape.rows(rows.end - rows.begin))});
    }
    const Stretch& last = stretches[piece.upto - 1];
    const auto known = states_.find(last.place.key());
    const std::size_t since = known == states_.end() ? last.first : known->second;
    if (since < piece.request) {
      holds.push_back({since, piece.request, static_cast<std::int64_t>(setup_.shape.state_bytes)});
    }
    for (std::size_t i = 0; i < holds.size(); ++i)
      timeline_.add(holds[i].begin, holds[i].end, holds[i].bytes);
    const bool fits = std::ranges::all_of(holds, [&](const Hold& hold) {
      return timeline_.most(hold.begin, hold.end) <= static_cast<std::int64_t>(setup_.budget);
    });
    if (!fits) {
      for (const Hold& hold : holds) timeline_.add(hold.begin, hold.end, -hold.bytes);
      return false;
    }
    if (since < piece.request) states_[last.place.key()] = piece.request;
    return true;
  }

  const PolicySetup& setup_;
  const Pieces pieces_;
  Timeline timeline_;
  std::unordered_map<std::uint64_t, std::size_t> states_;  // held until
};

}  // namespace

double upper_bound(const PolicySetup& setup, Gain gain) {
  const auto& requests = setup.workload->requests;
  const double seconds =
      static_cast<double>(requests.back().time_ms - requests.front().time_ms) / 1000;
  double room = static_cast<double>(setup.budget) * seconds;
  if (setup.budget == kUnlimited) room = std::numeric_limits<double>::infinity();
  double sum = 0;
  const Pieces pieces(setup, gain);
  for (const Piece& piece : pieces.all()) {
    const double share = piece.cost <= room ? 1 : room / piece.cost;
    sum += piece.gain * share;
    room -= piece.cost * share;
    if (share < 1) break;
  }
  return sum;
}

std::vector<TokenPos> offline_reuse(const PolicySetup& setup) { return Packer(setup).pack(); }

}  // namespace holdfast::policy
