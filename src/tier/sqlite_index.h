// SqliteIndex: the index in SQLite, a file of the cache folder beside the blobs.
//
// Journal mode WAL and `synchronous = NORMAL`: a change is one append, a crash may lose the
// latest changes and never the file. Readers in other processes see each change whole.
// What the file says is verified row by row; a row that cannot be is as if it were not
// there.
//
// The connection is SQLite's own, on the real disk: the path is the root of `files`, and
// SQLite follows no link from there.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "tier/blob_index.h"
#include "tier/file_system.h"
#include "tier/sqlite_connection.h"

namespace holdfast::tier {

class SqliteIndex final : public BlobIndex {
 public:
  inline static const std::string kFile = "index.sqlite";

  // A reader gets what is there: kNotFound if nothing is. A writer gets an index in any
  // case but those where none can be made; one that is damaged or of another version is
  // replaced by an empty one.
  // REQUIRES: `files` outlives it; its root is a real path; one writer at a time.
  [[nodiscard]] static Result<std::unique_ptr<BlobIndex>> open(FileSystem& files, StoreRole role);
  ~SqliteIndex() override;

  [[nodiscard]] Result<void> put(std::span<const IndexEntry> entries) override;
  [[nodiscard]] Result<void> erase(std::span<const BlobKey> keys) override;
  [[nodiscard]] Result<void> touch(std::span<const BlobKey> keys, std::int64_t now_ms) override;
  [[nodiscard]] Result<void> revalue(std::span<const BlobWorth> worths,
                                     std::int64_t now_ms) override;
  [[nodiscard]] Result<std::vector<IndexEntry>> along(SpaceKey space,
                                                      std::span<const PathName> anchors) override;
  [[nodiscard]] Result<std::vector<BlobSummary>> list() override;
  [[nodiscard]] Result<std::vector<SpaceTotal>> totals() override;
  [[nodiscard]] Result<void> clear() override;

 private:
  SqliteIndex(FileSystem& files, StoreRole role) : files_(files), role_(role) {}
  [[nodiscard]] Result<void> connect();
  [[nodiscard]] Result<void> prepare_all();
  [[nodiscard]] Result<void> set_up();
  void disconnect();
  [[nodiscard]] Result<void> put_one(const IndexEntry& entry);

  FileSystem& files_;
  const StoreRole role_;
  SqliteConnection connection_;  // before its statements
  SqliteStatement put_, erase_, touch_, revalue_, along_, list_, totals_;
};

}  // namespace holdfast::tier
