// Opening a folder: whose it is, who writes, and what it holds.
#include <algorithm>

#include "tier/disk_store.h"
#include "tier/memory_index.h"

namespace holdfast::tier {

namespace {

constexpr std::string_view kFormat = "holdfast cache 1\n";
constexpr std::string_view kFormatOfAnyVersion = "holdfast cache ";
constexpr std::size_t kFormatBytesMax = 64;
constexpr std::string_view kEnding = ".hfb";

Error refusal(std::string why) { return {ErrorCode::kUnsupported, std::move(why), {}}; }

std::optional<BlobKey> key_of(const FolderEntry& entry) {
  const std::string_view name = entry.name;
  if (entry.kind != FolderEntry::Kind::kFile || !name.ends_with(kEnding)) return std::nullopt;
  return BlobKey::from_hex(name.substr(0, name.size() - kEnding.size()));
}

// What may lie in a folder before its FORMAT does.
bool may_precede_format(const FolderEntry& entry) {
  return entry.name == "lock" || entry.name == "FORMAT.new";
}

std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  std::ranges::replace_if(
      line, [](char c) { return c < ' ' || c > '~'; }, '?');
  return line;
}

}  // namespace

std::string blob_path(const BlobKey& key) {
  const std::string hex = key.hex();
  return "blobs/" + hex.substr(0, 2) + "/" + hex + std::string(kEnding);
}

Result<std::unique_ptr<DiskStore>> DiskStore::open(FileSystem& files, DiskOptions options,
                                                   std::int64_t now_ms) {
  std::unique_ptr<DiskStore> store(new DiskStore(files, std::move(options)));
  store->see(now_ms);
  const auto folder = store->inspect();
  if (!folder) return folder.error();
  if (auto taken = store->take_role(*folder); !taken) return taken.error();
  store->open_index();
  store->survey_quarantine();
  if (store->writes()) {
    store->survey();
    store->shrink_to(store->budget(), now_ms);
  }
  return store;
}

// --- whose folder it is -----------------------------------------------------------------

Result<DiskStore::Folder> DiskStore::inspect() {
  const auto text = read_text(files_, "FORMAT", kFormatBytesMax);
  if (text && *text == kFormat) return Folder::kOurs;
  if (text && text->starts_with(kFormatOfAnyVersion))
    return refusal("the cache folder " + files_.root() + " was made by another version (\"" +
                   first_line(*text) + "\"); give this one a folder of its own, or delete that");
  if (text) return refusal(files_.root() + " is not a cache folder: its FORMAT is another's");
  if (text.error().code != ErrorCode::kNotFound) return text.error();
  const auto listed = uninterrupted([&] { return files_.list(""); });
  if (!listed.ok())
    return io_error("the folder " + files_.root() + " cannot be listed", listed.error);
  if (!std::ranges::all_of(listed.value, may_precede_format))
    return refusal(files_.root() + " is not a cache folder: it holds other things and no FORMAT; " +
                   "a new cache wants an empty folder");
  return Folder::kNew;
}

// A folder that cannot be written to can still be read.
Result<void> DiskStore::take_role(Folder folder) {
  if (options_.role == StoreRole::kReader) {
    if (folder == Folder::kNew)
      return Error{ErrorCode::kNotFound, "there is no cache in " + files_.root(), {}};
    return {};
  }
  auto held = uninterrupted([&] { return files_.lock("lock"); });
  const bool reader = held.error == EWOULDBLOCK ||
                      (folder == Folder::kOurs && (held.error == EROFS || held.error == EACCES));
  if (reader) return {};
  if (!held.ok()) return io_error("the cache folder cannot be locked", held.error);
  const auto again = inspect();  // another may have been making it until now
  if (!again) return again.error();
  lock_ = std::move(held.value);
  role_ = StoreRole::kWriter;
  return prepare_folder(*again);
}

