#include "state/parts.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace holdfast {

const char* part_kind_name(PartKind kind) {
  switch (kind) {
    case PartKind::kExtent: return "extent";
    case PartKind::kWindow: return "window";
    case PartKind::kSnapshot: return "snapshot";
  }
  return "unknown";
}

const Part* StateShape::find(PartKind kind) const {
  const auto it = std::ranges::find(parts, kind, &Part::kind);
  return it == parts.end() ? nullptr : &*it;
}

bool StateShape::truncates_anywhere() const {
  return std::ranges::all_of(parts, [](const Part& p) { return p.kind == PartKind::kExtent; });
}

ByteCount StateShape::bytes_per_token() const {
  ByteCount sum = 0;
  for (const Part& part : parts) sum += part.bytes_per_token;
  return sum;
}

ByteCount StateShape::bytes_per_snapshot() const {
  const Part* snapshot = find(PartKind::kSnapshot);
  return snapshot ? snapshot->bytes_fixed : 0;
}

std::string StateShape::describe() const {
  std::string text;
  for (const Part& part : parts) {
    if (!text.empty()) text += ", ";
    switch (part.kind) {
      case PartKind::kExtent:
        text += "attention " + human_bytes(part.bytes_per_token) + "/token";
        break;
      case PartKind::kWindow:
        text += "sliding window of " + std::to_string(part.window) + ", " +
                human_bytes(part.bytes_per_token) + "/token";
        break;
      case PartKind::kSnapshot:
        text += "recurrent " + human_bytes(part.bytes_fixed) + "/snapshot";
        break;
    }
  }
  return text.empty() ? "none" : text;
}

std::string human_bytes(ByteCount bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

}  // namespace holdfast
