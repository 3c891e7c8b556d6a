// RealFiles: the system's files below one folder.
//
// Invariants, verified by the tests of the same numbers (real_files_test.cc):
//   REALFS-1  nothing outside the folder is opened or written: every part of a path is opened
//             relative to the one before, and links are refused (ELOOP, ENOTDIR)
//   REALFS-2  what it creates is private: files 0600, folders 0700
//   REALFS-3  a pipe, a device or a folder is not opened as a file, and does not block
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "tier/file_system.h"

namespace holdfast::tier {

class RealFiles final : public FileSystem {
 public:
  // The folder itself may be reached through links: that is its owner's choice. With
  // `create` it and the folders above it are made where missing. kNotFound without.
  enum class Missing { kCreate, kFail };
  [[nodiscard]] static Result<std::unique_ptr<RealFiles>> open(const std::string& folder,
                                                               Missing missing);
  ~RealFiles() override;
  RealFiles(const RealFiles&) = delete;
  RealFiles& operator=(const RealFiles&) = delete;

  // Absolute, without links.
  [[nodiscard]] std::string root() const override { return root_; }
  // Whether the folder that was opened is still the one at root().
  [[nodiscard]] bool still_there() const;

  [[nodiscard]] Io<std::unique_ptr<OpenFile>> create(const std::string& path) override;
  [[nodiscard]] Io<std::unique_ptr<OpenFile>> open(const std::string& path) override;
  [[nodiscard]] int rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] int remove(const std::string& path) override;
  [[nodiscard]] int make_folder(const std::string& path) override;
  [[nodiscard]] int sync_folder(const std::string& path) override;
  [[nodiscard]] Io<std::vector<FolderEntry>> list(const std::string& path) override;
  [[nodiscard]] Io<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  [[nodiscard]] Io<ByteCount> free_bytes() override;

 private:
  RealFiles(int folder, std::string root) : folder_(folder), root_(std::move(root)) {}
  const int folder_;
  const std::string root_;
};

}  // namespace holdfast::tier
