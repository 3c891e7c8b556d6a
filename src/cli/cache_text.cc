#include "cli/cache_text.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cli/chat_view.h"
#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string ago(std::int64_t then_ms, std::int64_t now_ms) {
  if (then_ms < 0) return "at no known time";  // so that nothing overflows below
  const std::int64_t seconds = now_ms > then_ms ? (now_ms - then_ms) / 1000 : 0;
  struct Unit {
    std::int64_t seconds;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits = {
      {{31'557'600, "year"}, {86'400, "day"}, {3600, "hour"}, {60, "minute"}}};
  for (const Unit& unit : kUnits) {
    if (seconds >= unit.seconds)
      return counted(static_cast<std::uint64_t>(seconds / unit.seconds), unit.name) + " ago";
  }
  return "just now";
}

std::string counted(std::uint64_t count, const std::string& noun) {
  return number_text(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string one_line(std::string_view text, std::size_t characters) {
  std::string line = harmless(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  if (characters_in(line) <= characters) return line;
  std::size_t at = 0;
  for (std::size_t seen = 0; at < line.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(line[at]) & 0xC0U) != 0x80U;
    if (begins && ++seen > characters - 3) break;
  }
  return line.substr(0, at) + "...";
}

std::string number_text(std::uint64_t value) {
  return with_commas(static_cast<std::int64_t>(value));
}

std::string padded(std::string text, std::size_t width) {
  const std::size_t size = characters_in(text);
  return text + std::string(width > size ? width - size : 0, ' ');
}

std::string model_of(const std::optional<tier::SpaceNote>& note) {
  if (!note || note->model.empty()) return "(unknown)";
  return note->model;
}

Json note_json(const std::optional<tier::SpaceNote>& note) {
  if (!note) return nullptr;
  return {{"model", note->model}, {"settings", note->settings}, {"tenant", note->tenant}};
}

std::string json_text(const Json& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::cli
