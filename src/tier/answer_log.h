// AnswerLog: the token ids of answers, in files of a cache folder, so that a conversation that
// comes back after a restart is tokenised as it was said (cache/token_history.h).
//
//   answers/00000003.hfa   read when the log is opened; then rewritten, without what has
//   answers/00000004.hfa   been forgotten, under the next number; later answers are appended
//
// The format is in docs/formats/cache-folder.md. Each record is verified; reading a file ends
// at the first that is damaged or cut short, as the last one of a process that was killed may
// be. A lost record costs time: a prompt is tokenised afresh.
//
// One owning thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "state/space.h"
#include "tier/file_system.h"

namespace holdfast::tier {

// What a client may call an answer by (cache/answer_ids.h). All zeros: it has no name.
struct AnswerName {
  static constexpr std::size_t kBytes = 12;
  std::array<std::byte, kBytes> bytes{};
  explicit operator bool() const { return *this != AnswerName{}; }
  bool operator==(const AnswerName&) const = default;
};

struct RememberedAnswer {
  std::uint64_t key = 0;  // of its conversation, up to and with it
  SpaceKey space;
  std::uint64_t opening_bytes = 0;  // of its turn's text, before the answer
  std::uint64_t text_bytes = 0;
  Tokens ids;
  std::uint64_t opening_hash = 0;  // of those bytes
  AnswerName name = {};
  bool operator==(const RememberedAnswer&) const = default;
};

// One record, as a file holds it.
[[nodiscard]] std::vector<std::byte> encode_answer(const RememberedAnswer& answer);
// Records of the first version have no names.
enum class AnswerFormat { kUnnamed, kNamed };
// Takes records from the front for as long as they are whole; any bytes may be given.
[[nodiscard]] std::vector<RememberedAnswer> decode_answers(
    std::span<const std::byte> bytes, AnswerFormat format = AnswerFormat::kNamed);

class AnswerLog {
 public:
  static constexpr ByteCount kFileBytesMax = ByteCount{64} << 20;

  // Hands over what is there, oldest first; what cannot be read is left out. A reader's part.
  static void read(FileSystem& files, const std::function<void(RememberedAnswer)>& take);

  // Removes all files of answers, and says how many bytes they had. A writer's part.
  // REQUIRES: no log of this folder is written to any more.
  [[nodiscard]] static Result<ByteCount> erase(FileSystem& files);

  // Begins a new file with these answers, and removes the older files. A writer's part.
  // REQUIRES: `files` outlives it.
  [[nodiscard]] static Result<std::unique_ptr<AnswerLog>> begin(
      FileSystem& files, std::span<const RememberedAnswer> answers);

  // False: the file has grown too large. It is time for the next begin().
  [[nodiscard]] bool has_room_for(const RememberedAnswer& answer) const;
  // In the hands of the system when it returns: a crash of this process does not lose it. After
  // an Error the file may end in a part of a record, and takes no more: the next begin() is due.
  [[nodiscard]] Result<void> append(const RememberedAnswer& answer);

 private:
  explicit AnswerLog(std::unique_ptr<OpenFile> file, ByteCount size)
      : file_(std::move(file)), size_(size) {}
  std::unique_ptr<OpenFile> file_;
  ByteCount size_ = 0;
};

}  // namespace holdfast::tier
