// CacheFolder: a DiskStore on the real disk, as a server has it: files, index and store in
// one, in the order in which they need one another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "tier/disk_store.h"
#include "tier/real_files.h"
#include "tier/sqlite_index.h"

namespace holdfast::tier {

class CacheFolder {
 public:
  // A writer makes the folder where it is missing. Errors as those of DiskStore::open().
  // `options.make_index` is given here.
  [[nodiscard]] static Result<CacheFolder> open(const std::string& folder, DiskOptions options,
                                                std::int64_t now_ms) {
    const bool creates = options.role == StoreRole::kWriter;
    auto files =
        RealFiles::open(folder, creates ? RealFiles::Missing::kCreate : RealFiles::Missing::kFail);
    if (!files) return files.error();
    options.make_index = [on = files->get()](StoreRole role) {
      return SqliteIndex::open(*on, role);
    };
    auto store = DiskStore::open(**files, std::move(options), now_ms);
    if (!store) return store.error();
    return CacheFolder(std::move(*files), std::move(*store));
  }

  [[nodiscard]] FileSystem& files() const { return *files_; }
  DiskStore* operator->() const { return store_.get(); }
  DiskStore& operator*() const { return *store_; }
  // False: someone has moved or deleted the folder. Everything is a miss or an Error from then
  // on; open it again.
  [[nodiscard]] bool still_there() const { return files_->still_there(); }

 private:
  CacheFolder(std::unique_ptr<RealFiles> files, std::unique_ptr<DiskStore> store)
      : files_(std::move(files)), store_(std::move(store)) {}

  std::unique_ptr<RealFiles> files_;
  std::unique_ptr<DiskStore> store_;
};

}  // namespace holdfast::tier
