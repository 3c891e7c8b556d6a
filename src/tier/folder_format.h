// Whose a folder is, and what every cache folder has: a FORMAT that names its version, and the
// folders blobs/, tmp/ and quarantine/ (docs/formats/cache-folder.md).
#pragma once

#include <memory>

#include "base/result.h"
#include "tier/blob_store.h"
#include "tier/file_system.h"

namespace holdfast::tier {

enum class FolderKind {
  kOurs,
  kNew,  // empty: a cache could be made of it
};
// kUnsupported: it is not ours, or of another version. Changes nothing.
[[nodiscard]] Result<FolderKind> inspect_folder(FileSystem& files);
// Afterwards it is a cache folder, whole and synced. REQUIRES: its lock is ours.
[[nodiscard]] Result<void> prepare_folder(FileSystem& files, FolderKind kind);
// Takes the folder for writing, and makes it a cache folder if it is new. No lock: the folder can
// only be read, because another process writes there, because nobody may, or because a reader
// was wanted. kNotFound: it was to be read, and there is no cache. Other errors as above.
[[nodiscard]] Result<std::unique_ptr<FileLock>> take_folder(FileSystem& files, StoreRole wanted);
// Somebody has cleaned up here while we run. Afterwards the folder can be used again, as far
// as the system allows; what was in it is missed when it is asked for.
void mend_folder(FileSystem& files);

}  // namespace holdfast::tier
