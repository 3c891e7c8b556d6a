// GET /cache/tree?limit=N: the conversations that memory holds, as branches over what they share.
//
//   root --[0..120 three conversations]--+--[120..400 two]--+--[400..512 tip]
//                                        |                  +--[400..431 tip]
//                                        +--[120..188 tip]
//
// The JSON; a position is in tokens:
//
//   conversations       that memory holds; `shown` of them, the latest, are in the tree
//   nodes               parents come before their children:
//     parent            the index of a node; null: it begins a prompt
//     from, to          the part of the path that this node adds
//     conversations     that go through it, of those shown
//     snapshots         where on it a snapshot is held, ascending
//     tip               null, or of the conversation that ends here: bytes, own_bytes, snapshots,
//                       idle_seconds, slot, disk_tokens, as GET /cache has them; and `branch`,
//                       which names it while memory holds it
//
// DELETE /cache/tree?branch=NAME drops from memory what only this conversation needs, and from
// slots that are idle: `freed_bytes`. Its tokens stay known, and what lies on disk stays there. A key
// that does not see all drops its own.
//
// Bounded: at most kTreeTipsMax tips, and so fewer than twice as many nodes, however many there
// are. Sizes and ages, and never what they say. A key that does not see all is shown its own.
//
// Invariants, verified by the tests of the same numbers (cache_tree_test.cc):
//   CTREE-1  the nodes from the root to a tip add up to its conversation's tokens, without a gap
//   CTREE-2  siblings of one space part at their first token; spaces share nothing
//   CTREE-3  n conversations make fewer than 2n nodes
//   CTREE-4  the snapshots of the nodes from the root to a tip are its conversation's
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <optional>
#include <vector>

#include "api/answer_context.h"
#include "api/http_server.h"
#include "cache/conversation_status.h"

namespace holdfast::api {

inline constexpr std::size_t kTreeTipsDefault = 64;
inline constexpr std::size_t kTreeTipsMax = 256;

struct CacheTreeNode {
  std::optional<std::size_t> parent;
  TokenPos from = 0;
  TokenPos to = 0;
  std::size_t conversations = 0;
  std::optional<std::size_t> tip;  // index of the conversation that ends here
  std::vector<TokenPos> snapshots;
};

[[nodiscard]] std::vector<CacheTreeNode> cache_tree(
    const std::vector<cache::ConversationStatus>& conversations);

boost::asio::awaitable<void> show_cache_tree(AnswerContext context, const HttpRequest& request,
                                             HttpResponder& responder);

boost::asio::awaitable<void> drop_conversation(AnswerContext context, const HttpRequest& request,
                                               HttpResponder& responder);

}  // namespace holdfast::api
