// Run cuts: where one request's prompt is cut, when bits need not be a cold run's.
//
//   grid       s s s s E | u u u u E | h h h t t          t: what opens the reply, and
//   run cuts   s s s s E | u u u u E   h h h | t t            is not there in history
//                              ^junction
//
// Where prompts are exact these are the cuts of the grid and nothing else. Otherwise
// chunks of the grid that together are no longer than one may be are read as one: a dozen
// short messages take little longer than one long one. Cut is still
//
//   - where others begin: at the end of the system block (not known: at the first cut of all)
//     and before the junction
//   - where this conversation goes on: at the last cut, and at the header's end
//   - at the first cut behind what was there: where an answer ends, other questions may follow
//
// And two places are better known than the grid's:
//
//   - the end of the header that opens the answer. Templates render the next turn's
//     history with that header and often without what follows it (an empty thought),
//     so this is where the conversation will go on. It takes the place of the cut
//     before the header, which costs no chunk more.
//   - the place where the prompt leaves a known path inside a chunk, if that is
//     worth a chunk of its own: the next prompt of that kind begins there.
//
// Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "state/tokens.h"

namespace holdfast::plan {

struct RunCutsInput {
  std::span<const TokenPos> grid;  // of the prompt, ascending
  TokenPos prompt_length = 0;
  TokenPos begin = 0;                  // what lies before is not computed
  TokenPos chunk_max = 0;              // the engine's
  std::optional<TokenPos> header_end;  // before the last token of the prompt
  std::optional<TokenPos> junction;
  TokenPos system_end = 0;  // 0: not known
  TokenPos merged_max = 0;  // tokens of chunks that are read as one; 0: none are
};

// Ascending, all within (begin, prompt_length). REQUIRES: neighbours of the grid
// are at most chunk_max apart.
[[nodiscard]] std::vector<TokenPos> run_cuts(const RunCutsInput& input);

// A difference nearer than this to the cut before it is not worth a chunk.
inline constexpr TokenPos kJunctionWorth = 16;

}  // namespace holdfast::plan
