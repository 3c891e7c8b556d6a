// The outside of a recording: what it begins with, and frames that are verified one by one.
//
//   "HFREC" version CR LF | length checksum payload | length checksum payload | ...
//
// The first payload is the header, each later one holds whole events. A frame's checksum also
// covers the checksum of the frame before, so a frame that is missing, doubled or foreign is
// noticed.
//
// docs/formats/recording.md is the contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::record {

inline constexpr std::uint8_t kRecordingVersion = 1;
inline constexpr std::size_t kFrameBytesMax = std::size_t{64} << 20U;

// What a file begins with.
[[nodiscard]] std::string recording_magic();

class FrameWriter {
 public:
  // The payload with its length and checksum before it. REQUIRES: 1 .. kFrameBytesMax bytes.
  [[nodiscard]] std::string frame(std::string_view payload);

 private:
  std::uint64_t checksum_ = 0;  // of the frame before
};

class FrameReader {
 public:
  // REQUIRES: the bytes outlive it.
  explicit FrameReader(std::string_view file) : file_(file) {}

  // Reads the magic bytes. An Error: this is not a recording, or of a version that we cannot read.
  [[nodiscard]] Result<void> open();
  // The next payload; nothing at the end of the file, or where it is damaged.
  [[nodiscard]] std::optional<std::string_view> next();
  // Why there is no next one, for people; empty: the file ends after a whole frame.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // Where the next frame begins.
  [[nodiscard]] std::size_t offset() const { return at_; }

 private:
  std::string_view file_;
  std::size_t at_ = 0;
  std::uint64_t checksum_ = 0;
  std::string trouble_;
};

}  // namespace holdfast::record
