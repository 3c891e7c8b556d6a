#include "tier/disk_store.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "tier/memory_index.h"

namespace holdfast::tier {

std::size_t DiskStore::KeyHash::operator()(const BlobKey& key) const {
  std::size_t front = 0;  // of a digest, so as good as any hash of it
  std::memcpy(&front, key.bytes.data(), sizeof(front));
  return front;
}

void DiskStore::note_failure(std::string what) {
  ++stats_.failed;
  stats_.last_failure = std::move(what);
}

// --- what is held ------------------------------------------------------------------------

void DiskStore::hold(const BlobFacts& facts, std::int64_t used_ms) {
  hold_as(facts.key, {.kind = facts.kind,
                      .bytes = facts.bytes,
                      .saves = facts.saves,
                      .used_ms = used_ms,
                      .anchor = facts.path.anchor,
                      .end = facts.path.range.end,
                      .companion = facts.companion,
                      .logits = facts.logits});
}

void DiskStore::hold_as(const BlobKey& key, const Held& held) {
  const bool added = held_.emplace(key, held).second;
  CHECK(added);
  const bool rows = held.kind == BlobKind::kRows;
  (rows ? stats_.rows_blobs : stats_.place_blobs) += 1;
  (rows ? stats_.rows_bytes : stats_.place_bytes) += held.bytes;
  if (StoredDepths* const ends = ends_with(held)) ends->add(held.anchor, held.end);
  add_age(held);
}

void DiskStore::forget(const BlobKey& key) {
  const auto found = held_.find(key);
  if (found == held_.end()) return;
  const bool rows = found->second.kind == BlobKind::kRows;
  (rows ? stats_.rows_blobs : stats_.place_blobs) -= 1;
  (rows ? stats_.rows_bytes : stats_.place_bytes) -= found->second.bytes;
  if (StoredDepths* const ends = ends_with(found->second))
    ends->remove(found->second.anchor, found->second.end);
  remove_age(found->second);
  held_.erase(found);
}

void DiskStore::add_age(const Held& held) { ages_[worth_of(held)].add(held.used_ms, held.bytes); }

void DiskStore::remove_age(const Held& held) {
  const auto ages = ages_.find(worth_of(held));
  CHECK(ages != ages_.end());
  ages->second.remove(held.used_ms, held.bytes);
  if (ages->second.empty()) ages_.erase(ages);
}

void DiskStore::set_used(Held& held, std::int64_t used_ms, std::uint64_t saves) {
  remove_age(held);
  held.used_ms = used_ms;
  held.saves = saves;
  add_age(held);
}

// Those that are told of this blob.
StoredDepths* DiskStore::ends_with(const Held& held) const {
  return held.end > 0 ? options_.stored_depths.get() : nullptr;
}

DiskStore::~DiskStore() {
  for (const auto& [key, held] : held_) {
    if (StoredDepths* const ends = ends_with(held)) ends->remove(held.anchor, held.end);
  }
}

ByteCount DiskStore::room() const {
  return stats_.bytes() < options_.budget ? options_.budget - stats_.bytes() : 0;
}

// --- putting -----------------------------------------------------------------------------

Moment DiskStore::moment(std::int64_t now_ms) {
  see(now_ms);
  return {now_ms_};
}

Result<PutAnswer> DiskStore::put(const RowsBlob& blob, Moment moment) {
  return put_any(blob, moment);
}
Result<PutAnswer> DiskStore::put(const PlaceBlob& blob, Moment moment) {
  return put_any(blob, moment);
}

Result<PutAnswer> DiskStore::put(const Blob& blob, Moment moment) {
  return std::visit([&](const auto& content) { return put_any(content, moment); }, blob.content);
}

template <typename AnyBlob>
Result<PutAnswer> DiskStore::put_any(const AnyBlob& blob, Moment moment) {
  see(moment.ms);
  if (!writes()) return PutAnswer::kDeclined;
  const auto wanted = outline(blob);
  if (!wanted) return wanted.error();
  if (const auto answer = answer_unread(*wanted, moment)) return *answer;
  const auto encoded = encode(blob, moment.ms);  // reads every byte of it
  if (!encoded) return encoded.error();
  CHECK(encoded->facts.key == wanted->key && encoded->facts.bytes <= wanted->bytes);
  if (const int error = write_blob(*encoded); error != 0) {
    const Error failure = io_error("a blob cannot be written", error);
    note_failure(failure.message);
    if (error == ENOENT) mend_folder();
    return failure;
  }
  forget(wanted->key);
  enter(encoded->facts, moment.ms);
  ++stats_.stored;
  stats_.stored_bytes += encoded->facts.bytes;
  return PutAnswer::kStored;
}

// More of the same state, and nothing less.
bool DiskStore::is_improvement(const Held& held, const BlobFacts& facts) const {
  BlobFacts old;
  old.companion = held.companion;
  old.logits = held.logits;
  return facts.richer_than(old) && !old.richer_than(facts);
}

bool DiskStore::holds(const BlobFacts& facts) const {
  const auto found = held_.find(facts.key);
  return found != held_.end() && !is_improvement(found->second, facts);
}

// The answer, if no byte need be written for it. Otherwise there is room.
std::optional<PutAnswer> DiskStore::answer_unread(const BlobFacts& facts, Moment moment) {
  const auto found = held_.find(facts.key);
  if (found != held_.end()) {
    use(facts.key, moment.ms);
    if (!is_improvement(found->second, facts)) return PutAnswer::kPresent;
  }
  Held wanted;
  wanted.bytes = facts.bytes;
  wanted.saves = facts.saves;
  wanted.used_ms = moment.ms;
  const auto free = uninterrupted([&] { return files_.free_bytes(); });
  stats_.full = free.ok() && free.value < wanted.bytes + options_.free_min;
  if (!stats_.full && make_room(wanted.bytes, value_of(wanted), moment)) return std::nullopt;
  ++stats_.declined;
  return PutAnswer::kDeclined;
}

void DiskStore::enter(const BlobFacts& facts, std::int64_t used_ms) {
  hold(facts, used_ms);
  const IndexEntry entry{facts, used_ms};
  index_put(std::span(&entry, 1));
}

int DiskStore::make_shard(const std::string& folder) {
  if (shards_.contains(folder)) return 0;
  int error = uninterrupted([&] { return files_.make_folder(folder); });
  if (error == 0 || error == EEXIST)
    error = uninterrupted([&] { return files_.sync_folder("blobs"); });
  if (error == 0) shards_.insert(folder);
  return error;
}

// Whole, synced and under its name, or not there. Returns an errno.
int DiskStore::write_blob(const EncodedBlob& blob) {
  const std::string path = blob_path(blob.facts.key);
  const std::string folder = path.substr(0, path.rfind('/'));
  const std::string temporary = "tmp/" + blob.facts.key.hex();
  const auto pieces = blob.pieces();
  if (const int error = make_shard(folder); error != 0) return error;
  int error = write_file(files_, temporary, pieces);
  if (error == EEXIST) {  // left by a removal that failed
    error = uninterrupted([&] { return files_.remove(temporary); });
    if (error == 0) error = write_file(files_, temporary, pieces);
  }
  if (error != 0) return error;
  error = uninterrupted([&] { return files_.rename(temporary, path); });
  if (error != 0) {
    shards_.erase(folder);  // it may have gone
    static_cast<void>(uninterrupted([&] { return files_.remove(temporary); }));
    return error;
  }
  return settle_blob(blob.facts, folder);
}

// The file has its name; that is to last. If it cannot, the file goes again, and with it the
// one whose place it took; if it does not even go, it is held after all.
int DiskStore::settle_blob(const BlobFacts& facts, const std::string& folder) {
  const int error = uninterrupted([&] { return files_.sync_folder(folder); });
  if (error == 0) return 0;
  forget(facts.key);
  index_erase(std::span(&facts.key, 1));
  const int removed = uninterrupted([&] { return files_.remove(blob_path(facts.key)); });
  if (removed != 0 && removed != ENOENT) enter(facts, now_ms_);
  return error;
}

// --- room --------------------------------------------------------------------------------

double DiskStore::worth_of(const Held& held) {
  const auto bytes = static_cast<double>(std::max<ByteCount>(held.bytes, 1));
  return rounded_worth(static_cast<double>(held.saves) / bytes);
}

// The older, the less.
double DiskStore::value_of(double worth, std::int64_t used_ms) const {
  const double age_s = static_cast<double>(now_ms_ - std::min(used_ms, now_ms_)) / 1000;
  return worth / (age_s + options_.tau_s);
}

double DiskStore::value_of(const Held& held) const {
  return value_of(worth_of(held), held.used_ms);
}

// What would make way for something of this value. There are few different worths, four between a
// number and its double.
ByteCount DiskStore::bytes_below(double value, Moment moment) const {
  ByteCount bytes = 0;
  for (const auto& [worth, ages] : ages_) {
    bytes += ages.sum_while([&](std::int64_t used_ms) {
      return used_ms < moment.ms && value_of(worth, used_ms) < value;
    });
  }
  return bytes;
}

ByteCount DiskStore::room_for(double saves_per_byte, Moment moment) const {
  if (!writes()) return 0;
  const double value = value_of(rounded_worth(saves_per_byte), moment.ms);
  return room() + stats_.quarantine_bytes + bytes_below(value, moment);
}

// In the order in which they would be dropped.
std::vector<BlobKey> DiskStore::cheapest_below(double worth) const {
  struct Candidate {
    double value;
    TokenPos end;
    BlobKey key;
  };
  std::vector<Candidate> candidates;
  for (const auto& [key, held] : held_) {
    const double value = value_of(held);
    if (value < worth) candidates.push_back({value, held.end, key});
  }
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    if (a.value != b.value) return a.value < b.value;
    return a.end != b.end ? a.end > b.end : a.key < b.key;
  });
  std::vector<BlobKey> keys;
  for (const Candidate& candidate : candidates) keys.push_back(candidate.key);
  return keys;
}