Result<void> DiskStore::prepare_folder(Folder folder) {
  if (folder == Folder::kNew) {
    if (auto written = write_format(); !written) return written.error();
  }
  static_cast<void>(uninterrupted([&] { return files_.remove("FORMAT.new"); }));
  for (const char* name : {"blobs", "tmp", "quarantine"}) {
    const int error = uninterrupted([&] { return files_.make_folder(name); });
    if (error != 0 && error != EEXIST)
      return io_error(std::string("the cache's folder ") + name + " cannot be made", error);
    const auto listed = uninterrupted([&] { return files_.list(name); });
    if (!listed.ok())
      return io_error(std::string("the cache's folder ") + name + " cannot be used", listed.error);
  }
  for (const char* name : {"", "blobs"}) {
    if (const int error = uninterrupted([&] { return files_.sync_folder(name); }); error != 0)
      return io_error("the cache folder cannot be synced", error);
  }
  empty_tmp();
  return {};
}

// Before anything else is in the folder, and whole or not at all.
Result<void> DiskStore::write_format() {
  static_cast<void>(uninterrupted([&] { return files_.remove("FORMAT.new"); }));
  const std::span<const std::byte> piece = std::as_bytes(std::span(kFormat));
  int error = write_file(files_, "FORMAT.new", Pieces(&piece, 1));
  if (error == 0) error = uninterrupted([&] { return files_.rename("FORMAT.new", "FORMAT"); });
  if (error == 0) error = uninterrupted([&] { return files_.sync_folder(""); });
  if (error != 0) return io_error("the cache folder cannot be written to", error);
  return {};
}

// Somebody has cleaned up here while we run. Afterwards the folder can be used again, as far
// as the system allows; what was in it is missed when it is asked for.
void DiskStore::mend_folder() {
  shards_.clear();
  described_.clear();
  const auto text = read_text(files_, "FORMAT", kFormatBytesMax);
  if (!text && text.error().code == ErrorCode::kNotFound) static_cast<void>(write_format());
  for (const char* name : {"blobs", "tmp", "quarantine"})
    static_cast<void>(uninterrupted([&] { return files_.make_folder(name); }));
  static_cast<void>(uninterrupted([&] { return files_.sync_folder(""); }));
}

void DiskStore::empty_tmp() {
  const auto listed = uninterrupted([&] { return files_.list("tmp"); });
  for (const FolderEntry& entry : listed.value) {
    const int error = uninterrupted([&] { return files_.remove("tmp/" + entry.name); });
    if (error != 0) note_failure("tmp/" + entry.name + " cannot be removed");
  }
}

// --- what it holds ----------------------------------------------------------------------

void DiskStore::open_index() {
  if (options_.make_index) {
    auto made = options_.make_index(role_);
    if (made) {
      index_ = std::move(*made);
      return;
    }
    note_failure(made.error().message);
  }
  index_ = std::make_unique<MemoryIndex>();
  if (writes()) return;  // survey() will fill it
  std::uint64_t strangers = 0;
  adopt(list_files(strangers));
}

std::vector<DiskStore::BlobFile> DiskStore::list_files(std::uint64_t& strangers) {
  std::vector<BlobFile> found;
  const auto shards = uninterrupted([&] { return files_.list("blobs"); });
  if (!shards.ok()) note_failure(io_error("blobs cannot be listed", shards.error).message);
  for (const FolderEntry& shard : shards.value) {
    const std::string folder = "blobs/" + shard.name;
    if (shard.kind != FolderEntry::Kind::kFolder) {
      ++strangers;
      continue;
    }
    const auto listed = uninterrupted([&] { return files_.list(folder); });
    if (!listed.ok()) note_failure(io_error(folder + " cannot be listed", listed.error).message);
    if (listed.ok()) shards_.insert(folder);
    for (const FolderEntry& entry : listed.value) {
      const auto key = key_of(entry);
      const bool in_place = key && blob_path(*key) == folder + "/" + entry.name;
      if (in_place) found.push_back({*key, entry.bytes});
      if (!in_place) ++strangers;
    }
  }
  std::ranges::sort(found, {}, &BlobFile::key);
  return found;
}

