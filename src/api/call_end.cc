#include "api/call_end.h"

#include <nlohmann/json.hpp>

namespace holdfast::api {

bool ends_in_call(const engine::TextModel& text, const engine::ReplyFormat& format,
                  std::string_view reply) {
  const std::size_t end = reply.find_last_not_of(" \t\r\n\f\v");
  if (end == std::string_view::npos) return false;
  const auto parser = text.make_parser(format);
  (void)parser->feed(reply.substr(0, end + 1));
  const engine::Reply& so_far = parser->reply();
  return !so_far.tool_calls.empty() && nlohmann::json::accept(so_far.tool_calls.back().arguments);
}

}  // namespace holdfast::api
