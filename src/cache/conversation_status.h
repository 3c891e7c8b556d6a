// ConversationStatus: what single conversations hold, as GET /cache shows them. Sizes and ages, and
// never what they say.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "state/tokens.h"
#include "tree/conversations.h"
#include "tree/types.h"

namespace holdfast::cache {

struct ConversationStatus {
  tree::NodeId tip;  // names it for as long as memory holds it
  TokenPos tokens = 0;
  tree::HeldBytes own;                      // goes with this conversation
  tree::HeldBytes shared;                   // with others
  double idle_seconds = 0.0;                // since a request came through here
  std::optional<int> slot;                  // one that goes on from all of it
  std::vector<TokenPos> snapshots_at = {};  // ascending
  // For asking what lies below memory: what it is filed under.
  SpaceKey space;
  Tokens keys;
};

struct DroppedConversation {
  SpaceKey space;
  ByteCount freed = 0;
};

struct ConversationsStatus {
  std::size_t count = 0;                   // that memory holds
  tree::HeldBytes own;                     // of all of them
  tree::HeldBytes shared;                  // by several of them, each counted once
  std::vector<ConversationStatus> latest;  // used last first
};

}  // namespace holdfast::cache
