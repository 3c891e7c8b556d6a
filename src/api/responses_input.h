// The input items of a Responses request, as chat messages in the shape described
// at ChatRequest.
//
//   instructions, system, developer    one system message, while nothing else has come;
//                                      later ones stay where they are
//   reasoning        |
//   message          |  one assistant message: reasoning_content, content, tool_calls
//   function_call    |
//   function_call    |
//   function_call_output               a tool message
//
// A custom tool is a function with one text argument, `input`; its calls and outputs
// read as those of a function. Items that only OpenAI's own servers run or understand
// (web_search_call, local_shell_call, compaction, ...) are skipped. An image is refused; in
// the output of a tool a text says that there was one.
//
// Promises, verified by responses_input_test.cc:
//   INPUT-1  the items of one assistant turn become one message
//   INPUT-2  a turn ends at the first item that is not the assistant's, at a second
//            text without a call before it, and at reasoning that follows text or a call
//            (an item with encrypted_content counts, whether or not it has a text)
//   INPUT-3  nothing that a skipped item says reaches the messages
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/chat_message.h"
#include "api/json_fields.h"
#include "api/skipped_kinds.h"

namespace holdfast::api {

class InputMessages {
 public:
  // Where in the request what is added next comes from.
  void set_source(MessageSource source) { source_ = std::move(source); }
  void add_instructions(const std::string& text) { add_to_opening(text); }
  void add_user_text(std::string text);
  // A mistake is noted in the item's fields.
  void add_item(const JsonFields& item);
  // Call it once, after the last item.
  [[nodiscard]] std::vector<ChatMessage> take();
  // Types of items that were skipped.
  [[nodiscard]] const SkippedKinds& skipped() const { return skipped_; }

 private:
  void add_message(const JsonFields& item);
  void add_assistant_texts(std::vector<std::string> texts);
  void add_reasoning(const JsonFields& item);
  void add_output(const JsonFields& item);
  void add(ChatMessage message);
  void add_to_opening(const std::string& text);
  void end_opening();
  // The assistant's message that is still open, or a new one.
  [[nodiscard]] ChatMessage& turn();
  void end_turn();

  // The system texts that nothing has followed yet are one message.
  std::optional<ChatMessage> opening_;
  std::vector<ChatMessage> messages_;
  MessageSource source_;
  SkippedKinds skipped_;
  bool turn_open_ = false;  // the last message is the assistant's, and may grow
};

}  // namespace holdfast::api
