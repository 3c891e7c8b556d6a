// SpaceNote: what a space is, for people (docs/formats/cache-folder.md, "Notes on spaces").
//
// Informational: which states are used is not decided by a note (cache/space_facts.h reads its
// settings back, to say what differs). Any text may be given to parse_note(),
// and what it accepts may still hold control characters: whoever prints it leaves them out.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "state/space.h"

namespace holdfast::tier {

struct SpaceNote {
  std::string model;     // a file's name
  std::string settings;  // "kv=f16/f16 grid=512"
  bool tenant = false;   // requests came with a key or a salt; neither is in a note
  bool operator==(const SpaceNote&) const = default;
};

inline constexpr std::size_t kNoteBytesMax = 16 << 10;

// At most kNoteBytesMax: texts that are longer than they may be are cut.
[[nodiscard]] std::string note_text(const SpaceNote& note);
// Nothing for what is not a note.
[[nodiscard]] std::optional<SpaceNote> parse_note(std::string_view text);

// 32 digits, high half first: the name of a space for people and of its note.
[[nodiscard]] std::string hex_of(SpaceKey space);
[[nodiscard]] std::optional<SpaceKey> space_from_hex(std::string_view text);

}  // namespace holdfast::tier
