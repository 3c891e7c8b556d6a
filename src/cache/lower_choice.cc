#include "cache/lower_choice.h"

#include <algorithm>
#include <limits>

#include "plan/cuts.h"

namespace holdfast {

namespace {

// A read has a price of its own, besides its bytes.
constexpr double kMsPerBlob = 0.1;
// What reading the front meanwhile has to save: of the time without, and at least.
constexpr double kFrontSaves = 0.05;
constexpr double kFrontSavesMs = 10.0;

// Rows of these tokens that memory lacks.
std::vector<RowsHit> rows_for(const StoreMatch& match, const LowerInput& input, TokenRange tokens) {
  std::vector<RowsHit> rows;
  if (!input.needs.blocks) return rows;
  for (const RowsHit& hit : match.rows) {
    const TokenRange wanted =
        intersection(hit.range, {std::max(tokens.begin, input.rows_held), tokens.end});
    if (!wanted.empty()) rows.push_back({hit.key, wanted, hit.bytes});
  }
  return rows;
}

// Every position at which the prompt could begin with what lies below, and the place there.
struct Candidate {
  TokenPos position = 0;
  const PlaceHit* place = nullptr;
};

std::vector<Candidate> candidates(const StoreMatch& match, const LowerInput& input) {
  std::vector<Candidate> all;
  const TokenPos limit = input.prompt_length - 1;
  const TokenPos covered =
      input.needs.blocks ? std::max(match.covered, input.rows_held) : input.prompt_length;
  for (const PlaceHit& place : match.places) {
    const bool at_end =
        place.position == input.prompt_length && place.logits && input.may_begin_at_end;
    const bool on_grid = std::ranges::binary_search(input.cuts, place.position);
    const bool may = on_grid || at_end || (!input.deterministic && place.marks.has(Hint::kOffGrid));
    const bool there = place.position <= std::min(at_end ? input.prompt_length : limit, covered);
    if (may && there && place.position > input.keep) all.push_back({place.position, &place});
  }
  const TokenPos deepest_cut = floor_of(input.cuts, std::min(limit, covered));
  if (!input.needs.snapshot && deepest_cut > input.keep) all.push_back({deepest_cut, nullptr});
  return all;
}

LowerChoice make(const StoreMatch& match, const LowerInput& input, const Candidate& candidate,
                 TokenPos front = 0) {
  LowerChoice choice;
  choice.position = candidate.position;
  choice.front = front;
  choice.rows = rows_for(match, input, {front, candidate.position});
  for (const RowsHit& hit : choice.rows) choice.bytes += hit.bytes;
  if (candidate.place != nullptr) {
    choice.place = *candidate.place;
    choice.bytes += candidate.place->bytes;
  }
  return choice;
}

double loading_ms(const LowerChoice& choice, const LowerInput& input) {
  const auto blobs = static_cast<double>(choice.rows.size() + (choice.place ? 1 : 0));
  return static_cast<double>(choice.bytes) / input.bytes_per_ms + blobs * kMsPerBlob;
}

double ms_of(const LowerChoice& choice, const LowerInput& input) {
  return loading_ms(choice, input) +
         static_cast<double>(input.prompt_length - choice.position) * input.ms_per_token;
}

// The same with its front left out, where that pays.
LowerChoice with_front(const StoreMatch& match, const LowerInput& input, LowerChoice whole) {
  if (input.front_ms_per_token <= 0.0 || !input.needs.blocks) return whole;
  const Candidate candidate{whole.position, whole.place ? &*whole.place : nullptr};
  const double alone_ms = loading_ms(whole, input);
  const auto rest_from = [&](TokenPos cut) { return make(match, input, candidate, cut); };
  const auto read_in_time = [&](TokenPos cut) {
    return (cut - input.keep) * input.front_ms_per_token <= loading_ms(rest_from(cut), input);
  };
  // The deeper the cut, the longer the reading and the shorter the loading.
  const auto first = std::ranges::upper_bound(input.cuts, std::max(input.keep, input.rows_held));
  const auto last = std::ranges::lower_bound(input.cuts, whole.position);
  if (first >= last) return whole;
  const auto late = std::partition_point(first, last, read_in_time);
  if (late == first) return whole;
  LowerChoice rest = rest_from(*std::prev(late));
  const double saved_ms = alone_ms - loading_ms(rest, input);
  const bool pays = saved_ms >= std::max(kFrontSaves * alone_ms, kFrontSavesMs);
  return pays ? std::move(rest) : std::move(whole);
}

}  // namespace

std::optional<LowerChoice> choose_below(const StoreMatch& match, const LowerInput& input) {
  std::optional<LowerChoice> best;
  const bool measured = input.ms_per_token > 0.0;
  double best_ms = measured ? input.ms_per_token * (input.prompt_length - input.keep)
                            : std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates(match, input)) {
    LowerChoice choice = make(match, input, candidate);
    if (choice.bytes > input.bytes_max) continue;
    const bool deeper = !best || choice.position > best->position;
    const double ms = ms_of(choice, input);
    if (measured ? ms >= best_ms : !deeper) continue;
    best_ms = ms;
    best = std::move(choice);
  }
  if (best) best = with_front(match, input, std::move(*best));
  return best;
}

}  // namespace holdfast
