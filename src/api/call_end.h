// ends_in_call: whether the last thing in the text of a reply is a complete call of a tool.
#pragma once

#include <string_view>

#include "engine/text.h"

namespace holdfast::api {

// White space at the end does not count. White space inside of a call's arguments may be all that
// a model writes too, and there the call is not complete: its arguments are no JSON yet.
[[nodiscard]] bool ends_in_call(const engine::TextModel& text, const engine::ReplyFormat& format,
                                std::string_view reply);

}  // namespace holdfast::api
