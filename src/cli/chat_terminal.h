// The real terminal of `holdfast chat`: line editing with a history, colours,
// Ctrl-C.
#pragma once

#include <memory>

#include "cli/chat.h"

namespace holdfast::cli {

// From now on Ctrl-C no longer ends the program but is seen by interrupted(), and
// bytes count as UTF-8. REQUIRES: called once, before other threads start.
[[nodiscard]] std::unique_ptr<ChatIo> open_terminal(const Environment& env);

}  // namespace holdfast::cli