bool DiskStore::make_room(ByteCount bytes, double worth, Moment moment) {
  if (bytes > options_.budget) return false;
  if (bytes <= room()) return true;
  if (room() + stats_.quarantine_bytes + bytes_below(worth, moment) < bytes) return false;
  std::vector<BlobKey> victims = cheapest_below(worth);
  std::erase_if(victims, [&](const BlobKey& key) { return held_.at(key).used_ms >= moment.ms; });
  empty_quarantine();
  if (bytes > room()) drop(victims, bytes - room());
  return bytes <= room();
}

// Drops in order until `enough` bytes are free. A file that cannot be removed stays held.
ByteCount DiskStore::drop(std::span<const BlobKey> keys, ByteCount enough) {
  ByteCount freed = 0;
  std::vector<BlobKey> gone;
  for (const BlobKey& key : keys) {
    if (freed >= enough) break;
    const auto found = held_.find(key);
    if (found == held_.end()) continue;
    const int error = uninterrupted([&] { return files_.remove(blob_path(key)); });
    if (error != 0 && error != ENOENT) {
      note_failure(io_error("a blob cannot be removed", error).message);
      continue;
    }
    freed += found->second.bytes;
    forget(key);
    gone.push_back(key);
  }
  if (!gone.empty()) index_erase(gone);
  stats_.dropped += gone.size();
  stats_.dropped_bytes += freed;
  return freed;
}

