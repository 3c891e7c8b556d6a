#include "engine/render_limits.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace holdfast::engine {

namespace {

struct JsonSize {
  std::size_t bytes = 0;
  std::size_t values = 0;
  std::size_t elements = 0;  // of an array: objects in it
};

// Where the string that begins at `at` ends.
std::size_t end_of_string(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at;
}

// A value stands before each comma, and one at the end of each array and object.
JsonSize size_of(std::string_view json) {
  JsonSize size{json.size(), 0, 0};
  int depth = 0;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char letter = json[at];
    if (letter == '"') at = end_of_string(json, at);
    if (letter == ',' || letter == '[' || letter == '{') ++size.values;
    if (letter == '{' && depth == 1) ++size.elements;
    if (letter == '[' || letter == '{') ++depth;
    if (letter == ']' || letter == '}') --depth;
  }
  return size;
}

struct NamedSize {
  const char* field;
  JsonSize size;
};

JsonSize size_of_arguments(const ChatInput& input) {
  JsonSize all;
  for (const auto& [name, json] : input.template_kwargs) {
    const JsonSize one = size_of(json);
    all.bytes += name.size() + one.bytes;
    all.values += 1 + one.values;
  }
  return all;
}

std::string how_to_raise(const RenderLimits& limits) {
  return " Send less, or start the server with --grammar-limit " +
         std::to_string(limits.factor * 2) + " or more.";
}

using Sizes = std::array<NamedSize, 3>;

Result<void> check_sum(const Sizes& sizes, std::size_t JsonSize::*part, const char* of_what,
                       std::size_t most, const RenderLimits& limits) {
  std::size_t sum = 0;
  for (const NamedSize& one : sizes) sum += one.size.*part;
  if (sum <= most) return {};
  const auto& largest =
      *std::ranges::max_element(sizes, {}, [&](const NamedSize& one) { return one.size.*part; });
  return invalid_argument(largest.field, "Messages, tools and template arguments have " +
                                             std::to_string(sum) + " " + of_what +
                                             "; the chat template takes at most " +
                                             std::to_string(most) + "." + how_to_raise(limits));
}

}  // namespace

Result<void> check_chat_size(const ChatInput& input, const RenderLimits& limits) {
  const Sizes sizes{{{"messages", size_of(input.messages_json)},
                     {"tools", size_of(input.tools_json)},
                     {"chat_template_kwargs", size_of_arguments(input)}}};
  auto fits = check_sum(sizes, &JsonSize::bytes, "bytes of JSON", limits.bytes(), limits);
  if (!fits) return fits;
  fits = check_sum(sizes, &JsonSize::values, "values", limits.values(), limits);
  if (!fits) return fits;
  const std::size_t tools = sizes[1].size.elements;
  if (tools <= limits.tools()) return {};
  return invalid_argument("tools", "There are " + std::to_string(tools) +
                                       " tools; the server takes at most " +
                                       std::to_string(limits.tools()) + "." + how_to_raise(limits));
}

Error template_takes_too_long(const RenderLimits& limits) {
  return invalid_argument("messages",
                          "The chat template takes more than " + std::to_string(limits.steps()) +
                              " steps or " + std::to_string(limits.time().count()) +
                              " s of CPU time for these messages." + how_to_raise(limits));
}

}  // namespace holdfast::engine
