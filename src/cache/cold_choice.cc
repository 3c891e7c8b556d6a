#include "cache/cold_choice.h"

#include <algorithm>
#include <limits>

#include "plan/cuts.h"

namespace holdfast::cache {

namespace {

// A read has a price of its own, besides its bytes.
constexpr double kMsPerBlob = 0.1;

// Rows of the first `end` tokens that memory lacks.
std::vector<tier::RowsHit> rows_for(const tier::StoreMatch& match, const ColdInput& input,
                                    TokenPos end) {
  std::vector<tier::RowsHit> rows;
  if (!input.needs.blocks) return rows;
  for (const tier::RowsHit& hit : match.rows) {
    const TokenRange wanted = intersection(hit.range, {input.rows_held, end});
    if (!wanted.empty()) rows.push_back({hit.key, wanted, hit.bytes});
  }
  return rows;
}

// Every position at which the prompt could begin with what lies below, and the place there.
struct Candidate {
  TokenPos position = 0;
  const tier::PlaceHit* place = nullptr;
};

std::vector<Candidate> candidates(const tier::StoreMatch& match, const ColdInput& input) {
  std::vector<Candidate> all;
  const TokenPos limit = input.prompt_length - 1;
  const TokenPos covered =
      input.needs.blocks ? std::max(match.covered, input.rows_held) : input.prompt_length;
  for (const tier::PlaceHit& place : match.places) {
    const bool at_end =
        place.position == input.prompt_length && place.logits && input.may_begin_at_end;
    const bool on_grid = std::ranges::binary_search(input.cuts, place.position);
    const bool may = on_grid || at_end || (!input.exact_prompts && place.marks.has(Hint::kOffGrid));
    const bool there = place.position <= std::min(at_end ? input.prompt_length : limit, covered);
    if (may && there && place.position > input.reused) all.push_back({place.position, &place});
  }
  const TokenPos deepest_cut = plan::floor_of(input.cuts, std::min(limit, covered));
  if (!input.needs.snapshot && deepest_cut > input.reused) all.push_back({deepest_cut, nullptr});
  return all;
}

ColdChoice make(const tier::StoreMatch& match, const ColdInput& input, const Candidate& candidate) {
  ColdChoice choice;
  choice.position = candidate.position;
  choice.rows = rows_for(match, input, candidate.position);
  for (const tier::RowsHit& hit : choice.rows) choice.bytes += hit.bytes;
  if (candidate.place != nullptr) {
    choice.place = *candidate.place;
    choice.bytes += candidate.place->bytes;
  }
  return choice;
}

double ms_of(const ColdChoice& choice, const ColdInput& input) {
  const auto blobs = static_cast<double>(choice.rows.size() + (choice.place ? 1 : 0));
  return static_cast<double>(choice.bytes) / input.bytes_per_ms + blobs * kMsPerBlob +
         static_cast<double>(input.prompt_length - choice.position) * input.ms_per_token;
}

}  // namespace

std::optional<ColdChoice> choose_cold(const tier::StoreMatch& match, const ColdInput& input) {
  std::optional<ColdChoice> best;
  const bool measured = input.ms_per_token > 0.0;
  double best_ms = measured ? input.ms_per_token * (input.prompt_length - input.reused)
                            : std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates(match, input)) {
    ColdChoice choice = make(match, input, candidate);
    if (choice.bytes > input.bytes_max) continue;
    const bool deeper = !best || choice.position > best->position;
    const double ms = ms_of(choice, input);
    if (measured ? ms >= best_ms : !deeper) continue;
    best_ms = ms;
    best = std::move(choice);
  }
  return best;
}

}  // namespace holdfast::cache
