// CacheCommands: what is asked of the cache as a whole - how it stands, what it holds, forget it.
//
// Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "cache/cache_status.h"
#include "cache/conversation_status.h"
#include "cache/disk_tier.h"
#include "serve/answer.h"
#include "serve/inbox.h"
#include "serve/loop_core.h"
#include "serve/request_ends.h"

namespace holdfast::serve {

// Whose states and receipts: those of one tenant.
struct CacheOwner {
  SpaceKey space;
  std::string tenant;
};

class CacheCommands {
 public:
  // `lower` may be null.
  CacheCommands(LoopCore& core, Inbox& inbox, RequestEnds& ends, cache::DiskTier* lower)
      : core_(core), inbox_(inbox), ends_(ends), lower_(lower) {}

  [[nodiscard]] cache::CacheStatus status() const;
  // Drops every state in memory, in idle slots and below, and forgets all tokens, answers and
  // receipts; what a running request needs stays in its slot, and its answer is remembered. The
  // answer is how many bytes of memory that freed, when all of it is done: on the thread of the
  // tier below where there is one. kUnavailable once the server stops; none comes where the tier
  // below is stopped first.
  void clear(Answer<ByteCount> answer) { clear(std::nullopt, std::move(answer)); }
  // The same of one tenant; nothing: of all.
  void clear(const std::optional<CacheOwner>& whose, Answer<ByteCount> answer);
  // Drops what only this conversation needs, of any space or of one. kNotFound: memory does not
  // hold it any more.
  void drop(tree::NodeId tip, const std::optional<SpaceKey>& only, Answer<ByteCount> answer);
  // The conversations that memory holds, at most `most` of them in detail, as of the loop's next
  // round; of all, or of one space. kUnavailable once the server stops.
  void list_conversations(std::size_t most, Answer<cache::ConversationsStatus> answer,
                          const std::optional<SpaceKey>& only = std::nullopt);
  // This many tokens at most of a conversation lie below memory too, as far as is known without
  // looking there. Nothing: there is no such tier, or another server writes to it.
  [[nodiscard]] std::optional<TokenPos> tokens_below(
      const cache::ConversationStatus& conversation) const;

 private:
  void clear_now(const std::optional<CacheOwner>& whose, const Answer<ByteCount>& answer);

  LoopCore& core_;
  Inbox& inbox_;
  RequestEnds& ends_;
  cache::DiskTier* const lower_;
};

}  // namespace holdfast::serve