DiskStore::HeldMap DiskStore::held_by_index() {
  HeldMap known;
  auto listed = index_->list();
  if (!listed) {
    note_failure(listed.error().message);
    if (auto cleared = index_->clear(); !cleared) index_ = std::make_unique<MemoryIndex>();
    ++stats_.index_rebuilds;
    return known;
  }
  for (const BlobSummary& blob : *listed) {
    known[blob.key] = {.kind = blob.kind,
                       .bytes = blob.bytes,
                       .saves = blob.saves,
                       .used_ms = std::min(blob.used_ms, now_ms_),
                       .anchor = blob.anchor,
                       .end = blob.range.end,
                       .companion = blob.companion,
                       .logits = blob.logits};
  }
  return known;
}

// Makes the index and the store agree with the folder. What both know with the same size is
// believed until it is read.
void DiskStore::survey() {
  std::uint64_t strangers = 0;
  HeldMap known = held_by_index();
  std::vector<BlobFile> unknown;
  for (const BlobFile& file : list_files(strangers)) {
    const auto found = known.find(file.key);
    if (found == known.end() || found->second.bytes != file.bytes) {
      unknown.push_back(file);
      continue;
    }
    hold_as(file.key, found->second);
    known.erase(found);
  }
  std::vector<BlobKey> gone;
  for (const auto& [key, held] : known) gone.push_back(key);
  if (!gone.empty()) index_erase(gone);
  adopt(unknown);
}

// Takes in files that the index lacks, by their headers.
void DiskStore::adopt(const std::vector<BlobFile>& files) {
  std::vector<IndexEntry> entries;
  for (const BlobFile& file : files) {
    if (writes()) hold_as(file.key, {.bytes = file.bytes});  // counted, whatever it is
    auto entry = read_entry(file);
    if (!entry) continue;
    if (writes()) {
      forget(file.key);
      hold(entry->facts, entry->used_ms);
    }
    entries.push_back(std::move(*entry));
  }
  if (!entries.empty()) index_put(entries);
}

// Nothing for a file that fails; then it is in quarantine, or, where the system failed, held
// without being known.
std::optional<IndexEntry> DiskStore::read_entry(const BlobFile& file) {
  auto opened = uninterrupted([&] { return files_.open(blob_path(file.key)); });
  if (!opened.ok()) {
    note_failure(io_error("a blob cannot be opened", opened.error).message);
    return std::nullopt;
  }
  FileSource source(*opened.value);
  auto facts = read_facts(source);
  if (facts && facts->key == file.key) {
    const std::int64_t used_ms = std::min(facts->created_ms, now_ms_);
    return IndexEntry{std::move(*facts), used_ms};
  }
  const bool damaged = facts || facts.error().code == ErrorCode::kInvalidArgument ||
                       facts.error().code == ErrorCode::kUnsupported;
  const std::string why = facts ? "it is another blob than its name says" : facts.error().message;
  if (damaged) quarantine(file.key, why);
  if (!damaged) note_failure(why);
  return std::nullopt;
}

void DiskStore::survey_quarantine() {
  stats_.quarantine_files = 0;
  stats_.quarantine_bytes = 0;
  const auto listed = uninterrupted([&] { return files_.list("quarantine"); });
  if (!listed.ok()) note_failure(io_error("quarantine cannot be listed", listed.error).message);
  for (const FolderEntry& entry : listed.value) {
    if (entry.kind != FolderEntry::Kind::kFile) continue;
    stats_.quarantine_bytes += entry.bytes;
    if (entry.name.ends_with(kEnding)) ++stats_.quarantine_files;
  }
}

}  // namespace holdfast::tier
