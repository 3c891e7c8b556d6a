// Worlds with known costs and chances, and DraftPace in them.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "plan/draft_pace.h"

namespace holdfast::plan {

struct DraftWorld {
  static constexpr TokenPos kMost = 8;
  static constexpr TokenPos kRowsMost = 16;  // of a slot, in one step
  static constexpr double kTokens = 5000.0;  // of each slot

  using Curve = double (*)(TokenPos rows);
  using Profile = double (*)(TokenPos position);

  Curve step_ms;
  Profile first;  // of the first half of the tokens
  Profile then;
  double draft_ms = 0.0;  // for one token of one slot
  double fixed_ms = 0.0;  // for each slot that drafts
  int slots = 1;
  // Of the first and the second step after a change of the number of rows, and likewise
  // of the companion's calls.
  std::array<double, 2> change_ms{};
  std::array<double, 2> call_change_ms{};
  double idea = 1.0;       // chance that the companion proposes a token, after each
  double odd_share = 0.0;  // of the times are measured twenty times too long
  // Not 0: in every fourth stretch of this length all of it takes 1.4 times as long.
  double phase_ms = 0.0;
  int prompt_every = 0;  // not 0: once in this many steps a prompt is read between, and
  double longer = 0.0;   // until then each step takes longer, by this share in the end
  int alone_every =
      0;  // not 0: for this many steps, and then not for as many, only the first slot writes
  bool copied = false;   // what is wrong cannot be truncated: the state before it is brought back
  double back_ms = 0.0;  // which takes this long
};

class DraftSimulation {
 public:
  DraftSimulation(const DraftWorld& world, unsigned seed)
      : world_(world),
        random_(seed),
        seen_(static_cast<std::size_t>(world.slots)),
        done_(static_cast<std::size_t>(world.slots)),
        waiting_(static_cast<std::size_t>(world.slots), 1) {}

  // Tokens per ms, until as many are written as the slots have to write together.
  double rate() {
    return rate_with([&] { return pace_.choose(requests(), {}, prior_); });
  }
  double rate_of(TokenPos length) {
    return rate_with([&] { return length; });
  }
  [[nodiscard]] int changes() const { return changes_; }
  [[nodiscard]] const DraftPace& pace() const { return pace_; }

 private:
  // What a piece of work takes that is slow after each change of its size.
  struct Changing {
    TokenPos size = -1;
    std::size_t in_run = 0;
    double extra(TokenPos now, const std::array<double, 2>& extra_ms) {
      in_run = std::exchange(size, now) == now ? in_run + 1 : 0;
      return in_run < extra_ms.size() ? extra_ms[in_run] : 0.0;
    }
  };

  template <typename Choose>
  double rate_with(Choose choose) {
    double tokens = 0.0;
    while (tokens < DraftWorld::kTokens * world_.slots) tokens += step(choose());
    return tokens / ms_;
  }

  [[nodiscard]] int writing() const {
    return world_.alone_every > 0 && steps_ / world_.alone_every % 2 == 1 ? 1 : world_.slots;
  }

  [[nodiscard]] std::vector<PacedRequest> requests() const {
    std::vector<PacedRequest> all;
    for (int i = 0; i < writing(); ++i) {
      const auto slot = static_cast<std::size_t>(i);
      all.push_back({&seen_[slot], waiting_[slot], room(slot),
                     world_.copied ? 0 : AcceptanceByPosition::kPositions});
    }
    return all;
  }

  [[nodiscard]] TokenPos room(std::size_t slot) const {
    return std::clamp(DraftWorld::kRowsMost - waiting_[slot], 0, DraftWorld::kMost);
  }

