#include "tier/space_note.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace holdfast::tier {

namespace {

using Json = nlohmann::json;

// Escaped, a byte takes six at most: both texts fit kNoteBytesMax whatever they hold.
constexpr std::size_t kModelBytesMax = 300;
constexpr std::size_t kSettingsBytesMax = 2000;
static_assert(6 * (kModelBytesMax + kSettingsBytesMax) + 100 < kNoteBytesMax);

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string note_text(const SpaceNote& note) {
  const Json json = {{"model", note.model.substr(0, kModelBytesMax)},
                     {"settings", note.settings.substr(0, kSettingsBytesMax)},
                     {"tenant", note.tenant}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<SpaceNote> parse_note(std::string_view text) {
  if (text.size() > kNoteBytesMax) return std::nullopt;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  SpaceNote note{text_at(json, "model"), text_at(json, "settings"), false};
  if (note.model.empty() && note.settings.empty()) return std::nullopt;
  const auto tenant = json.find("tenant");
  note.tenant = tenant != json.end() && tenant->is_boolean() && tenant->get<bool>();
  return note;
}

std::string hex_of(SpaceKey space) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const std::uint64_t word : {space.high, space.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) hex += kDigits[(word >> shift) & 0xf];
  }
  return hex;
}

std::optional<SpaceKey> space_from_hex(std::string_view text) {
  std::array<std::uint64_t, 2> words{};
  if (text.size() != 32) return std::nullopt;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool letter = c >= 'a' && c <= 'f';
    if (!letter && (c < '0' || c > '9')) return std::nullopt;
    words[at / 16] =
        words[at / 16] << 4 | static_cast<std::uint64_t>(letter ? c - 'a' + 10 : c - '0');
  }
  return SpaceKey{words[0], words[1]};
}

}  // namespace holdfast::tier
