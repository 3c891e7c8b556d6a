// FileSystem: the few things that the disk tier asks of a file system, below one root.
//
// It answers as the system does: with an errno, with fewer bytes than were asked for.
// RealFiles is the system's (real_files.h); SimulatedFiles loses power (simulated_files.h).
// The functions at the end make whole reads and writes of it, and Errors of numbers.
//
// Paths are relative to the root, "blobs/3f/3fa9.hfb"; "" is the root itself.
// REQUIRES of every path: no "..", no "." and no empty part.
//
// What a crash leaves: the bytes of a file as of its last sync, the names in a folder as
// of its last sync_folder; of what came later any part, in any order.
//
// One owning thread, as for what is opened through it.
#pragma once

#include <cerrno>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tier/blob.h"

namespace holdfast::tier {

// A value, or the errno that says why there is none.
template <typename T>
struct Io {
  Io(T made) : value(std::move(made)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] static Io failed(int number) { return Io(T{}, number); }
  [[nodiscard]] bool ok() const { return error == 0; }

  T value{};
  int error = 0;

 private:
  Io(T made, int number) : value(std::move(made)), error(number) {}
};

using Pieces = std::span<const std::span<const std::byte>>;

class OpenFile {
 public:
  virtual ~OpenFile() = default;
  // As of when it was opened.
  [[nodiscard]] virtual ByteCount size() const = 0;
  // How many bytes were taken, from the first on: at least one, or an errno.
  [[nodiscard]] virtual Io<std::size_t> append(Pieces pieces) = 0;
  // How many bytes were read; 0 at the end of the file.
  [[nodiscard]] virtual Io<std::size_t> read_at(ByteCount offset, std::span<std::byte> out) = 0;
  [[nodiscard]] virtual int sync() = 0;
};

// Held while it lives.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

struct FolderEntry {
  enum class Kind { kFile, kFolder, kOther };  // a link is kOther
  std::string name;
  Kind kind = Kind::kFile;
  ByteCount bytes = 0;  // of a file
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // The root, for people.
  [[nodiscard]] virtual std::string root() const = 0;

  // For appending; the file must not exist. Mode 0600.
  [[nodiscard]] virtual Io<std::unique_ptr<OpenFile>> create(const std::string& path) = 0;
  // For reading; a plain file only, never a link.
  [[nodiscard]] virtual Io<std::unique_ptr<OpenFile>> open(const std::string& path) = 0;
  // Takes the place of what is there.
  [[nodiscard]] virtual int rename(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual int remove(const std::string& path) = 0;
  // Mode 0700. EEXIST where it, or anything else of that name, is there.
  [[nodiscard]] virtual int make_folder(const std::string& path) = 0;
  [[nodiscard]] virtual int sync_folder(const std::string& path) = 0;
  [[nodiscard]] virtual Io<std::vector<FolderEntry>> list(const std::string& path) = 0;
  // EWOULDBLOCK where another process, or another holder, has it.
  [[nodiscard]] virtual Io<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
  // What may still be written.
  [[nodiscard]] virtual Io<ByteCount> free_bytes() = 0;
};

// --- whole things ------------------------------------------------------------------

// "blobs/3f cannot be listed: Input/output error"; kNotFound for ENOENT, kTooLarge for
// EDQUOT, else kIo.
[[nodiscard]] Error io_error(const std::string& what, int number);

// Calls until it is not interrupted. `call` answers with an errno or an Io.
template <typename Call>
[[nodiscard]] auto uninterrupted(Call&& call) {
  for (;;) {
    auto answer = call();
    if constexpr (std::is_same_v<decltype(answer), int>) {
      if (answer != EINTR) return answer;
    } else {
      if (answer.error != EINTR) return answer;
    }
  }
}

// All of the pieces. Returns an errno.
[[nodiscard]] int append_all(OpenFile& file, Pieces pieces);
// A new file with these bytes, synced. What was begun is removed when it fails.
[[nodiscard]] int write_file(FileSystem& files, const std::string& path, Pieces pieces);

// A file's bytes, for read_blob().
class FileSource final : public ByteSource {
 public:
  explicit FileSource(OpenFile& file) : file_(file) {}
  [[nodiscard]] ByteCount size() const override { return file_.size(); }
  [[nodiscard]] Result<void> read(ByteCount offset, std::span<std::byte> out) override;

 private:
  OpenFile& file_;
};

// At most `bytes_max` bytes from the beginning of a file.
[[nodiscard]] Result<std::string> read_text(FileSystem& files, const std::string& path,
                                            std::size_t bytes_max);

}  // namespace holdfast::tier
