// PromptSection: a part of a prompt under the name that its client knows it by.
//
// Spans (state/tokens.h) follow the template, which joins messages, adds the tools to the first
// one and opens the answer. A client that is told of "message 3" looks at its own list.
#pragma once

#include <span>
#include <string>

#include "state/tokens.h"

namespace holdfast::cache {

struct PromptSection {
  TokenPos begin = 0;          // it ends where the next one begins
  std::string name = {};       // "messages[3]", "input[2]", "system", "tools"; empty: the answer
  int index = -1;              // in the client's list; -1: it is not in one
  Role role = Role::kUnknown;  // as the client has it
  bool has_reasoning = false;  // the client sent thoughts with it
  bool in_last_turn = false;   // no message of the user follows it
};

inline constexpr const char* kToolsSection = "tools";

// "messages[3] (assistant)", "tools".
[[nodiscard]] inline std::string section_text(const PromptSection& section) {
  if (section.index < 0) return section.name;
  return section.name + " (" + role_name(section.role) + ")";
}

// The one that `position` lies in; null where none does.
[[nodiscard]] inline const PromptSection* section_at(std::span<const PromptSection> sections,
                                                     TokenPos position) {
  const PromptSection* found = nullptr;
  for (const PromptSection& section : sections) {
    if (section.begin > position) break;
    found = &section;
  }
  return found;
}

}  // namespace holdfast::cache
