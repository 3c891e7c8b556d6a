#include "cli/sse_parser.h"

#include <utility>

namespace holdfast::cli {

std::vector<SseEvent> SseParser::feed(std::string_view bytes) {
  std::vector<SseEvent> events;
  for (const char c : bytes) {
    const bool second_half = c == '\n' && after_cr_;
    after_cr_ = c == '\r';
    if (second_half) continue;
    if (c == '\n' || c == '\r') {
      end_line(events);
    } else {
      line_ += c;
    }
  }
  return events;
}

void SseParser::end_line(std::vector<SseEvent>& events) {
  std::string line = std::exchange(line_, {});
  if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  if (line.empty()) {
    SseEvent event = std::exchange(event_, {});
    if (std::exchange(has_data_, false)) events.push_back(std::move(event));
    return;
  }
  const auto colon = line.find(':');
  if (colon == std::string::npos) return take_field(line, "");
  std::string_view value = std::string_view(line).substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  take_field(std::string_view(line).substr(0, colon), value);
}

// Comments have an empty name; `id` and `retry` mean nothing to a client that
// never reconnects.
void SseParser::take_field(std::string_view name, std::string_view value) {
  if (name == "event") event_.type = value.empty() ? "message" : std::string(value);
  if (name != "data") return;
  if (has_data_) event_.data += '\n';
  event_.data += value;
  has_data_ = true;
}

}  // namespace holdfast::cli
