// Chat templates that people call by a name, as llama-server does with --chat-template.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::llama {

// The template that `given` names, in Jinja; `given` itself if it is no name. An Error: it is a
// name that the library knows and that there is no Jinja for here.
[[nodiscard]] Result<std::string> template_named(std::string_view given);

}  // namespace holdfast::llama
