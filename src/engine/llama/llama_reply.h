// Reply formats and parsers on llama-common's chat support.
#pragma once

#include <chat.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/text.h"

namespace holdfast::llama {

// What one rendered prompt says about its reply.
class LlamaReplyFormat final : public engine::ReplyFormat {
 public:
  // Takes the rendering as it is; loads its parser. Throws what the library throws.
  LlamaReplyFormat(common_chat_params rendered, const engine::ChatInput& input,
                   const llama_vocab* vocab);

  // Adds grammar, triggers and reasoning tags to sampling parameters.
  void constrain(const llama_vocab* vocab, int reasoning_budget,
                 common_params_sampling& params) const;

  [[nodiscard]] const common_chat_parser_params& parser() const { return parser_; }
  // parallel_tool_calls is off: calls after the first are not reported.
  [[nodiscard]] bool one_call_only() const { return one_call_only_; }
  // Content is not held to a schema, and may be any text.
  [[nodiscard]] bool free_content() const { return free_content_; }
  // What free text in a reply runs up to.
  [[nodiscard]] const std::set<std::string>& markers() const { return markers_; }
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
  bool free_content_;
  std::set<std::string> markers_;
};

// Reports what is new in a reply at each feed(). The library's parser reads a text from its
// beginning, so to keep the work linear in the length of the reply it is given a shorter one, which
// brings it to the same place:
//
//   text      <think>The user wants ... many words</think>Sure. Here is ... many words, and mor
//   window    <think>The</think>Sure.                                                     , and mor
//                       ^ mark of the reasoning  ^ mark of the content        just fed
//
// Reasoning and free content run until a marker, and what was said before does not matter for where
// they end. So where a feed has appended to one of them exactly what was fed, the window is cut
// back to its mark, the first place where that was so. There no part of a marker is held back, so
// no marker can begin before the cut and end behind it. Text with a whole marker in it stays in the
// window, even if it turned out to be content: what follows it may be read by another rule.
//
// Where anything else is new, the whole text is read as well. If it says the same, the window goes
// on; if not, it becomes the whole text.
//
// What cannot be left out - arguments of tools, content under a schema - is read each time up to
// `kReadAlways` bytes, and then each time that it has grown by a share of itself: arguments then
// come in larger pieces. The same holds for readings of the whole text. finish() is one more.
class LlamaReplyParser final : public engine::ReplyParser {
 public:
  static constexpr std::size_t kReadAlways = 2048;
  static constexpr std::size_t kReadShare = 32;

  explicit LlamaReplyParser(const LlamaReplyFormat& format);

  [[nodiscard]] std::vector<engine::ReplyDelta> feed(std::string_view text) override;
  [[nodiscard]] std::vector<engine::ReplyDelta> finish() override;
  [[nodiscard]] const engine::Reply& reply() const override { return sent_; }
  // Of replies, by the library, since the beginning; what the prompt put before them is not
  // counted.
  [[nodiscard]] std::uint64_t bytes_parsed() const { return bytes_parsed_; }

 private:
  // A place in the window inside of reasoning or content, and what was seen up to there.
  struct Mark {
    std::size_t length = 0;
    bool reasoning = false;
    engine::Reply seen;
  };

  [[nodiscard]] common_chat_msg parse(const std::string& text, bool partial);
  [[nodiscard]] std::vector<engine::ReplyDelta> read_window();
  [[nodiscard]] bool goes_on(const std::vector<engine::ReplyDelta>& deltas) const;
  void shorten_window(const std::vector<engine::ReplyDelta>& deltas);
  [[nodiscard]] std::vector<engine::ReplyDelta> finish_broken();
  [[nodiscard]] std::string_view unread_rest() const;
  // What the message adds to `seen`, which has it afterwards.
  [[nodiscard]] std::vector<engine::ReplyDelta> advance(engine::Reply& seen,
                                                        const common_chat_msg& message,
                                                        bool final) const;
  void advance_tool_calls(const engine::Reply& seen, const common_chat_msg& message, bool final,
                          std::vector<engine::ReplyDelta>& deltas) const;

  common_chat_parser_params params_;
  bool one_call_only_;
  bool free_content_;
  std::set<std::string> markers_;
  std::string text_;
  std::string window_;
  std::size_t due_ = 0;        // the window is read when it is this long,
  std::size_t whole_due_ = 0;  // and the text
  std::optional<Mark> mark_;
  std::uint64_t bytes_parsed_ = 0;
  engine::Reply seen_;      // in the window
  engine::Reply baseline_;  // a continued message's own beginning, which is not sent again
  engine::Reply sent_;
};

[[nodiscard]] common_reasoning_format reasoning_format_from_name(const std::string& name);

}  // namespace holdfast::llama
