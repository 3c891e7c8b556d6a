// Small texts that the views and the answers of `holdfast cache` are made of.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "tier/disk_store.h"

namespace holdfast::cli {

inline constexpr std::size_t kShortHex = 12;  // of keys and spaces in tables; ls --json has all
inline constexpr std::size_t kLineCharacters = 76;

// "just now", "5 minutes ago", "3 days ago". REQUIRES: 0 <= now_ms; `then_ms` may be anything.
[[nodiscard]] std::string ago(std::int64_t then_ms, std::int64_t now_ms);
// "1,200".
[[nodiscard]] std::string number_text(std::uint64_t value);
// "1 blob", "1,200 blobs".
[[nodiscard]] std::string counted(std::uint64_t count, const std::string& noun);
// In one line of at most `characters`, without what drives a terminal.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t characters);
// With spaces behind it, up to `width` characters.
[[nodiscard]] std::string padded(std::string text, std::size_t width);

// The model that a note names, for people; and the whole note, for programs.
[[nodiscard]] std::string model_of(const std::optional<tier::SpaceNote>& note);
[[nodiscard]] nlohmann::json note_json(const std::optional<tier::SpaceNote>& note);
// With everything beyond ASCII escaped, and an end of line.
[[nodiscard]] std::string json_text(const nlohmann::json& json);

}  // namespace holdfast::cli
