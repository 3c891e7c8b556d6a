// Placement: at which cuts of the grid a prompt's state is worth a checkpoint.
//
//   system block | user | assistant | user ............ long ............ | header
//               ^S     ^M          ^M            ^step     ^step         ^P
//
// A checkpoint costs the same bytes wherever it lies, and saves what would have
// to be computed from the one before it. So where memory is scarce neighbours
// keep a distance: half of the tokens whose extents weigh as much as one
// checkpoint. The ends of the system block and of the prompt, and junctions, are
// kept whatever their neighbours.
//
// So are places near the end, which thin out with the distance from it: the cuts of the last
// `near.step` tokens, and those at `step`, `factor` x step, `factor`^2 x step ... before the end.
// People ask another question about a document, regenerate and edit what they said last, so prompts
// part near the end, however large a snapshot is.
//
// Invariants, verified by check_placement():
//   PLACE-1  every checkpoint lies on a cut, after `from` and not beyond the prompt
//   PLACE-2  positions ascend and differ
//   PLACE-3  of two neighbours nearer than `spacing_min`, one at least is of a kind that is always
//            kept, or near the end, or ends a message where these are kept
//   PLACE-4  a prompt that parts from this one d tokens before its end, in what is computed, finds
//            a place from which it reads at most factor x d + step of this one's tokens again;
//            REQUIRES: cuts are at most `step` apart
//
// Pure: no I/O, no clock.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "state/parts.h"
#include "state/tokens.h"

namespace holdfast::plan {

enum class CheckpointKind {
  kGridStep,  // inside a long message
  kMessageEnd,
  kAnswerStart,  // after the prompt's last token; not placed here but where logits are kept
  // Always kept:
  kJunction,   // where a prompt left a path that was known
  kPromptEnd,  // before the generation header
  kSystemEnd,  // after the system and tools block
};
[[nodiscard]] bool always_kept(CheckpointKind kind);

struct Checkpoint {
  TokenPos position = 0;
  CheckpointKind kind = CheckpointKind::kGridStep;
  bool near_end = false;  // PLACE-4 needs it
  bool operator==(const Checkpoint&) const = default;
};

// What PLACE-4 promises.
struct NearEnd {
  TokenPos step = 0;  // 0: nothing
  TokenPos factor = 2;
};

struct PlacementInput {
  std::span<const TokenPos> cuts;  // the prompt's grid, ascending
  std::span<const MessageSpan> spans;
  TokenPos from = 0;                   // what lies before is not computed again
  std::optional<TokenPos> junction;    // rounded down to the cuts
  std::optional<TokenPos> prompt_end;  // a cut; none: the last one that closes a message
  TokenPos spacing_min = 0;            // 0: take every cut
  bool keeps_messages = false;         // ends of messages are kept whatever their neighbours
  TokenPos length = 0;                 // of the prompt, where `near` is asked for
  NearEnd near;
};

// The most places that PLACE-4 needs in a prompt of this length whose cuts are `near.step` apart.
[[nodiscard]] std::size_t near_end_places(TokenPos length, const NearEnd& near);

// The room for states: what of it nothing takes, and all of it.
struct Room {
  ByteCount left = 0;
  ByteCount all = 0;
};

// The densest promise whose places take no more than a quarter of the room that is left, however
// large a snapshot is: the factor is 2, 4, 8 or 16. With 16 they may take half of it, or a
// sixteenth of all room. Nothing (`step` 0) where even that is too much, or where a state has no
// snapshots.
[[nodiscard]] NearEnd near_end_within(TokenPos length, TokenPos step, ByteCount snapshot,
                                      const Room& room);

// Where the system and tools block ends; 0: there is none.
[[nodiscard]] TokenPos system_end(std::span<const MessageSpan> spans);

[[nodiscard]] std::vector<Checkpoint> place_checkpoints(const PlacementInput& input);
[[nodiscard]] std::vector<std::string> check_placement(const PlacementInput& input,
                                                       std::span<const Checkpoint> placed);

// The distance that PLACE-3 asks for when memory is scarce. A model without extents
// has no such measure; its checkpoints keep `fallback` tokens.
[[nodiscard]] TokenPos scarce_spacing(const StateShape& shape, TokenPos fallback);

}  // namespace holdfast::plan
