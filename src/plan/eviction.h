// Eviction: which bytes leave a tree when others need the room.
//
// What a place is worth: the tokens that would have to be read again without it,
// times how likely it is to be wanted again, per byte that its going frees.
//
//   value = weight / (age + tau) * tokens to read again / bytes freed
//
// Where conversations come by turns and are too many for memory (plan/return_ages.h), ages are of
// requests, what is likely is counted and not assumed, and a newcomer makes no room for itself at
// the cost of what is as good as it:
//
//   value = weight * density(age) * tokens to read again / bytes freed
//
// and for a proven place weight / (age + 1) instead of weight * density(age).
//
// weight and tau follow from the kind of place: a tip (the end of a conversation)
// is what its client comes back to, soon after a tool call and later after an
// answer; an interior place is superseded by a deeper one and waits for an edit, or for
// the day when the deeper one goes: then not all of a long conversation goes with it;
// a junction or the end of a system block counts as interior (or as the tip that
// it may be) until two have come back to it, and then for more with each time,
// whether or not something deeper is left. One is a conversation that goes on: where
// answers are stripped, all of its turns part from their answers. The end of the latest prompt of a
// conversation is a tip even with its answer's state below it: whoever sends the answer
// back differently goes on from there, and the others lose no more than the answer. The
// answer that was left behind then counts as interior.
//
// What a one-off request left (plan/one_offs.h) is worth next to nothing until somebody has come
// back to it.
//
// Dead weight (a hybrid's rows beyond its deepest snapshot) is worth nothing and
// goes first. A tip's value counts rows as freed, because they are dead weight without it: those
// from the nearest restorable place above, which is also where reading again would begin. They go
// next, if there is still need. Rows that several tips need belong to them in equal parts:
//
//   [ ....... 100,000 tokens, no state ....... ]--[ 200 ]-- A   the way an old turn went
//                                              \--[ 300 ]-- B   and how it went on
//
// If each were charged with its own few tokens only, both would seem to keep 100,000 tokens for
// next to nothing, and the 100,000 would stay for ever.
// Rows of pure attention go from the end of the outermost edges, only as many as are needed.
//
// Candidates are looked at in lots, the oldest `candidates_max` of each list first.
// A further lot is looked at when the last one has not freed enough: as long as
// there is one if anything may go, and as long as each yields something if only
// what is worth less than a newcomer may.
//
// Invariants, verified by eviction_test.cc, whose brute-force oracle names them:
//   EVICT-1  nothing pinned goes, and no rows on the way to the `growing` node
//   EVICT-2  each victim is the least valuable at the moment it goes of all candidates looked at;
//            of equals the least recently used, and of those the deepest. (Where one of more than 4
//            tips that share rows goes, the others count as before it went.)
//   EVICT-3  it stops as soon as enough has been freed
//   EVICT-4  when it gives up, no candidate looked at is left that is worth less than `worth`;
//            where `worth` has no limit, all have been looked at
//
// No I/O, no clock.
#pragma once

#include <limits>
#include <vector>

#include "plan/return_ages.h"
#include "tree/node_facts.h"
#include "tree/token_tree.h"

namespace holdfast::plan {

// How likely a kind of place is to be wanted again: weight / (age + tau), seconds.
struct ReuseOdds {
  double weight = 1.0;
  double tau_s = 60.0;
};

struct EvictionPolicy {
  ReuseOdds tip_after_tool_call{1.0, 12.0};
  ReuseOdds tip{0.87, 60.0};
  ReuseOdds interior{0.05, 15.0};
  ReuseOdds proven{0.5, 60.0};  // junctions, system ends: weight x hits once hit twice
  // As a tip that nobody has come back to for a day. Not in recordings, which need no other.
  ReuseOdds one_off{0.0006, 60.0};
  // Candidates looked at in each list, oldest first.
  std::size_t candidates_max = 2048;
};

// A node about to get a deeper neighbour. The rows on the way to it stay, because
// the newcomer needs them; a snapshot on the way counts as interior.
struct Growing {
  tree::NodeId node;  // none: nothing is growing
};

struct Victim {
  tree::Held held = tree::Held::kSnapshot;
  tree::NodeId node;
  SpaceKey space;
  TokenPos position = 0;  // where its edge ended
  ByteCount bytes = 0;    // freed
  tree::EvictReason reason = tree::EvictReason::kBudget;
};

// What has to make room, and for what.
struct RoomRequest {
  ByteCount needed = 0;
  tree::Tick now = 0;  // in milliseconds
  // What the newcomer is worth per byte: nothing that is worth as much makes way.
  double worth = std::numeric_limits<double>::infinity();
  Growing growing;
  const ReturnAges* loop = nullptr;  // where conversations come by turns; null: they do not
};

// Of rows that are not dead weight.
[[nodiscard]] double rows_value(const tree::NodeFacts& facts, const RoomRequest& room,
                                const EvictionPolicy& policy);
// `growing`: this node, if it lies on the way to the growing one.
[[nodiscard]] double snapshot_value(const tree::NodeFacts& facts, const RoomRequest& room,
                                    const EvictionPolicy& policy, Growing growing = {});

// Evicts until `needed` bytes have been freed, and says what went. Fewer are freed
// only when nothing more may go.
std::vector<Victim> evict_bytes(tree::TokenTree& tree, const RoomRequest& request,
                                const EvictionPolicy& policy);

}  // namespace holdfast::plan
