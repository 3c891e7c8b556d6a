// StoredDepths: how deep the blobs of a folder reach, in memory.
//
//   anchor name  ->  ends of the blobs that stand there
//   root         ->  300, 512
//   n1           ->  128
//
// The store's thread keeps it (disk_store.h); the engine's thread asks, without I/O, whether a
// lookup could find anything deeper than what memory has. It knows names and no tokens, so its
// answer is a hope: a lookup may find less, and never anything deeper.
//
// Invariants, verified by the tests of the same numbers (and BLOBS-2 of held_blobs.h):
//   DEPTHS-1  deepest() is the largest end added and not removed at one of the anchors; 0 if there
//             is none
//   DEPTHS-2  what was added twice is there until it has been removed twice
//   DEPTHS-3  agreed() is the position of the last of the anchors at which there is an end; 0 if
//             there is none
//
// Safe to use from any thread.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <unordered_map>

#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "state/tokens.h"
#include "tier/path_name.h"

namespace holdfast::tier {

class StoredDepths {
 public:
  void add(const PathName& anchor, TokenPos end);
  // What is not there, because all was cleared, needs no removing.
  void remove(const PathName& anchor, TokenPos end);

  // Nothing is known any more.
  void clear();

  // The anchors of a prompt are PathNamer::anchors().
  [[nodiscard]] TokenPos deepest(std::span<const PathName> anchors) const;

  // This many tokens of the prompt agree with what something here was computed from. Where
  // deepest() hopes, this is sure, and may be less by as much as a blob holds.
  [[nodiscard]] TokenPos agreed(std::span<const PathName> anchors) const;

  [[nodiscard]] bool contains(const PathName& anchor, TokenPos end) const;
  // How many ends there are.
  [[nodiscard]] std::size_t size() const;

 private:
  struct NameHash {
    std::size_t operator()(const PathName& name) const;
  };
  mutable Mutex mutex_;
  // Sorted, because prompts that part early all stand at the first anchor.
  std::unordered_map<PathName, std::multiset<TokenPos>, NameHash> ends_ GUARDED_BY(mutex_);
  std::size_t size_ GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::tier