ByteCount DiskStore::remove(std::span<const BlobKey> keys) {
  return writes() ? drop(keys, UINT64_MAX) : 0;
}

ByteCount DiskStore::shrink_to(ByteCount bytes, std::int64_t now_ms) {
  see(now_ms);
  if (!writes() || stats_.bytes() <= bytes) return 0;
  const ByteCount before = stats_.bytes();
  empty_quarantine();
  if (stats_.bytes() > bytes)
    drop(cheapest_below(std::numeric_limits<double>::infinity()), stats_.bytes() - bytes);
  return before - stats_.bytes();
}

void DiskStore::touch(std::span<const BlobKey> keys, std::int64_t now_ms) {
  see(now_ms);
  if (!writes()) return;
  for (const BlobKey& key : keys) {
    if (const auto found = held_.find(key); found != held_.end()) {
      set_used(found->second, now_ms_, found->second.saves);
    }
  }
  if (auto touched = index_->touch(keys, now_ms_); !touched) mend_index(touched.error());
}

// It may have been used since that moment.
void DiskStore::use(const BlobKey& key, std::int64_t used_ms) {
  const auto found = held_.find(key);
  if (found == held_.end() || found->second.used_ms >= used_ms) return;
  set_used(found->second, used_ms, found->second.saves);
  if (auto touched = index_->touch(std::span(&key, 1), used_ms); !touched) {
    mend_index(touched.error());
  }
}

void DiskStore::revalue(std::span<const BlobWorth> worths, Moment moment) {
  see(moment.ms);
  if (!writes()) return;
  for (const BlobWorth& worth : worths) {
    const auto found = held_.find(worth.key);
    if (found == held_.end()) continue;
    set_used(found->second, std::max(found->second.used_ms, moment.ms), worth.saves);
  }
  if (auto done = index_->revalue(worths, moment.ms); !done) mend_index(done.error());
}

// --- quarantine --------------------------------------------------------------------------

void DiskStore::empty_quarantine() {
  if (stats_.quarantine_bytes == 0) return;
  const auto listed = uninterrupted([&] { return files_.list("quarantine"); });
  for (const FolderEntry& entry : listed.value) {
    static_cast<void>(uninterrupted([&] { return files_.remove("quarantine/" + entry.name); }));
  }
  survey_quarantine();
}

