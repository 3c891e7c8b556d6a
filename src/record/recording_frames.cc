#include "record/recording_frames.h"

#include <span>

#include "base/check.h"
#include "base/hash.h"

namespace holdfast::record {

namespace {

constexpr std::string_view kName = "HFREC";
constexpr std::size_t kMagicBytes = 8;
constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kFrontBytes = kLengthBytes + 8;

std::uint64_t checksum_of(std::string_view payload, std::uint64_t before) {
  return hash_bytes(std::as_bytes(std::span(payload)), before);
}

void put(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

std::uint64_t get(std::string_view from, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(from[i])) << (8 * i);
  }
  return value;
}

}  // namespace

std::string recording_magic() {
  return std::string(kName) + static_cast<char>(kRecordingVersion) + "\r\n";
}

std::string FrameWriter::frame(std::string_view payload) {
  CHECK(!payload.empty() && payload.size() <= kFrameBytesMax);
  checksum_ = checksum_of(payload, checksum_);
  std::string out;
  out.reserve(kFrontBytes + payload.size());
  put(out, payload.size(), kLengthBytes);
  put(out, checksum_, 8);
  out += payload;
  return out;
}

Result<void> FrameReader::open() {
  const auto no_recording = [](std::string message) {
    return Error{ErrorCode::kInvalidArgument, std::move(message), ""};
  };
  if (!file_.starts_with(kName) || file_.size() < kMagicBytes) {
    return no_recording(
        "This is no recording: it does not begin with HFREC. `holdfast serve --record FILE` "
        "makes one.");
  }
  const auto version = static_cast<unsigned char>(file_[kName.size()]);
  if (version != kRecordingVersion) {
    return no_recording("This recording has version " + std::to_string(version) +
                        "; this program reads version " + std::to_string(kRecordingVersion) +
                        ". Use the holdfast that made it.");
  }
  if (file_.substr(kName.size() + 1, 2) != "\r\n") {
    return no_recording(
        "The recording was changed on its way, as text is: send it as a binary file.");
  }
  at_ = kMagicBytes;
  return {};
}

std::optional<std::string_view> FrameReader::next() {
  const std::size_t left = file_.size() - at_;
  const std::string where = " at byte " + std::to_string(at_);
  if (!trouble_.empty() || left == 0) return std::nullopt;
  if (left < kFrontBytes) {
    trouble_ = "the file is cut off" + where;
    return std::nullopt;
  }
  const auto length = static_cast<std::size_t>(get(file_.substr(at_), kLengthBytes));
  if (length == 0 || length > kFrameBytesMax) {
    trouble_ =
        "the file is damaged" + where + ": no frame has " + std::to_string(length) + " bytes";
    return std::nullopt;
  }
  if (length > left - kFrontBytes) {
    trouble_ = "the file is cut off in the frame" + where;
    return std::nullopt;
  }
  const std::string_view payload = file_.substr(at_ + kFrontBytes, length);
  const std::uint64_t checksum = checksum_of(payload, checksum_);
  if (checksum != get(file_.substr(at_ + kLengthBytes), 8)) {
    trouble_ = "the frame" + where + " is damaged: its checksum does not fit";
    return std::nullopt;
  }
  checksum_ = checksum;
  at_ += kFrontBytes + length;
  return payload;
}

}  // namespace holdfast::record
