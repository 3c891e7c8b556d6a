// ResponseEvents: the output of one response while it is written, as items and as the
// server-sent events that show them.
//
//   response.created                     once, first
//   response.in_progress                 next, and again while nothing else happens
//   response.output_item.added           opens an item: reasoning, message or call
//     response.content_part.added          reasoning and messages
//     response.*.delta ... response.*.done
//     response.content_part.done
//   response.output_item.done            the complete item
//   response.completed | .incomplete | .failed    once, last
//
// Invariants, verified by check():
//   REV-1  at most the last item is open
//   REV-2  an item that is closed has its final status
//
// Promised, verified by responses_events_test.cc:
//   REV-3  event n carries sequence_number n, counted from 0
//
// A client that does not stream gets the same items: the events are dropped.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/responses_object.h"
#include "engine/text.h"
#include "serve/request.h"

namespace holdfast::api {

// Makes an id that begins with the given prefix.
using MakeId = std::function<std::string(const std::string& prefix)>;

class ResponseEvents {
 public:
  ResponseEvents(ResponseHead head, std::set<std::string> custom_tools, MakeId make_id);

  void open(std::string& out);
  void in_progress(std::string& out);
  // The same with llama-server's fields: how much of the prompt is read; `timings`: null or of
  // that.
  void in_progress(const serve::PromptProgress& progress, const serve::Timings* timings,
                   std::string& out);
  // `timings`: null, or shown with each event about text.
  void add(const engine::ReplyDelta& delta, std::string& out,
           const serve::Timings* timings = nullptr);
  // The last item ends with `status`: completed or incomplete.
  void close_item(std::string_view status, std::string& out);
  // REQUIRES: the last item is closed. `timings`: null, or those of the whole answer.
  void close(const ResponseState& state, std::string& out, const serve::Timings* timings = nullptr);

  [[nodiscard]] const ResponseHead& head() const { return head_; }
  [[nodiscard]] const std::vector<OutputItem>& items() const { return items_; }
  [[nodiscard]] std::vector<std::string> check() const;  // empty when REV-1 and REV-2 hold

 private:
  class Event;

  [[nodiscard]] bool is_open(OutputItem::Kind kind) const;
  void open_item(OutputItem item, std::string& out);
  void open_text(OutputItem::Kind kind, std::string& out);
  void open_call(const engine::ReplyDelta& delta, std::string& out);
  void add_text(OutputItem::Kind kind, const std::string& text, const serve::Timings* timings,
                std::string& out);
  void add_call(const engine::ReplyDelta& delta, std::string& out);
  void close_text(std::string& out);
  void close_call(std::string& out);

  ResponseHead head_;
  std::set<std::string> custom_tools_;
  MakeId make_id_;
  std::int64_t sequence_ = 0;
  std::vector<OutputItem> items_;
  bool item_open_ = false;
  std::optional<std::size_t> call_;  // the engine's number of the call that is open
};

}  // namespace holdfast::api