  double step(TokenPos length) {
    changes_ += std::exchange(length_, length) == length ? 0 : 1;
    std::vector<TokenPos> rows;
    std::vector<TokenPos> drafts;
    DraftCosts::Call call{.slots = writing()};
    for (int i = 0; i < call.slots; ++i) {
      const TokenPos asked = std::min(length, room(static_cast<std::size_t>(i)));
      TokenPos drafted = 0;
      while (drafted < asked && uniform() < world_.idea) ++drafted;
      drafts.push_back(drafted);
      rows.push_back(waiting_[static_cast<std::size_t>(i)] + drafted);
      call.drafted += drafted;
      call.stopped += drafted < asked ? 1 : 0;
      call.longest = std::max(call.longest, drafted);
    }
    if (length > 0) draft(call);
    const bool fills = length > 0 && !world_.copied;
    const TokenPos common = fills ? pace_.costs().fill_up_to(rows, 1 + length) : 0;
    if (common > 0) std::ranges::fill(rows, common);
    run(rows);
    ++steps_;
    if (world_.prompt_every > 0 && steps_ % world_.prompt_every == 0) {
      pace_.costs().note_other_work();
    }
    double tokens = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      tokens += verify(i, std::min(length, room(i)), drafts[i]);
    }
    return tokens;
  }

  void draft(const DraftCosts::Call& call) {
    const TokenPos size = std::max(call.longest, 1);
    const double ms = slowed(world_.draft_ms * std::max(call.drafted, 1) +
                             call_.extra(size, world_.call_change_ms));
    ms_ += ms;
    pace_.costs().note_call(call, measured(ms));
    for (int i = 0; i < call.slots; ++i) {
      ms_ += world_.fixed_ms;
      pace_.costs().note_fixed(measured(world_.fixed_ms));
    }
  }

  // Slots with equally many rows share a batch.
  void run(const std::vector<TokenPos>& rows) {
    std::map<TokenPos, TokenPos> batches;
    for (const TokenPos each : rows) ++batches[each];
    for (const auto& [each, count] : batches) {
      const TokenPos size = each * count;
      const double ms = slowed(world_.step_ms(size) + step_.extra(size, world_.change_ms));
      ms_ += ms;
      pace_.costs().note_step(size, measured(ms));
    }
  }

  double verify(std::size_t slot, TokenPos asked, TokenPos drafted) {
    const auto profile = done_[slot] < DraftWorld::kTokens / 2 ? world_.first : world_.then;
    TokenPos right = 0;
    while (right < drafted && uniform() < profile(right)) ++right;
    AcceptanceByPosition& seen = seen_[slot];
    if (drafted > 0) seen.note(drafted, right);
    if (right == drafted && drafted < asked) seen.note_missing(drafted);
    if (asked == 0) seen.forget(AcceptanceByPosition::kUntried);
    pace_.note_accepted(right);
    done_[slot] += 1.0 + right;
    const bool undone = world_.copied && right < drafted;
    waiting_[slot] = undone ? waiting_[slot] + right + 1 : 1;
    if (undone) {
      ms_ += world_.back_ms;
      pace_.note_undone(waiting_[slot] - 1);
      pace_.costs().note_brought_back(measured(world_.back_ms));
    }
    return 1.0 + right;
  }

  [[nodiscard]] double slowed(double ms) const {
    const bool slow = world_.phase_ms > 0.0 && static_cast<int>(ms_ / world_.phase_ms) % 4 == 3;
    const int of_answer = world_.prompt_every > 0 ? steps_ % world_.prompt_every : 0;
    return (slow ? 1.4 * ms : ms) *
           (1.0 + world_.longer * of_answer / std::max(world_.prompt_every, 1));
  }
  double measured(double ms) {
    return ms * (0.9 + 0.2 * uniform()) * (uniform() < world_.odd_share ? 20.0 : 1.0);
  }
  double uniform() { return std::uniform_real_distribution<>(0.0, 1.0)(random_); }

  const DraftWorld world_;
  std::mt19937 random_;
  AcceptanceByPosition prior_;
  DraftPace pace_;
  std::vector<AcceptanceByPosition> seen_;
  std::vector<double> done_;
  std::vector<TokenPos> waiting_;
  Changing step_;
  Changing call_;
  TokenPos length_ = 0;
  int changes_ = 0;
  int steps_ = 0;
  double ms_ = 0.0;
};

}  // namespace holdfast::plan
