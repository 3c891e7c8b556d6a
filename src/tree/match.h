// Match: what the tree knows of a prompt, as one pass over its tokens finds it.
//
//   prompt      [ s s s s s s | u u u u u | a a a a a x y z )
//   tree             stop^         stop^           ^matched
//   rows        ==========================----                - = missing
//                                     covered^
//
// *matched* tokens agree with the tree (its ghost included); *restorable*
// tokens end at a place where every needed part of a state is present.
#pragma once

#include <algorithm>
#include <vector>

#include "state/tokens.h"
#include "tree/types.h"

namespace holdfast::tree {

// A node on the matched path.
struct Stop {
  NodeId node;
  TokenPos position = 0;
  bool has_snapshot = false;
  bool restorable = false;  // a state can be restored at exactly this position
  Hints marks;              // as its owner marked it
};

// Says that the first `length` tokens of a sequence lie on the way to a node. That
// stays true as long as the node is alive: what is split, joined or forgotten around
// it never changes the tokens above its end.
struct Filed {
  NodeId node;
  TokenPos length = 0;
};

struct Match {
  SpaceKey space;
  TokenPos length = 0;  // of the prompt
  TokenPos matched = 0;
  // Tokens [0, covered) have their rows; equal to `matched` where none are needed.
  TokenPos covered = 0;
  // The known path goes on, but differently: `matched` is a junction.
  bool leaves_known_path = false;
  // Any covered position is restorable (no part of the state is a snapshot).
  bool truncates_anywhere = false;
  // The node whose edge holds the last matched token; none when matched is 0.
  NodeId node;
  // Every node whose edge was matched whole, ascending.
  std::vector<Stop> stops;
  // Where known paths part before `matched`, ascending: few, however long the path.
  std::vector<TokenPos> forks;

  // The deepest restorable position that is not beyond `limit`; 0 if none. Whoever has no
  // logits of a prompt's last token computes it, and asks for length - 1.
  [[nodiscard]] TokenPos restorable(TokenPos limit) const {
    if (truncates_anywhere) return std::min(covered, limit);
    for (auto stop = stops.rbegin(); stop != stops.rend(); ++stop) {
      if (stop->restorable && stop->position <= limit) return stop->position;
    }
    return 0;
  }
};

}  // namespace holdfast::tree
