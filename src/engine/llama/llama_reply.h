// Reply formats and parsers on llama-common's chat support.
#pragma once

#include <chat.h>

#include <set>
#include <string>
#include <vector>

#include "engine/text.h"

namespace holdfast {

// What one rendered prompt says about its reply.
class LlamaReplyFormat final : public ReplyFormat {
 public:
  // Takes the rendering as it is; loads its parser. Throws what the library throws.
  LlamaReplyFormat(common_chat_params rendered, const ChatInput& input, const llama_vocab* vocab);

  // Adds grammar, triggers and reasoning tags to sampling parameters.
  void constrain(const llama_vocab* vocab, int reasoning_budget,
                 common_params_sampling& params) const;

  [[nodiscard]] const common_chat_parser_params& parser() const { return parser_; }
  // parallel_tool_calls is off: calls after the first are not reported.
  [[nodiscard]] bool one_call_only() const { return one_call_only_; }
  [[nodiscard]] const common_chat_msg_delimiters& delimiters() const {
    return rendered_.message_delimiters;
  }

 private:
  void add_triggers(const llama_vocab* vocab, common_params_sampling& params) const;

  common_chat_params rendered_;
  common_chat_parser_params parser_;
  std::string client_grammar_;
  bool has_tools_;
  bool one_call_only_;
};

// Re-parses the whole reply at each feed() and reports what is new in it.
class LlamaReplyParser final : public ReplyParser {
 public:
  explicit LlamaReplyParser(const LlamaReplyFormat& format);

  [[nodiscard]] std::vector<ReplyDelta> feed(std::string_view text) override;
  [[nodiscard]] std::vector<ReplyDelta> finish() override;
  [[nodiscard]] const Reply& reply() const override { return sent_; }

 private:
  [[nodiscard]] std::vector<ReplyDelta> finish_broken();
  [[nodiscard]] std::string_view unread_rest() const;
  [[nodiscard]] std::vector<ReplyDelta> advance_to(const common_chat_msg& message, bool final);
  void advance_tool_calls(const common_chat_msg& message, bool final,
                          std::vector<ReplyDelta>& deltas);

  common_chat_parser_params params_;
  bool one_call_only_;
  std::string text_;
  Reply baseline_;  // a continued message's own beginning, which is not sent again
  Reply sent_;
};

[[nodiscard]] common_reasoning_format reasoning_format_from_name(const std::string& name);

}  // namespace holdfast
