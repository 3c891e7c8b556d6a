// The values of options as people write them: numbers, counts, on and off.
//
// nullopt means that the text is no such value. No whitespace is skipped.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace holdfast::cli {

// The whole text is the number; "+3" is 3, and no number is infinite.
template <typename T>
[[nodiscard]] std::optional<T> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

// "32k" is 32 x 1024, "1m" is 1024 x 1024.
[[nodiscard]] std::optional<std::int64_t> count_of(std::string_view text);
// "500M", "1.5g", "10GiB", "4096": bytes, in units of 1024.
[[nodiscard]] std::optional<std::uint64_t> bytes_of(std::string_view text);
// on, true, 1, yes, enabled, and their opposites.
[[nodiscard]] std::optional<bool> truth_of(std::string_view text);
// Six digits at most: "0.95".
[[nodiscard]] std::string show_number(double value);

}  // namespace holdfast::cli
