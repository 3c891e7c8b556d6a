// SpaceNotes: the notes on spaces in a cache folder (tier/space_note.h), small files beside the
// blobs that nothing depends on.
//
// Invariants, verified by space_note_test.cc:
//   NOTES-1  a note is whole, synced and under its name, or not there
//   NOTES-2  there are at most kNotesMax; one of a space that holds nothing is the first to go
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/result.h"
#include "state/space.h"
#include "tier/blob_store.h"
#include "tier/file_system.h"
#include "tier/space_note.h"

namespace holdfast::tier {

class SpaceNotes {
 public:
  static constexpr std::size_t kNotesMax = 1024;
  // The spaces that hold something.
  using UsedSpaces = std::function<std::set<SpaceKey>()>;

  // REQUIRES: both outlive it.
  SpaceNotes(FileSystem& files, StoreStats& stats) : files_(files), stats_(stats) {}

  // Durable when it is answered; what is there already costs nothing from the second call on.
  // Where there are too many, those of other spaces are not `used`, or it is not written.
  [[nodiscard]] Result<void> describe(SpaceKey space, const SpaceNote& note,
                                      const UsedSpaces& used);
  // Those that can be read. A failure is counted.
  [[nodiscard]] std::map<SpaceKey, SpaceNote> all();
  // Removes notes of other spaces, and what is no note. Returns how many.
  std::uint64_t tidy(const UsedSpaces& used);
  // Somebody has cleaned up here: notes that were there may be gone.
  void forget_described() { described_.clear(); }

 private:
  [[nodiscard]] Result<void> write(SpaceKey space, const SpaceNote& note);
  [[nodiscard]] std::vector<FolderEntry> list();

  FileSystem& files_;
  StoreStats& stats_;
  std::map<SpaceKey, SpaceNote> described_;  // notes that are there, as of our last look
};

}  // namespace holdfast::tier
