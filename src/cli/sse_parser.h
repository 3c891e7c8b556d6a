// SseParser turns the bytes of a text/event-stream into events, wherever the
// network happens to cut them (WHATWG HTML, section 9.2.6).
//
//   data: {"a":1}\n\n      -> {"message", "{\"a\":1}"}
//   event: e\ndata: 1\ndata: 2\n\n -> {"e", "1\n2"}
//   : a comment\n          -> nothing
//
// An event counts once its empty line has come; what is incomplete when the
// stream ends is no event. Lines end in LF, CR or CRLF.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

struct SseEvent {
  std::string type = "message";
  std::string data;
  bool operator==(const SseEvent&) const = default;
};

class SseParser {
 public:
  // Takes more bytes; the events are those that they complete.
  [[nodiscard]] std::vector<SseEvent> feed(std::string_view bytes);

 private:
  void end_line(std::vector<SseEvent>& events);
  void take_field(std::string_view name, std::string_view value);

  std::string line_;
  bool after_cr_ = false;   // a LF that comes next belongs to the line before
  bool first_line_ = true;  // a byte order mark may lead it
  bool has_data_ = false;
  SseEvent event_;
};

}  // namespace holdfast::cli
