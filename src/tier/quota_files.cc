#include "tier/quota_files.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace holdfast::tier {
namespace {

class QuotaFile final : public OpenFile {
 public:
  QuotaFile(std::unique_ptr<OpenFile> file, ByteCount room) : file_(std::move(file)), room_(room) {}

  [[nodiscard]] ByteCount size() const override { return file_->size(); }
  [[nodiscard]] Io<std::size_t> append(Pieces pieces) override {
    ByteCount wanted = 0;
    for (const auto piece : pieces) wanted += piece.size();
    if (wanted > room_) return Io<std::size_t>::failed(EDQUOT);
    const auto taken = file_->append(pieces);
    if (taken.ok()) room_ -= std::min<ByteCount>(room_, taken.value);
    return taken;
  }
  [[nodiscard]] Io<std::size_t> read_at(ByteCount offset, std::span<std::byte> out) override {
    return file_->read_at(offset, out);
  }
  [[nodiscard]] int sync() override { return file_->sync(); }

 private:
  const std::unique_ptr<OpenFile> file_;
  ByteCount room_;
};

class QuotaFiles final : public FileSystem {
 public:
  QuotaFiles(std::shared_ptr<FileSystem> files, ByteCount bytes_max)
      : files_(std::move(files)), bytes_max_(bytes_max) {}

  [[nodiscard]] std::string root() const override { return files_->root(); }
  [[nodiscard]] Io<std::unique_ptr<OpenFile>> create(const std::string& path) override {
    const auto held = bytes_held();
    if (!held.ok()) return Io<std::unique_ptr<OpenFile>>::failed(held.error);
    auto file = files_->create(path);
    if (!file.ok()) return file;
    const ByteCount room = bytes_max_ - std::min(bytes_max_, held.value);
    return std::unique_ptr<OpenFile>(std::make_unique<QuotaFile>(std::move(file.value), room));
  }
  [[nodiscard]] Io<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    return files_->open(path);
  }
  [[nodiscard]] int rename(const std::string& from, const std::string& to) override {
    return files_->rename(from, to);
  }
  [[nodiscard]] int remove(const std::string& path) override { return files_->remove(path); }
  [[nodiscard]] int make_folder(const std::string& path) override {
    return files_->make_folder(path);
  }
  [[nodiscard]] int sync_folder(const std::string& path) override {
    return files_->sync_folder(path);
  }
  [[nodiscard]] Io<std::vector<FolderEntry>> list(const std::string& path) override {
    return files_->list(path);
  }
  [[nodiscard]] Io<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    return files_->lock(path);
  }
  [[nodiscard]] Io<ByteCount> free_bytes() override { return files_->free_bytes(); }

 private:
  [[nodiscard]] Io<ByteCount> bytes_held() {
    const auto entries = uninterrupted([&] { return files_->list(""); });
    if (!entries.ok()) return Io<ByteCount>::failed(entries.error);
    ByteCount bytes = 0;
    for (const FolderEntry& entry : entries.value) bytes += entry.bytes;
    return bytes;
  }

  const std::shared_ptr<FileSystem> files_;
  const ByteCount bytes_max_;
};

}  // namespace

std::unique_ptr<FileSystem> with_quota(std::shared_ptr<FileSystem> files, ByteCount bytes_max) {
  return std::make_unique<QuotaFiles>(std::move(files), bytes_max);
}

}  // namespace holdfast::tier
