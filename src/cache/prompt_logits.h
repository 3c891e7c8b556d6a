// PromptLogits: the logits after the last token of prompts, so that an identical request
// computes nothing at all.
//
//   prompt [ s s s s | u u u u h )      state after h: in the token tree, as any other
//                                ^ logits of h: here
//
// A state brings a slot to the end of a prompt; the first token of the answer needs what the
// model said there as well. Logits are useless without the state, so who looks for
// them has found that first, by its tokens; here a hash of these is enough.
//
// Those that were asked for longest ago go first. They have a limit of their own, within which
// their bytes are taken from memory's budget (RoomHold).
//
// Invariants, verified by check():
//   LOGITS-1  the bytes held are those of the logits, and no more than the limit
//   LOGITS-2  each prompt has one entry
//
// One owning thread, that of the engine.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "cache/memory_tier.h"
#include "state/checked_bytes.h"
#include "state/path_end.h"
#include "state/tokens.h"
#include "tree/types.h"

namespace holdfast::cache {

// A prompt, by what its states are filed under.
struct EndKey {
  SpaceKey space;
  WideHash keys;
  TokenPos length = 0;
  auto operator<=>(const EndKey&) const = default;

  [[nodiscard]] static EndKey of(SpaceKey space, TokenSpan keys);
};

using LogitsPtr = std::shared_ptr<const CheckedBytes>;

[[nodiscard]] LogitsPtr copy_of_logits(std::span<const float> logits);
// REQUIRES: made of logits.
[[nodiscard]] std::span<const float> logits_in(const CheckedBytes& bytes);

class PromptLogits {
 public:
  // REQUIRES: `memory` outlives it.
  PromptLogits(MemoryTier& memory, ByteCount limit) : memory_(memory), limit_(limit) {}

  [[nodiscard]] bool holds(const EndKey& key) const { return by_key_.contains(key); }
  // Null: there are none, or they were damaged and are dropped.
  [[nodiscard]] LogitsPtr find(const EndKey& key);
  // Without looking whether they are whole.
  [[nodiscard]] LogitsPtr peek(const EndKey& key) const;
  // Takes the room of older ones, and of nothing else: where there is none, they are not held.
  void put(const EndKey& key, LogitsPtr logits);
  void clear();
  // Of one space. Returns the bytes freed.
  ByteCount clear(SpaceKey space);
  // Of prompts that these tokens begin with, and that have more than the first `keep` of them.
  void forget_end(const PathEnd& end);

  [[nodiscard]] ByteCount bytes() const { return bytes_; }
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  struct Entry {
    EndKey key;
    LogitsPtr logits;
    RoomHold room;
  };
  using Entries = std::list<Entry>;  // the latest first

  void drop(Entries::iterator entry);

  MemoryTier& memory_;
  const ByteCount limit_;
  ByteCount bytes_ = 0;
  Entries entries_;
  std::map<EndKey, Entries::iterator> by_key_;
};

}  // namespace holdfast::cache
