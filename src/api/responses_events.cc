#include "api/responses_events.h"

#include <utility>

#include "api/json_fields.h"
#include "api/openai_objects.h"
#include "base/check.h"

namespace holdfast::api {
namespace {

using Kind = OutputItem::Kind;

std::string id_prefix(Kind kind) {
  switch (kind) {
    case Kind::kReasoning: return "rs_";
    case Kind::kMessage: return "msg_";
    case Kind::kFunctionCall: return "fc_";
    case Kind::kCustomCall: return "ctc_";
  }
  return "item_";
}

bool is_call(Kind kind) { return kind == Kind::kFunctionCall || kind == Kind::kCustomCall; }

// The middle of the names of events about the text of an item.
std::string_view text_event(Kind kind) {
  switch (kind) {
    case Kind::kReasoning: return "response.reasoning_text";
    case Kind::kMessage: return "response.output_text";
    case Kind::kFunctionCall: return "response.function_call_arguments";
    case Kind::kCustomCall: return "response.custom_tool_call_input";
  }
  return "response.output_text";
}

// What the last event about the text of an item calls it.
std::string_view text_field(Kind kind) {
  switch (kind) {
    case Kind::kFunctionCall: return "arguments";
    case Kind::kCustomCall: return "input";
    default: return "text";
  }
}

}  // namespace

// One event; it is complete when this is destroyed.
class ResponseEvents::Event {
 public:
  Event(ResponseEvents& events, std::string_view type, std::string& out)
      : events_(events), out_(out) {
    ((out_ += "event: ") += type) += "\ndata: ";
    fields_.emplace(out_);
    fields_->text("type", type);
    fields_->integer("sequence_number", events_.sequence_++);
  }
  ~Event() {
    fields_.reset();
    out_ += "\n\n";
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  ObjectWriter& fields() { return *fields_; }

  // llama-server's, where there are any.
  Event& with(const serve::Timings* timings) {
    if (timings != nullptr) append_timings(fields_->key("timings"), *timings);
    return *this;
  }

  // Where the last item stands.
  Event& at_index() {
    fields_->integer("output_index", static_cast<std::int64_t>(events_.items_.size()) - 1);
    return *this;
  }
  Event& at_item() {
    fields_->text("item_id", events_.items_.back().id);
    return at_index();
  }
  // Calls have no parts.
  Event& at_part() {
    at_item();
    if (!is_call(events_.items_.back().kind)) fields_->integer("content_index", 0);
    return *this;
  }

 private:
  ResponseEvents& events_;
  std::string& out_;
  std::optional<ObjectWriter> fields_;
};

ResponseEvents::ResponseEvents(ResponseHead head, std::set<std::string> custom_tools,
                               MakeId make_id)
    : head_(std::move(head)),
      custom_tools_(std::move(custom_tools)),
      make_id_(std::move(make_id)) {}

// --- the response ----------------------------------------------------------------

void ResponseEvents::open(std::string& out) {
  Event(*this, "response.created", out).fields().raw("response", response_json(head_, {}));
  in_progress(out);
}

void ResponseEvents::in_progress(std::string& out) {
  Event(*this, "response.in_progress", out).fields().raw("response", response_json(head_, {}));
}

void ResponseEvents::in_progress(const serve::PromptProgress& progress,
                                 const serve::Timings* timings, std::string& out) {
  Event event(*this, "response.in_progress", out);
  event.fields().raw("response", response_json(head_, {}));
  append_progress(event.with(timings).fields().key("prompt_progress"), progress);
}

void ResponseEvents::close(const ResponseState& state, std::string& out,
                           const serve::Timings* timings) {
  CHECK(!item_open_);
  const std::string type = "response." + std::string(state.status);
  Event(*this, type, out).with(timings).fields().raw("response", response_json(head_, state));
}

// --- items -------------------------------------------------------------------------

void ResponseEvents::add(const engine::ReplyDelta& delta, std::string& out,
                         const serve::Timings* timings) {
  if (!delta.reasoning.empty()) add_text(Kind::kReasoning, delta.reasoning, timings, out);
  if (!delta.content.empty()) add_text(Kind::kMessage, delta.content, timings, out);
  if (delta.tool_index) add_call(delta, out);
}

bool ResponseEvents::is_open(Kind kind) const { return item_open_ && items_.back().kind == kind; }

void ResponseEvents::open_item(OutputItem item, std::string& out) {
  close_item("completed", out);
  item.id = make_id_(id_prefix(item.kind));
  items_.push_back(std::move(item));
  item_open_ = true;
  Event event(*this, "response.output_item.added", out);
  append_output_item(event.at_index().fields().key("item"), items_.back());
}

void ResponseEvents::open_text(Kind kind, std::string& out) {
  OutputItem item;
  item.kind = kind;
  if (kind == Kind::kReasoning) item.answer_id = head_.answer_id;
  open_item(std::move(item), out);
  Event event(*this, "response.content_part.added", out);
  append_output_part(event.at_part().fields().key("part"), kind, "");
}

void ResponseEvents::add_text(Kind kind, const std::string& text, const serve::Timings* timings,
                              std::string& out) {
  if (!is_open(kind)) open_text(kind, out);
  items_.back().text += text;
  Event event(*this, std::string(text_event(kind)) + ".delta", out);
  event.at_part().with(timings).fields().text("delta", text);
  if (kind == Kind::kMessage) event.fields().raw("logprobs", "[]");
}

void ResponseEvents::open_call(const engine::ReplyDelta& delta, std::string& out) {
  OutputItem item;
  item.kind = custom_tools_.contains(delta.tool.name) ? Kind::kCustomCall : Kind::kFunctionCall;
  item.name = delta.tool.name;
  item.call_id = delta.tool.id.empty() ? make_id_("call_") : delta.tool.id;
  open_item(std::move(item), out);
  call_ = delta.tool_index;
}

// A custom tool's input is shown when it is complete: it lies inside of JSON.
void ResponseEvents::add_call(const engine::ReplyDelta& delta, std::string& out) {
  if (!item_open_ || call_ != delta.tool_index) open_call(delta, out);
  OutputItem& call = items_.back();
  call.text += delta.tool.arguments;
  if (call.kind == Kind::kCustomCall || delta.tool.arguments.empty()) return;
  Event event(*this, "response.function_call_arguments.delta", out);
  event.at_item().fields().text("delta", delta.tool.arguments);
}

void ResponseEvents::close_text(std::string& out) {
  const OutputItem& item = items_.back();
  {
    Event event(*this, std::string(text_event(item.kind)) + ".done", out);
    event.at_part().fields().text("text", item.text);
    if (item.kind == Kind::kMessage) event.fields().raw("logprobs", "[]");
  }
  Event event(*this, "response.content_part.done", out);
  append_output_part(event.at_part().fields().key("part"), item.kind, item.text);
}

void ResponseEvents::close_call(std::string& out) {
  const OutputItem& item = items_.back();
  const bool custom = item.kind == Kind::kCustomCall;
  const std::string whole = custom ? custom_input(item.text) : item.text;
  const std::string name(text_event(item.kind));
  if (custom) Event(*this, name + ".delta", out).at_item().fields().text("delta", whole);
  Event event(*this, name + ".done", out);
  event.at_item().fields().text(text_field(item.kind), whole);
  if (!custom) event.fields().text("name", item.name);
}

void ResponseEvents::close_item(std::string_view status, std::string& out) {
  if (!std::exchange(item_open_, false)) return;
  OutputItem& item = items_.back();
  is_call(item.kind) ? close_call(out) : close_text(out);
  item.status = status;
  call_.reset();
  Event event(*this, "response.output_item.done", out);
  append_output_item(event.at_index().fields().key("item"), item);
}

std::vector<std::string> ResponseEvents::check() const {
  std::vector<std::string> violations;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const bool open = items_[i].status == "in_progress";
    const bool last = i + 1 == items_.size();
    if (open && !last) violations.push_back("REV-1: an item before the last is open");
    if (open != (last && item_open_)) violations.push_back("REV-2: an item has a wrong status");
  }
  return violations;
}

}  // namespace holdfast::api
