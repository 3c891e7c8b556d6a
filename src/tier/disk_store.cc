#include "tier/disk_store.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "tier/folder_format.h"
#include "tier/store_match.h"

namespace holdfast::tier {

// --- opening -----------------------------------------------------------------------------

DiskStore::DiskStore(FileSystem& files, DiskOptions options)
    : files_(files),
      options_(std::move(options)),
      shelf_(files, options_.budget, options_.tau_s, options_.stored_depths),
      notes_(files, shelf_.stats) {}

Result<std::unique_ptr<DiskStore>> DiskStore::open(FileSystem& files, DiskOptions options,
                                                   std::int64_t now_ms) {
  std::unique_ptr<DiskStore> store(new DiskStore(files, std::move(options)));
  store->shelf_.see(now_ms);
  auto lock = take_folder(files, store->options_.role);
  if (!lock) return lock.error();
  store->lock_ = std::move(*lock);
  const StoreRole role = store->lock_ != nullptr ? StoreRole::kWriter : StoreRole::kReader;
  if (role == StoreRole::kWriter) store->shelf_.blobs.empty_tmp();
  store->shelf_.open(role, store->options_.make_index, now_ms);
  if (store->writes()) store->shrink_to(store->budget(), now_ms);
  return store;
}

// --- putting -----------------------------------------------------------------------------

Moment DiskStore::moment(std::int64_t now_ms) { return {shelf_.see(now_ms)}; }

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
  shelf_.see(moment.ms);
  if (!writes()) return PutAnswer::kDeclined;
  const auto wanted = outline(blob);
  if (!wanted) return wanted.error();
  if (const auto answer = answer_unread(*wanted, moment)) return *answer;
  const auto encoded = encode(blob, moment.ms);  // reads every byte of it
  if (!encoded) return encoded.error();
  CHECK(encoded->facts.key == wanted->key && encoded->facts.bytes <= wanted->bytes);
  if (const int error = shelf_.write(*encoded, moment.ms); error != 0) {
    const Error failure = io_error("a blob cannot be written", error);
    shelf_.stats.note_failure(failure.message);
    if (error == ENOENT) {
      mend_folder(files_);
      shelf_.blobs.forget_folders();
      notes_.forget_described();
    }
    return failure;
  }
  ++shelf_.stats.stored;
  shelf_.stats.stored_bytes += encoded->facts.bytes;
  return PutAnswer::kStored;
}

bool DiskStore::holds(const BlobFacts& facts) const {
  const HeldBlob* const held = shelf_.held.find(facts.key);
  return held != nullptr && !held->is_improved_by(facts);
}

// The answer, if no byte need be written for it. Otherwise there is room.
std::optional<PutAnswer> DiskStore::answer_unread(const BlobFacts& facts, Moment moment) {
  if (shelf_.held.contains(facts.key)) {
    use(facts.key, moment.ms);
    if (holds(facts)) return PutAnswer::kPresent;
  }
  const HeldBlob wanted = HeldBlob::of(facts, moment.ms);
  const auto free = uninterrupted([&] { return files_.free_bytes(); });
  shelf_.stats.full = free.ok() && free.value < wanted.bytes + options_.free_min;
  if (!shelf_.stats.full &&
      make_room(wanted.bytes, shelf_.held.value_of(wanted, shelf_.now()), moment))
    return std::nullopt;
  ++shelf_.stats.declined;
  return PutAnswer::kDeclined;
}

// --- room --------------------------------------------------------------------------------

ByteCount DiskStore::room_for(double saves_per_byte, Moment moment) const {
  if (!writes()) return 0;
  const double value = shelf_.held.value_of(rounded_worth(saves_per_byte), moment.ms, shelf_.now());
  return shelf_.room() + shelf_.stats.quarantine_bytes +
         shelf_.held.bytes_below(value, moment, shelf_.now());
}

bool DiskStore::make_room(ByteCount bytes, double value, Moment moment) {
  if (bytes > options_.budget) return false;
  if (bytes <= shelf_.room()) return true;
  if (shelf_.room() + shelf_.stats.quarantine_bytes +
          shelf_.held.bytes_below(value, moment, shelf_.now()) <
      bytes)
    return false;
  std::vector<BlobKey> victims = shelf_.held.cheapest_below(value, shelf_.now());
  std::erase_if(victims,
                [&](const BlobKey& key) { return shelf_.held.find(key)->used_ms >= moment.ms; });
  shelf_.quarantine.empty();
  if (bytes > shelf_.room()) shelf_.drop(victims, bytes - shelf_.room());
  return bytes <= shelf_.room();
}

ByteCount DiskStore::remove(std::span<const BlobKey> keys) {
  return writes() ? shelf_.drop(keys, UINT64_MAX) : 0;
}

