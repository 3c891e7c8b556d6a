// What a request has that only its maker's servers run, for the receipt.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::api {

// Kinds of tools and items: "web_search". A client may send anything, so that both are bounded.
using SkippedKinds = std::vector<std::string>;

inline void note_skipped(SkippedKinds& kinds, std::string_view kind) {
  constexpr std::size_t kKindsMax = 64;
  constexpr std::size_t kBytesMax = 64;
  if (kinds.size() < kKindsMax) kinds.emplace_back(kind.substr(0, kBytesMax));
}

}  // namespace holdfast::api
