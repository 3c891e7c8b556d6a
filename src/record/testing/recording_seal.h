// Makes the checksums of a mutated recording fit, so that tests and fuzzing get behind them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "record/recording_frames.h"

namespace holdfast::record {

// Frames as their lengths say, the last one cut where the bytes end.
[[nodiscard]] inline std::string sealed_recording(std::string_view file) {
  constexpr std::size_t kFront = 12;
  const std::string magic = recording_magic();
  std::string sealed = magic;
  FrameWriter frames;
  for (std::size_t at = magic.size(); at + kFront < file.size();) {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      length |= static_cast<std::uint64_t>(static_cast<unsigned char>(file[at + i])) << (8 * i);
    }
    at += kFront;
    const auto payload = file.substr(at, std::clamp<std::size_t>(length, 1, file.size() - at));
    sealed += frames.frame(payload);
    at += payload.size();
  }
  return sealed;
}

}  // namespace holdfast::record