ByteCount DiskStore::shrink_to(ByteCount bytes, std::int64_t now_ms) {
  shelf_.see(now_ms);
  if (!writes() || shelf_.stats.bytes() <= bytes) return 0;
  const ByteCount before = shelf_.stats.bytes();
  shelf_.quarantine.empty();
  if (shelf_.stats.bytes() > bytes)
    shelf_.drop(shelf_.held.cheapest_below(std::numeric_limits<double>::infinity(), shelf_.now()),
                shelf_.stats.bytes() - bytes);
  return before - shelf_.stats.bytes();
}

bool DiskStore::drop_space(SpaceKey space) {
  std::vector<BlobKey> keys;
  ByteCount bytes = 0;
  for (const BlobSummary& blob : shelf_.list()) {
    if (blob.space != space) continue;
    keys.push_back(blob.key);
    bytes += blob.bytes;
  }
  return !keys.empty() && (!writes() || shelf_.drop(keys, bytes) < bytes);
}

// A blob that others need a part of stays whole. Another end of the same prompt goes as far as the
// path leads to it; what lies further on cannot be reached any more, and is evicted in time.
void DiskStore::drop_end(const PathEnd& end) {
  if (!writes()) return;
  PathNamer names(end.space);
  names.append(end.keys);
  const auto anchors = names.anchors();
  const auto entries = shelf_.index.along(end.space, anchors);
  if (!entries) return;
  const auto agreed = [&](const BlobPath& path) { return agreed_end(path, end.keys, anchors); };
  TokenPos shared = end.keep;
  for (const IndexEntry& entry : *entries) {
    const TokenPos parts = agreed(entry.facts.path);
    if (parts < entry.facts.path.range.end && parts < end.own) shared = std::max(shared, parts);
  }
  std::vector<BlobKey> keys;
  ByteCount bytes = 0;
  for (const IndexEntry& entry : *entries) {
    const BlobPath& path = entry.facts.path;
    const bool place = entry.facts.kind == BlobKind::kPlace;
    const bool ours = agreed(path) > shared && (place || path.range.begin >= shared);
    if (!ours) continue;
    keys.push_back(entry.facts.key);
    bytes += entry.facts.bytes;
  }
  if (!keys.empty()) (void)shelf_.drop(keys, bytes);
}

void DiskStore::touch(std::span<const BlobKey> keys, std::int64_t now_ms) {
  shelf_.see(now_ms);
  if (!writes()) return;
  for (const BlobKey& key : keys) {
    if (const HeldBlob* const held = shelf_.held.find(key))
      shelf_.held.set_used(key, shelf_.now(), held->saves);
  }
  shelf_.index.touch(keys, shelf_.now());
}

// It may have been used since that moment.
void DiskStore::use(const BlobKey& key, std::int64_t used_ms) {
  const HeldBlob* const held = shelf_.held.find(key);
  if (held == nullptr || held->used_ms >= used_ms) return;
  shelf_.held.set_used(key, used_ms, held->saves);
  shelf_.index.touch(std::span(&key, 1), used_ms);
}

void DiskStore::revalue(std::span<const BlobWorth> worths, Moment moment) {
  shelf_.see(moment.ms);
  if (!writes()) return;
  for (const BlobWorth& worth : worths) {
    const HeldBlob* const held = shelf_.held.find(worth.key);
    if (held != nullptr)
      shelf_.held.set_used(worth.key, std::max(held->used_ms, moment.ms), worth.saves);
  }
  shelf_.index.revalue(worths, moment.ms);
}

// --- those who look after a folder -------------------------------------------------------

ByteCount DiskStore::discard_quarantine() {
  const ByteCount before = shelf_.stats.quarantine_bytes;
  if (writes()) shelf_.quarantine.empty();
  return before - std::min(before, shelf_.stats.quarantine_bytes);
}

VerifyReport DiskStore::verify(const VerifyProgress& progress, Rebuild rebuild) {
  VerifyReport report = StoreVerifier(shelf_).run(progress, rebuild);
  if (writes() && !report.stopped) shrink_to(budget(), shelf_.now());
  return report;
}

Result<void> DiskStore::describe_space(SpaceKey space, const SpaceNote& note) {
  if (!writes()) return {};
  return notes_.describe(space, note, [this] { return inventory().spaces(); });
}

std::uint64_t DiskStore::tidy_space_notes() {
  return writes() ? notes_.tidy([this] { return inventory().spaces(); }) : 0;
}

std::vector<std::string> DiskStore::check() {
  if (!writes()) return {};
  std::vector<std::string> wrong = shelf_.check();
  if (shelf_.stats.bytes() > options_.budget) wrong.emplace_back("STORE-1: beyond the budget");
  return wrong;
}

}  // namespace holdfast::tier