ByteCount DiskStore::discard_quarantine() {
  const ByteCount before = stats_.quarantine_bytes;
  if (writes()) empty_quarantine();
  return before - std::min(before, stats_.quarantine_bytes);
}

// It failed a check: nobody is to be offered it again. A reader keeps that to itself.
void DiskStore::quarantine(const BlobKey& key, const std::string& why) {
  ++stats_.quarantined;
  stats_.last_failure = key.hex().substr(0, 12) + ": " + why;
  if (!writes()) {
    unreadable_.insert(key);
    return;
  }
  const auto found = held_.find(key);
  const ByteCount bytes = found != held_.end() ? found->second.bytes : 0;
  keep_in_quarantine(key, bytes, why);
}

void DiskStore::distrust(SpaceKey space, const std::string& why) {
  for (const BlobSummary& blob : list()) {
    if (blob.space != space) continue;
    ++stats_.quarantined;
    if (writes()) {
      set_aside(blob.key, blob.bytes, why);
    } else {
      unreadable_.insert(blob.key);
    }
  }
  stats_.last_failure = why;
  survey_quarantine();
}

// The note is more than there was before; where it has no room, older ones go, and at the
// worst the file itself.
void DiskStore::keep_in_quarantine(const BlobKey& key, ByteCount bytes, const std::string& why) {
  if (why.size() + 1 > room()) empty_quarantine();
  set_aside(key, bytes, why);
  survey_quarantine();
}

void DiskStore::set_aside(const BlobKey& key, ByteCount bytes, const std::string& why) {
  const std::string note = why + "\n";
  const std::string kept = "quarantine/" + key.hex();
  int error = ENOSPC;
  if (bytes > 0 && note.size() <= room())
    error = uninterrupted([&] { return files_.rename(blob_path(key), kept + ".hfb"); });
  if (error == 0) {
    const std::span<const std::byte> piece = std::as_bytes(std::span(note));
    static_cast<void>(uninterrupted([&] { return files_.remove(kept + ".why"); }));
    static_cast<void>(write_file(files_, kept + ".why", Pieces(&piece, 1)));
    stats_.quarantine_bytes += bytes + note.size();  // until it is looked at again
  } else {
    error = uninterrupted([&] { return files_.remove(blob_path(key)); });
  }
  if (error != 0 && error != ENOENT) {
    note_failure(io_error("a damaged blob cannot be moved", error).message);
    index_erase(std::span(&key, 1));  // still held, no longer offered
    return;
  }
  forget(key);
  index_erase(std::span(&key, 1));
}

// --- the index ---------------------------------------------------------------------------

// With what an earlier failure kept out of it.
void DiskStore::index_put(std::span<const IndexEntry> entries) {
  std::erase_if(unindexed_, [&](const IndexEntry& entry) {
    return writes() && !held_.contains(entry.facts.key);
  });
  unindexed_.insert(unindexed_.end(), entries.begin(), entries.end());
  if (auto put = index_->put(unindexed_); !put) {
    mend_index(put.error());
  } else {
    unindexed_.clear();
  }
}

void DiskStore::index_erase(std::span<const BlobKey> keys) {
  std::erase_if(unindexed_, [&](const IndexEntry& entry) {
    return std::ranges::find(keys, entry.facts.key) != keys.end();
  });
  if (auto erased = index_->erase(keys); !erased) mend_index(erased.error());
}

// A full disk leaves the index behind: what it lacks is put with the next blob, and what it has
// too much is not offered. Damage rebuilds it from the blobs.
void DiskStore::mend_index(const Error& error) {
  note_failure(error.message);
  if (error.code == ErrorCode::kInvalidArgument && writes() && !mending_) rebuild_index();
}

void DiskStore::rebuild_index() {
  mending_ = true;
  ++stats_.index_rebuilds;
  if (auto cleared = index_->clear(); !cleared) {
    note_failure(cleared.error().message);
    index_ = std::make_unique<MemoryIndex>();
  }
  unindexed_.clear();
  std::vector<IndexEntry> entries;
  std::vector<BlobFile> files;
  for (const auto& [key, held] : held_) files.push_back({key, held.bytes});
  for (const BlobFile& file : files) {
    if (auto entry = read_entry(file)) {
      if (const auto found = held_.find(file.key); found != held_.end()) {
        entry->used_ms = found->second.used_ms;
        entry->facts.saves = found->second.saves;
      }
      entries.push_back(std::move(*entry));
    }
  }
  index_put(entries);
  mending_ = false;
}

}  // namespace holdfast::tier
