#include "engine/conformance_plain.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/row_distance.h"

namespace holdfast::engine {

void PlainWay::add_kinds() {
  const double plain = 1.0 + probe_.stream_end() - kHistory;
  constexpr double kAgain = 2.0;
  constexpr double kOtherwise = 7.0;
  book_.add("one slot, token by token", Formed::kBasis, plain + kAgain + kOtherwise,
            [&] { return compute(); });
  if (rows_.empty()) book_.leave_out_the_rest();
  book_.add("the same again in another slot", Formed::kBasis, kAgain, [&] { return repeat(); });
  book_.add("one slot, in other batches", Formed::kBasis, kOtherwise, [&] { return measure(); });
  if (report_.effect == 0.0) book_.leave_out_the_rest();
}

Outcome PlainWay::compute() {
  const SlotId slot{0};
  auto row = probe_.read(slot, probe_.tokens(0, kHistory), {kHistory});
  std::vector<Row> rows;
  for (TokenPos at = kHistory; row; ++at) {
    const bool sound = same_row(*row, *row);
    if (!sound) probe_.note_error("a row has a value that is no number");
    rows.push_back(std::move(*row));
    if (!sound || at == probe_.stream_end()) break;
    if (at < kHistory + kLengths) {
      auto saved = probe_.engine().save(slot, SaveScope::kWhole);
      if (!probe_.done(saved)) break;
      states_.push_back(std::move(*saved));
    }
    row = probe_.decode_one(slot, probe_.tokens(at, at + 1));
  }
  probe_.engine().clear(slot);
  Outcome outcome = probe_.failed();
  if (outcome.finding.empty()) rows_ = std::move(rows);
  return outcome;
}

const Row& PlainWay::row_after(TokenPos at) const {
  return rows_[static_cast<std::size_t>(at - kHistory + 1)];
}

const SavedState& PlainWay::state(TokenPos i) const { return states_[static_cast<std::size_t>(i)]; }

bool PlainWay::bring(SlotId slot) {
  return probe_.done(probe_.engine().load(slot, state(slot.value % kLengths)));
}

Outcome PlainWay::repeat() {
  const SlotId slot{probe_.engine().slot_count() - 1};
  const auto first = probe_.read(slot, probe_.tokens(0, kHistory), {kHistory});
  const auto next =
      first ? probe_.decode_one(slot, probe_.tokens(kHistory, kHistory + 1)) : std::nullopt;
  if (!next) return probe_.failed();
  probe_.engine().clear(slot);
  report_.repeats =
      same_row(*first, row_after(kHistory - 1)) && same_row(*next, row_after(kHistory));
  Outcome outcome{.bits = true};
  if (!options_.repeats) return {};  // measure() looks at how far it is
  outcome.compare(*first, row_after(kHistory - 1), "a chunk");
  outcome.compare(*next, row_after(kHistory), "a step");
  return outcome;
}

// How far ways of computing the stream that differ in their batches only are from each other.
std::optional<double> PlainWay::rounding() {
  const TokenPos end = probe_.stream_end();
  const std::vector<std::vector<TokenPos>> ways{{end}, {1, end - 1}, {end - 1, 1}};
  double farthest = 0.0;
  for (const auto& pieces : ways) {
    const auto row = probe_.read(SlotId{0}, probe_.tokens(0, end), pieces);
    if (!row) return std::nullopt;
    farthest = std::max(farthest, row_distance(*row, row_after(end - 1)));
  }
  return farthest;
}

// How far a row is from the one that a state lacking one token gives. Infinite: a value is
// not a number.
std::optional<double> PlainWay::effect() {
  double nearest = 1.0;
  for (const TokenPos left_out : {kHistory - 1, kHistory}) {
    const TokenSpan all = probe_.tokens(0, left_out + 2);
    Tokens short_one(all.begin(), all.end());
    short_one.erase(short_one.begin() + left_out);
    const auto row = probe_.read(SlotId{0}, short_one, {length_of(short_one)});
    if (!row) return std::nullopt;
    const double distance = row_distance(*row, row_after(left_out + 1));
    if (!std::isfinite(distance)) return distance;
    nearest = std::min(nearest, distance);
  }
  return nearest;
}

Outcome PlainWay::measure() {
  const auto rounds = rounding();
  const auto lacks = rounds ? effect() : std::nullopt;
  if (!lacks) return probe_.failed();
  if (!std::isfinite(*lacks)) return {*lacks, 0.0, "a row has a value that is no number"};
  probe_.engine().clear(SlotId{0});
  report_.rounding = *rounds;
  report_.effect = *lacks;
  Outcome outcome{*rounds, farthest(), {}};
  if (!(*rounds <= outcome.allowed)) {
    outcome.finding = "the same tokens in other batches are " + distance_text(*rounds) +
                      " of a row's size apart; a token left out makes " + distance_text(*lacks);
  }
  return outcome;
}

double PlainWay::bound() const {
  const double least = report_.effect * kLeastOfEffect;
  return std::min(std::max(kRoundings * report_.rounding, least), farthest());
}

Outcome PlainWay::restored_outcome() const {
  const bool bits = options_.repeats && report_.repeats;
  return {0.0, bits ? 0.0 : bound(), {}, bits};
}

}  // namespace holdfast::engine
