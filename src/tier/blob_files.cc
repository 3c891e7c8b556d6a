#include "tier/blob_files.h"

#include <algorithm>
#include <optional>

namespace holdfast::tier {

namespace {

std::optional<BlobKey> key_of(const FolderEntry& entry) {
  const std::string_view name = entry.name;
  if (entry.kind != FolderEntry::Kind::kFile || !name.ends_with(kBlobEnding)) return std::nullopt;
  return BlobKey::from_hex(name.substr(0, name.size() - kBlobEnding.size()));
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

std::string blob_path(const BlobKey& key) {
  const std::string hex = key.hex();
  return "blobs/" + hex.substr(0, 2) + "/" + hex + std::string(kBlobEnding);
}

// --- one blob ----------------------------------------------------------------------------

int BlobFiles::make_shard(const std::string& folder) {
  if (shards_.contains(folder)) return 0;
  int error = uninterrupted([&] { return files_.make_folder(folder); });
  if (error == 0 || error == EEXIST)
    error = uninterrupted([&] { return files_.sync_folder("blobs"); });
  if (error == 0) shards_.insert(folder);
  return error;
}

int BlobFiles::write(const EncodedBlob& blob) {
  const std::string path = blob_path(blob.facts.key);
  const std::string folder = folder_of(path);
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
  if (error == 0) return 0;
  shards_.erase(folder);  // it may have gone
  static_cast<void>(uninterrupted([&] { return files_.remove(temporary); }));
  return error;
}

int BlobFiles::sync_name(const BlobKey& key) {
  return uninterrupted([&] { return files_.sync_folder(folder_of(blob_path(key))); });
}

int BlobFiles::remove(const BlobKey& key) {
  const int error = uninterrupted([&] { return files_.remove(blob_path(key)); });
  return error == ENOENT ? 0 : error;
}

Io<std::unique_ptr<OpenFile>> BlobFiles::open(const BlobKey& key) const {
  return uninterrupted([&] { return files_.open(blob_path(key)); });
}

// --- all of them -------------------------------------------------------------------------

std::vector<BlobFile> BlobFiles::list(std::uint64_t& strangers) {
  std::vector<BlobFile> found;
  const auto shards = uninterrupted([&] { return files_.list("blobs"); });
  if (!shards.ok()) stats_.note_failure(io_error("blobs cannot be listed", shards.error).message);
  for (const FolderEntry& shard : shards.value) {
    if (shard.kind == FolderEntry::Kind::kFolder) {
      list_shard("blobs/" + shard.name, found, strangers);
    } else {
      ++strangers;
    }
  }
  std::ranges::sort(found, {}, &BlobFile::key);
  return found;
}

void BlobFiles::list_shard(const std::string& folder, std::vector<BlobFile>& found,
                           std::uint64_t& strangers) {
  const auto listed = uninterrupted([&] { return files_.list(folder); });
  if (!listed.ok())
    stats_.note_failure(io_error(folder + " cannot be listed", listed.error).message);
  if (listed.ok()) shards_.insert(folder);
  for (const FolderEntry& entry : listed.value) {
    const auto key = key_of(entry);
    const bool at_its_path = key && blob_path(*key) == folder + "/" + entry.name;
    if (at_its_path) found.push_back({*key, entry.bytes});
    if (!at_its_path) ++strangers;
  }
}

void BlobFiles::empty_tmp() {
  const auto listed = uninterrupted([&] { return files_.list("tmp"); });
  for (const FolderEntry& entry : listed.value) {
    const int error = uninterrupted([&] { return files_.remove("tmp/" + entry.name); });
    if (error != 0) stats_.note_failure("tmp/" + entry.name + " cannot be removed");
  }
}

std::vector<std::string> BlobFiles::check() const {
  const auto tmp = uninterrupted([&] { return files_.list("tmp"); });
  if (tmp.value.empty()) return {};
  return {"FILES-1: tmp/ is not empty"};
}

}  // namespace holdfast::tier
