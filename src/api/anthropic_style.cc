#include "api/anthropic_style.h"

#include <optional>
#include <utility>

#include "api/anthropic_errors.h"
#include "api/anthropic_events.h"
#include "api/chat_message.h"
#include "api/json_fields.h"

namespace holdfast::api {

namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

MessageHead head_of(const AnswerUnderWay& answer) {
  const std::string& asked = answer.options.model;
  return {answer.id, asked.empty() ? answer.backend->model_name : asked};
}

// Clients send it back with the thoughts. There is always one: some refuse thoughts without.
std::string signature_of(const AnswerUnderWay& answer) {
  const std::string& id = answer.readers.front().answer_id();
  return id.empty() ? answer.id : id;
}

std::string content_json(const engine::Reply& reply, std::string_view signature) {
  std::vector<std::string> blocks;
  if (!reply.reasoning.empty())
    append_thinking_block(blocks.emplace_back(), reply.reasoning, signature);
  if (!is_blank(reply.content)) append_text_block(blocks.emplace_back(), reply.content);
  for (const engine::ToolCall& call : reply.tool_calls)
    append_tool_use_block(blocks.emplace_back(), call, arguments_object(call.arguments));
  std::string out;
  append_array(out, blocks, [&](const std::string& block) { out += block; });
  return out;
}

// The blocks of one stream: opens and closes them as the deltas need it.
class BlockStream {
 public:
  explicit BlockStream(std::string signature) : signature_(std::move(signature)) {}

  void add(const engine::ReplyDelta& delta, std::string& out) {
    if (!delta.reasoning.empty()) add_thinking(delta.reasoning, out);
    if (!delta.content.empty()) add_text(delta.content, out);
    if (delta.tool_index) add_tool(*delta.tool_index, delta.tool, out);
  }

  void close(std::string& out) {
    if (open_ == Kind::kNone) return;
    if (open_ == Kind::kThinking)
      append_block_delta(out, index_, {"signature_delta", "signature", signature_});
    append_block_stop(out, index_++);
    open_ = Kind::kNone;
  }

 private:
  enum class Kind { kNone, kThinking, kText, kTool };

  void open(Kind kind, std::string_view block, std::string& out) {
    close(out);
    append_block_start(out, index_, block);
    open_ = kind;
  }

  void add_thinking(std::string_view thinking, std::string& out) {
    if (open_ != Kind::kThinking) {
      std::string block;
      append_thinking_block(block, "", "");
      open(Kind::kThinking, block, out);
    }
    append_block_delta(out, index_, {"thinking_delta", "thinking", thinking});
  }

  // What is blank so far waits for more (MSG-4).
  void add_text(std::string_view text, std::string& out) {
    blank_ += text;
    if (open_ != Kind::kText) {
      if (is_blank(blank_)) return;
      std::string block;
      append_text_block(block, "");
      open(Kind::kText, block, out);
    }
    append_block_delta(out, index_, {"text_delta", "text", std::exchange(blank_, {})});
  }

  void add_tool(std::size_t tool, const engine::ToolCall& call, std::string& out) {
    if (open_ != Kind::kTool || tool_ != tool) {
      std::string block;
      append_tool_use_block(block, call, "{}");
      open(Kind::kTool, block, out);
      tool_ = tool;
    }
    if (!call.arguments.empty())
      append_block_delta(out, index_, {"input_json_delta", "partial_json", call.arguments});
  }

  const std::string signature_;
  std::int64_t index_ = 0;  // of the block that is open, or of the next
  Kind open_ = Kind::kNone;
  std::size_t tool_ = 0;  // the call that is open
  std::string blank_;
};

class MessageStyle final : public AnswerStyle {
 public:
  explicit MessageStyle(AnswerUnderWay& answer) : answer_(answer), blocks_(signature_of(answer)) {}

  // Its letters are those of "msg_...".
  Headers headers() const override { return {{"request-id", "req_" + answer_.id.substr(4)}}; }

  std::string whole() override {
    return message_json(head_of(answer_), content_json(reader().reply(), signature_of(answer_)),
                        message_end_of(reader(), answer_.options.stops), usage(),
                        receipts_json(answer_));
  }

  bool begins_at_once() const override { return true; }
  void begin(std::string& out) override { append_message_start(out, head_of(answer_)); }
  void on_progress(std::size_t, const serve::PromptProgress&, std::string&) override {}
  void on_deltas(std::size_t, const Deltas& deltas, const serve::Timings*,
                 std::string& out) override {
    const std::size_t before = out.size();
    for (const engine::ReplyDelta& delta : deltas) blocks_.add(delta, out);
    if (out.size() > before) silences_ = 0;
  }
  void on_finished(std::size_t, std::string& out) override { blocks_.close(out); }
  void keep_alive(std::string& out) override {
    if (silences_ < kPingsAtFirst || silences_ % kSilencesPerPing == 0) append_ping(out);
    ++silences_;
  }
  void end(std::string& out) override {
    append_message_delta(out, message_end_of(reader(), answer_.options.stops), usage(),
                         receipts_json(answer_));
    append_message_stop(out);
  }
  void fail(const Error& error, std::string& out) override {
    append_error_event(out, anthropic_error_json(error));
  }

 private:
  [[nodiscard]] const ChoiceReader& reader() const { return answer_.readers.front(); }
  // States are kept in any case; that they were is told to those who asked for it.
  [[nodiscard]] Usage usage() const {
    Usage usage = total_usage(answer_);
    if (!answer_.options.marks_caching) usage.kept_tokens = 0;
    return usage;
  }

  // A silence is 5 s long: a ping after each of the first, then one in 50 s (MSG-5).
  static constexpr int kPingsAtFirst = 6;
  static constexpr int kSilencesPerPing = 10;

  AnswerUnderWay& answer_;
  BlockStream blocks_;
  int silences_ = 0;  // since something could be seen
};

}  // namespace

std::unique_ptr<AnswerStyle> make_message_style(AnswerUnderWay& answer) {
  return std::make_unique<MessageStyle>(answer);
}

}  // namespace holdfast::api
