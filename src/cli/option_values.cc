#include "cli/option_values.h"

#include <cstdio>
#include <limits>

namespace holdfast::cli {

std::optional<std::int64_t> count_of(std::string_view text) {
  std::int64_t unit = 1;
  if (text.ends_with('k') || text.ends_with('K')) unit = 1024;
  if (text.ends_with('m') || text.ends_with('M')) unit = 1024 * 1024;
  if (unit > 1) text.remove_suffix(1);
  const auto count = number_of<std::int64_t>(text);
  constexpr std::int64_t kSafe = std::numeric_limits<std::int64_t>::max() >> 20;
  if (!count || *count > kSafe || *count < -kSafe) return std::nullopt;
  return *count * unit;
}

std::optional<std::uint64_t> bytes_of(std::string_view text) {
  constexpr std::string_view kUnits = "kmgt";
  constexpr double kMost = 9e18;
  if (text.ends_with("iB") || text.ends_with("ib")) {
    text.remove_suffix(2);
    if (text.empty() || (text.back() >= '0' && text.back() <= '9')) return std::nullopt;
  } else if (text.ends_with('B') || text.ends_with('b')) {
    text.remove_suffix(1);
  }
  double unit = 1;
  if (!text.empty()) {
    const auto at = kUnits.find(static_cast<char>(text.back() | 0x20));
    if (at != std::string_view::npos) {
      unit = static_cast<double>(std::uint64_t{1} << (10 * (at + 1)));
      text.remove_suffix(1);
    }
  }
  const auto number = number_of<double>(text);
  if (!number || *number < 0 || *number * unit > kMost) return std::nullopt;
  return static_cast<std::uint64_t>(*number * unit);
}

std::optional<bool> truth_of(std::string_view text) {
  for (const char* yes : {"on", "true", "1", "yes", "enabled"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"off", "false", "0", "no", "disabled"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::string show_number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

}  // namespace holdfast::cli
