// System messages in the middle of a conversation, for templates that do not take them.
//
// Agents send instructions between turns. A template may write them where they stand,
// raise an error, leave them out or move them to the front; the last would change the
// front of the prompt, and all of it would be read again. So what a template does is
// tried once, and where it does not write them in place they become what coding agents
// know from user messages: <system-reminder>...</system-reminder>.
//
// Pure functions. JSON is text in the shape of ChatInput::messages_json.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace holdfast::engine {

enum class SystemTurns {
  kInPlace,     // the template writes them where they stand
  kAsUser,      // a user message of their own
  kInsideUser,  // a part of the user message before or after, because roles have to
                // alternate; user messages that follow one another are joined too
};

// The prompt that a template makes of messages; nullopt when it refuses them.
using TryTemplate = std::function<std::optional<std::string>(const std::string& messages_json)>;

// The first of the three with which a probe conversation comes out in its order;
// kAsUser when none does.
[[nodiscard]] SystemTurns system_turns_of(const TryTemplate& render);

// The same conversation without system messages but one at the front. Those that
// follow one another there become one; the others stay at their place as `turns` says.
[[nodiscard]] std::string with_system_turns(const std::string& messages_json, SystemTurns turns);

}  // namespace holdfast::engine
