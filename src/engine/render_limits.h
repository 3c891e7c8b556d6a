// What rendering one chat may cost. Messages and tools come from a client, and a template's work
// grows with them in ways that only the template knows, so everything is counted and refused beyond
// these limits.
//
// The defaults are some ten times what the longest sessions of coding agents need.
// `--grammar-limit N`, which multiplies those of grammars (grammar_limits.h), multiplies these too.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/result.h"
#include "engine/text.h"

namespace holdfast::engine {

struct RenderLimits {
  int factor = 1;

  // JSON text of messages, tools and template arguments together.
  [[nodiscard]] std::size_t bytes() const { return (std::size_t{16} << 20U) * scale(); }
  // JSON values in them: a message has three, or more.
  [[nodiscard]] std::size_t values() const { return std::size_t{200'000} * scale(); }
  // The parser of replies knows each of them, in time that grows with their square.
  [[nodiscard]] std::size_t tools() const { return std::size_t{512} * scale(); }
  // Statements and expressions of the template: a message takes about 150, and ten thousand of them
  // two seconds.
  [[nodiscard]] std::size_t steps() const { return std::size_t{1'500'000} * scale(); }
  // CPU time of the template, for one whose single steps are slow.
  [[nodiscard]] std::chrono::seconds time() const { return std::chrono::seconds(10) * factor; }

 private:
  [[nodiscard]] std::size_t scale() const { return static_cast<std::size_t>(factor); }
};

// Whether a chat is small enough to be rendered: bytes(), values() and tools(). One pass over its
// JSON text. The Error names the field that has most of it.
[[nodiscard]] Result<void> check_chat_size(const ChatInput& input, const RenderLimits& limits);

// The template took more than steps() or time().
[[nodiscard]] Error template_takes_too_long(const RenderLimits& limits);

}  // namespace holdfast::engine
