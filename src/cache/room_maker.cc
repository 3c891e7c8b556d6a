#include "cache/room_maker.h"

#include <algorithm>

namespace holdfast::cache {

namespace {

// A little more goes than has to, so that the next newcomer need not look.
constexpr ByteCount kAheadShare = 128;
// Where conversations come by turns, one that is not here displaces nothing that is worth more than
// this part of it: all are alike, and each that makes way is read again.
constexpr double kForAnEqual = 0.5;

double worth_of(const Newcomer& newcomer, const plan::ReturnAges* loop) {
  const double wanted_soon = loop != nullptr ? kForAnEqual * newcomer.odds.weight * loop->density(0)
                                             : newcomer.odds.weight / newcomer.odds.tau_s;
  return wanted_soon * static_cast<double>(std::max(newcomer.saves, TokenPos{1})) /
         static_cast<double>(newcomer.bytes);
}

}  // namespace

// A node costs far more than a token, and short prompts are mostly nodes.
void forget_beyond_limits(tree::TokenTree& tree, const MemoryOptions& limits) {
  tree.trim_ghost(limits.ghost_tokens_max);
  while (tree.counts().nodes > limits.nodes_max && tree.counts().ghost_tokens > 0) {
    tree.trim_ghost(tree.counts().ghost_tokens / 2);
  }
}

// What a request shares with others, up to the last fork on its way, is not its own.
tree::Tick RoomMaker::begin_request(const tree::Match* match, tree::Tick now) {
  ++requests_;
  if (match == nullptr) return now;
  const TokenPos shared = match->forks.empty() ? 0 : match->forks.back();
  const tree::Tick last_use = match->node ? tree_.facts(match->node).last_use : 0;
  now = returns_.begin(now);
  returns_.note(match->length - shared, match->matched - shared, last_use);
  return now;
}

// How many tokens memory holds, if all weigh as much as those that are here.
const plan::ReturnAges* RoomMaker::loop() const {
  const std::uint64_t tokens = tree_.counts().tokens - tree_.counts().ghost_tokens;
  const ByteCount resident = std::max<ByteCount>(tree_.bytes().resident, 1);
  const double capacity = static_cast<double>(tokens) * static_cast<double>(budget_.total()) /
                          static_cast<double>(resident);
  return returns_.loops(capacity) ? &returns_ : nullptr;
}

bool RoomMaker::make_room(const Newcomer& newcomer) {
  if (newcomer.bytes > budget_.total()) return false;
  const ByteCount free = budget_.free();
  if (newcomer.bytes <= free) return true;
  const ByteCount needed = newcomer.bytes - free;
  if (tree_.bytes().evictable() < needed) return false;
  plan::RoomRequest request;
  const ByteCount ahead = newcomer.essential ? budget_.total() / kAheadShare : 0;
  request.needed = std::min(needed + ahead, tree_.bytes().evictable());
  request.now = newcomer.now;
  request.loop = loop();
  request.growing = {newcomer.growing};
  const bool by_worth = !newcomer.essential || (request.loop != nullptr && newcomer.unknown);
  if (by_worth) {
    request.worth = worth_of(newcomer, request.loop);
    // Values fall slowly: what did not make way for its like in this request does not now.
    if (request.worth <= refused_worth_ && requests_ == refused_in_) return false;
  }
  evict(request);
  if (newcomer.bytes <= budget_.free()) return true;
  if (by_worth) {
    refused_worth_ = request.worth;
    refused_in_ = requests_;
  }
  return false;
}

std::optional<RoomHold> RoomMaker::hold_room(ByteCount bytes, tree::NodeId node, tree::Tick now) {
  if (bytes > budget_.total()) return std::nullopt;
  if (bytes > budget_.free()) {
    tree::Pin needed = tree_.pin(node);
    const ByteCount missing = bytes - budget_.free();
    if (tree_.bytes().evictable() < missing) return std::nullopt;
    plan::RoomRequest request;
    request.needed = missing;
    request.now = now;
    request.loop = loop();
    evict(request);
    needed.release();
    forget_beyond_limits();
  }
  if (bytes > budget_.free()) return std::nullopt;
  return RoomHold(budget_, bytes);
}

void RoomMaker::evict(const plan::RoomRequest& request) {
  const ByteCount before = evicted_.bytes;
  for (const plan::Victim& victim : plan::evict_bytes(tree_, request, options_.eviction))
    count(victim);
  gone_.note(request.now, evicted_.bytes - before);
}

void RoomMaker::count(const plan::Victim& victim) {
  ++(victim.held == tree::Held::kSnapshot ? evicted_.snapshots : evicted_.rows);
  evicted_.bytes += victim.bytes;
  if (on_evicted) on_evicted(victim);
}

// Whoever asks for it wants nothing of what was said to be left, so no note stays either.
ByteCount RoomMaker::clear() {
  const ByteCount freed = drop_bytes({});
  tree_.trim_ghost(0);
  return freed;
}

ByteCount RoomMaker::clear(SpaceKey space) {
  const ByteCount before = tree_.bytes().resident;
  (void)tree_.forget_end({.space = space});
  return before - tree_.bytes().resident;
}

void RoomMaker::retire(tree::Tick now) {
  drop_bytes({tree::EvictReason::kDisproved, now});
  budget_.retire();
}

ByteCount RoomMaker::drop_bytes(tree::EvictionNote note) {
  const ByteCount before = tree_.bytes().resident;
  while (const tree::NodeId at = tree_.oldest(tree::Held::kSnapshot)) {
    if (!tree_.evict_snapshot(at, note)) break;
  }
  while (const tree::NodeId at = tree_.oldest(tree::Held::kBlocks)) {
    if (!tree_.evict_rows(at, 0, note)) break;
  }
  forget_beyond_limits();
  return before - tree_.bytes().resident;
}

ByteCount RoomMaker::drop_bytes(std::span<const tree::NodeId> nodes, tree::EvictionNote note) {
  const ByteCount before = tree_.bytes().resident;
  for (const tree::NodeId node : nodes) {
    (void)tree_.evict_snapshot(node, note);
    (void)tree_.evict_rows(node, 0, note);
  }
  forget_beyond_limits();
  return before - tree_.bytes().resident;
}

std::vector<std::string> RoomMaker::check() const {
  std::vector<std::string> violations;
  if (tree_.counts().ghost_tokens > options_.ghost_tokens_max)
    violations.emplace_back("ROOM-1: too much is remembered");
  if (tree_.counts().nodes > options_.nodes_max && tree_.counts().ghost_tokens > 0)
    violations.emplace_back("ROOM-2: too many nodes are remembered");
  for (const std::string& violation : gone_.check()) violations.push_back("ROOM-3: " + violation);
  return violations;
}

}  // namespace holdfast::cache
