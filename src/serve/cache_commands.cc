#include "serve/cache_commands.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tier/path_name.h"

namespace holdfast::serve {

cache::CacheStatus CacheCommands::status() const {
  cache::CacheStatus status = core_.board.cache();
  // The tier below goes on while nothing turns here.
  if (lower_ != nullptr) status.lower = lower_->status();
  return status;
}

void CacheCommands::clear(const std::optional<CacheOwner>& whose, Answer<ByteCount> answer) {
  if (!inbox_.post([this, whose, answer] { clear_now(whose, answer); })) answer(stopping_error());
}

// The history first: below, the answers are rewritten as it remembers them.
void CacheCommands::clear_now(const std::optional<CacheOwner>& whose,
                              const Answer<ByteCount>& answer) {
  whose ? ends_.forget(whose->space, whose->tenant) : ends_.forget_all();
  const auto space = whose ? std::optional(whose->space) : std::nullopt;
  const ByteCount freed = core_.cache.clear(space);
  core_.publish();  // the next look sees it
  core_.observer.on_cleared(space, freed);
  if (lower_ == nullptr) return answer(freed);
  lower_->ask([answer, freed] { answer(freed); });
}

void CacheCommands::drop(tree::NodeId tip, const std::optional<SpaceKey>& only,
                         Answer<ByteCount> answer) {
  const auto drop_now = [this, tip, only, answer] {
    const auto dropped = core_.cache.conversations().drop(tip, only);
    core_.publish();
    if (!dropped) {
      return answer(Error{ErrorCode::kNotFound,
                          "Memory does not hold this conversation any more. GET /cache/tree lists "
                          "what it holds.",
                          "branch"});
    }
    core_.observer.on_dropped(*dropped);
    answer(dropped->freed);
  };
  if (!inbox_.post(drop_now)) answer(stopping_error());
}

void CacheCommands::list_conversations(std::size_t most, Answer<cache::ConversationsStatus> answer,
                                       const std::optional<SpaceKey>& only) {
  const auto list = [this, most, answer, only] {
    core_.publish();  // of the same moment
    answer(core_.cache.conversations().list(most, core_.clock.now(), only));
  };
  if (!inbox_.post_glance(list)) answer(stopping_error());
}

std::optional<TokenPos> CacheCommands::tokens_below(
    const cache::ConversationStatus& conversation) const {
  if (lower_ == nullptr) return std::nullopt;
  tier::PathNamer names(conversation.space);
  names.append(conversation.keys);
  const TokenPos deepest = lower_->deepest(names.anchors());
  if (deepest == std::numeric_limits<TokenPos>::max()) return std::nullopt;
  return std::min(deepest, conversation.tokens);
}

}  // namespace holdfast::serve
