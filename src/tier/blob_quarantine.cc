#include "tier/blob_quarantine.h"

namespace holdfast::tier {

void BlobQuarantine::survey() {
  stats_.quarantine_files = 0;
  stats_.quarantine_bytes = 0;
  const auto listed = uninterrupted([&] { return files_.list("quarantine"); });
  if (!listed.ok())
    stats_.note_failure(io_error("quarantine cannot be listed", listed.error).message);
  for (const FolderEntry& entry : listed.value) {
    if (entry.kind != FolderEntry::Kind::kFile) continue;
    stats_.quarantine_bytes += entry.bytes;
    if (entry.name.ends_with(kBlobEnding)) ++stats_.quarantine_files;
  }
}

void BlobQuarantine::empty() {
  if (stats_.quarantine_bytes == 0) return;
  const auto listed = uninterrupted([&] { return files_.list("quarantine"); });
  for (const FolderEntry& entry : listed.value) {
    static_cast<void>(uninterrupted([&] { return files_.remove("quarantine/" + entry.name); }));
  }
  survey();
}

// The note is more than there was before.
int BlobQuarantine::take(const BlobFile& blob, const std::string& why, ByteCount room) {
  const std::string note = why + "\n";
  const std::string kept = "quarantine/" + blob.key.hex();
  int error = ENOSPC;
  if (blob.bytes > 0 && note.size() <= room) {
    error = uninterrupted(
        [&] { return files_.rename(blob_path(blob.key), kept + std::string(kBlobEnding)); });
  }
  if (error != 0) {
    error = uninterrupted([&] { return files_.remove(blob_path(blob.key)); });
    return error == ENOENT ? 0 : error;
  }
  const std::span<const std::byte> piece = std::as_bytes(std::span(note));
  static_cast<void>(uninterrupted([&] { return files_.remove(kept + ".why"); }));
  static_cast<void>(write_file(files_, kept + ".why", Pieces(&piece, 1)));
  stats_.quarantine_bytes += blob.bytes + note.size();  // until it is looked at again
  return 0;
}

std::vector<std::string> BlobQuarantine::check() {
  const StoreStats before = stats_;
  survey();
  if (before.quarantine_bytes == stats_.quarantine_bytes) return {};
  return {"ASIDE-1: the quarantine's bytes"};
}

}  // namespace holdfast::tier
