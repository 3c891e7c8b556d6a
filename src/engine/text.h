// TextModel is the model's text side: vocabulary, chat template, tool calls,
// reasoning, grammars. Immutable and safe to use from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/sampling.h"
#include "state/tokens.h"

namespace holdfast::engine {

// Control tokens of models that were trained to fill in the middle of a text.
struct FillTokens {
  std::optional<Token> begin;  // of every text, where the vocabulary has it so
  std::optional<Token> prefix;
  std::optional<Token> suffix;
  std::optional<Token> middle;
  std::optional<Token> repository;
  std::optional<Token> file;  // separates files
};

// What the model file says of itself.
struct ModelCard {
  std::string name;  // general.name, else the file's name
  std::string path;
  std::string architecture;
  std::string file_type;  // "Q8_0"
  std::int64_t context_train = 0;
  std::int64_t context_original = 0;  // before its position encoding was scaled
  std::int64_t parameters = 0;
  std::int64_t size_bytes = 0;
  std::int64_t vocabulary = 0;
  int vocabulary_type = 0;  // llama-server's number for it
  std::int64_t embedding = 0;
  std::string bos_text;
  std::string eos_text;
  std::string chat_template;
  std::map<std::string, bool> chat_template_caps;
  FillTokens fill;
};

// A chat request as the template needs it. JSON fields hold JSON text in the
// shapes of OpenAI's API; the API layer has validated those shapes.
struct ChatInput {
  std::string messages_json = "[]";
  std::string tools_json;            // empty: no tools
  std::string tool_choice = "auto";  // auto | none | required
  std::optional<bool> parallel_tool_calls;
  std::string json_schema;                             // empty: free text
  std::string grammar;                                 // GBNF; empty: none
  std::optional<bool> enable_thinking;                 // nullopt: the template's default
  std::string reasoning_format = "auto";               // none | auto | deepseek | deepseek-legacy
  std::map<std::string, std::string> template_kwargs;  // name -> JSON text
  bool continue_final_message = false;  // the last message is an assistant's to go on with
  bool add_generation_prompt = true;
  bool stream = false;
};

// How the reply to one rendered prompt is constrained and parsed. Opaque.
class ReplyFormat {
 public:
  virtual ~ReplyFormat() = default;
};

// Bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const TextRange&) const = default;
};

struct RenderedChat {
  std::string prompt;
  // Where the prompt spells control tokens that a client wrote and the template did not: these
  // bytes are text. In ascending order.
  std::vector<TextRange> literal;
  std::string generation_prompt;   // the header that opens the reply, part of `prompt`
  std::vector<std::string> stops;  // stop strings the template asks for
  std::shared_ptr<const ReplyFormat> format;
};

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;     // JSON text
  bool id_invented = false;  // the model wrote none
};

// One step of a reply. At most one of the three is set.
struct ReplyDelta {
  std::string reasoning;
  std::string content;
  std::optional<std::size_t> tool_index;
  ToolCall tool;  // id and name come with the first delta of a call
};

struct Reply {
  std::string reasoning;
  std::string content;
  std::vector<ToolCall> tool_calls;
};

// Turns generated text into content, reasoning and tool calls as it arrives.
// One thread at a time.
class ReplyParser {
 public:
  virtual ~ReplyParser() = default;
  // Takes more text; the deltas are what a streaming client should see next.
  [[nodiscard]] virtual std::vector<ReplyDelta> feed(std::string_view text) = 0;
  // No more text will come. Text that breaks the format is content, never lost.
  [[nodiscard]] virtual std::vector<ReplyDelta> finish() = 0;
  [[nodiscard]] virtual const Reply& reply() const = 0;
};

class TextModel {
 public:
  virtual ~TextModel() = default;

  [[nodiscard]] virtual const ModelCard& card() const = 0;

  // `parse_special` lets text name control tokens, as templates need it.
  [[nodiscard]] virtual Tokens tokenize(std::string_view text, bool add_special,
                                        bool parse_special) const = 0;
  // A prompt that a template rendered: control tokens count, save in `literal`.
  [[nodiscard]] virtual Tokens tokenize_prompt(std::string_view text, bool add_special,
                                               std::span<const TextRange> /*literal*/) const {
    return tokenize(text, add_special, true);
  }
  // No more than the tokens that `text` has, found out in one cheap pass; 0 where nothing is
  // known. So text that cannot fit is refused before it is tokenised.
  [[nodiscard]] virtual std::int64_t tokens_at_least(std::string_view /*text*/) const { return 0; }
  // Bytes of one token; may be a part of a UTF-8 character.
  [[nodiscard]] virtual std::string piece(Token token, bool special) const = 0;
  [[nodiscard]] std::string detokenize(TokenSpan tokens) const;
  // End of generation: end of sequence, end of turn.
  [[nodiscard]] virtual bool ends_generation(Token token) const = 0;

  // The token sequences that close a turn in this model's template; the grid
  // cuts after them. Found by rendering a probe conversation.
  [[nodiscard]] virtual std::vector<Tokens> turn_ends() const = 0;

  [[nodiscard]] virtual Result<RenderedChat> render(const ChatInput& input) const = 0;
  // Where each message lies in the tokens of a rendered prompt.
  [[nodiscard]] virtual std::vector<MessageSpan> message_spans(const RenderedChat& chat,
                                                               TokenSpan tokens) const = 0;

  // `format` is null for plain completions.
  [[nodiscard]] virtual Result<std::unique_ptr<Sampler>> make_sampler(
      const SamplingParams& params, const ReplyFormat* format) const = 0;
  [[nodiscard]] virtual std::unique_ptr<ReplyParser> make_parser(
      const ReplyFormat& format) const = 0;
};

}  // namespace holdfast::engine
