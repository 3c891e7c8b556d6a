#include "tier/store_index.h"

#include <algorithm>
#include <utility>

#include "tier/memory_index.h"

namespace holdfast::tier {

bool StoreIndex::open(const IndexMaker& make_index, StoreRole role, Source source) {
  role_ = role;
  source_ = std::move(source);
  if (make_index) {
    auto made = make_index(role);
    if (made) {
      index_ = std::move(*made);
      return true;
    }
    stats_.note_failure(made.error().message);
  }
  index_ = std::make_unique<MemoryIndex>();
  return false;
}

// --- changing it -------------------------------------------------------------------------

void StoreIndex::note(const Result<void>& outcome) {
  if (!outcome) mend(outcome.error());
}

// With what an earlier failure kept out of it.
void StoreIndex::put(std::span<const IndexEntry> entries) {
  std::erase_if(unindexed_, [&](const IndexEntry& entry) {
    return role_ == StoreRole::kWriter && !source_.is_wanted(entry.facts.key);
  });
  unindexed_.insert(unindexed_.end(), entries.begin(), entries.end());
  if (auto put = index_->put(unindexed_); !put) {
    mend(put.error());
  } else {
    unindexed_.clear();
  }
}

void StoreIndex::erase(std::span<const BlobKey> keys) {
  std::erase_if(unindexed_, [&](const IndexEntry& entry) {
    return std::ranges::find(keys, entry.facts.key) != keys.end();
  });
  note(index_->erase(keys));
}

void StoreIndex::touch(std::span<const BlobKey> keys, std::int64_t now_ms) {
  note(index_->touch(keys, now_ms));
}

void StoreIndex::revalue(std::span<const BlobWorth> worths, std::int64_t now_ms) {
  note(index_->revalue(worths, now_ms));
}

void StoreIndex::clear() {
  ++stats_.index_rebuilds;
  note(index_->clear());
}

void StoreIndex::start_over() {
  ++stats_.index_rebuilds;
  if (auto cleared = index_->clear(); !cleared) {
    stats_.note_failure(cleared.error().message);
    index_ = std::make_unique<MemoryIndex>();
  }
}

// --- asking it ---------------------------------------------------------------------------

template <typename Question>
auto StoreIndex::ask(const Question& question) {
  auto answer = question();
  if (answer) return answer;
  mend(answer.error());
  return question();
}

Result<std::vector<IndexEntry>> StoreIndex::along(SpaceKey space,
                                                  std::span<const PathName> anchors) {
  return ask([&] { return index_->along(space, anchors); });
}

Result<std::vector<BlobSummary>> StoreIndex::list() {
  return ask([&] { return index_->list(); });
}

Result<std::vector<SpaceTotal>> StoreIndex::totals() {
  return ask([&] { return index_->totals(); });
}

// --- damage ------------------------------------------------------------------------------

// A full disk leaves the index behind: what it lacks is put with the next blob, and what it has
// too much is not offered. Damage makes it again from the blobs.
void StoreIndex::mend(const Error& error) {
  stats_.note_failure(error.message);
  const bool damaged = error.code == ErrorCode::kInvalidArgument;
  if (!damaged || role_ != StoreRole::kWriter || mending_) return;
  mending_ = true;
  start_over();
  unindexed_.clear();
  put(source_.read_all());
  mending_ = false;
}

}  // namespace holdfast::tier
