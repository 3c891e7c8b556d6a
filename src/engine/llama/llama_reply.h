// Reply formats and parsers on llama-common's chat support.
#pragma once

#include <chat.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/llama/message_diff.h"
#include "engine/text.h"

namespace holdfast::llama {

// How the reply to one rendered prompt has to be constrained and parsed.
class LlamaReplyFormat final : public engine::ReplyFormat {
 public:
  // Loads the rendering's parser. Throws what the library throws.
  LlamaReplyFormat(common_chat_params rendered, const engine::ChatInput& input,
                   const llama_vocab* vocab);

  // Adds grammar, triggers and reasoning tags to sampling parameters.
  void constrain(const llama_vocab* vocab, const engine::SamplingParams& asked,
                 common_params_sampling& params) const;

  // The request's field that the constraint comes from.
  [[nodiscard]] const char* constraint_field() const;

  [[nodiscard]] const common_chat_parser_params& parser() const { return parser_; }
  // parallel_tool_calls is off: calls after the first are not reported.
  [[nodiscard]] bool one_call_only() const { return one_call_only_; }
  // Content may be any text: there is no schema.
  [[nodiscard]] bool free_content() const { return free_content_; }
  // The strings that end free text in a reply.
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
// beginning. To keep the work linear in the length of the reply, it is given a shorter text that
// brings it to the same state:
//
//   text      <think>The user wants ... many words</think>Sure. Here is ... many words, and mor
//   window    <think>The</think>Sure.                                                     , and mor
//                       ^ mark of the reasoning  ^ mark of the content        just fed
//
// Reasoning and free content run until a marker, and where they end does not depend on what they
// say. So if a feed has added exactly the fed text to one of them, the window is shortened to its
// mark, the first place where that happened. At that place no part of a marker was held back, so no
// marker can begin before its new end and end behind it. Text with a whole marker in it stays in
// the window, even if it turned out to be content: another rule may apply to what follows.
//
// If anything else is new, the whole text is parsed as well. If both agree, the window stays;
// otherwise it becomes the whole text.
//
// Tool arguments, and content under a schema, cannot be left out. They are parsed at each feed up
// to `kReadAlways` bytes, and from then on each time they have grown by 1/kReadShare, so that
// arguments arrive in larger pieces. The same holds for parsing the whole text. finish() parses
// once more.
class LlamaReplyParser final : public engine::ReplyParser {
 public:
  static constexpr std::size_t kReadAlways = 2048;
  static constexpr std::size_t kReadShare = 32;

  explicit LlamaReplyParser(const LlamaReplyFormat& format);

  [[nodiscard]] std::vector<engine::ReplyDelta> feed(std::string_view text) override;
  [[nodiscard]] std::vector<engine::ReplyDelta> finish() override;
  [[nodiscard]] const engine::Reply& reply() const override { return sent_; }
  // How many bytes of this reply the library has parsed so far, all passes added up. Text that the
  // prompt put before the reply is not counted.
  [[nodiscard]] std::uint64_t bytes_parsed() const { return bytes_parsed_; }

 private:
  // A place in the window inside reasoning or content, and what was seen before it.
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

  common_chat_parser_params params_;
  MessageDiff diff_;
  bool free_content_;
  std::set<std::string> markers_;
  std::string text_;
  std::string window_;
  std::size_t due_ = 0;        // the window is parsed when it has this many bytes
  std::size_t whole_due_ = 0;  // the text is parsed when it has this many bytes
  std::optional<Mark> mark_;
  std::uint64_t bytes_parsed_ = 0;
  engine::Reply seen_;  // in the window
  engine::Reply sent_;
};

[[nodiscard]] common_reasoning_format reasoning_format_from_name(const std::string& name);

}  // namespace holdfast::llama
