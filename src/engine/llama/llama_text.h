// LlamaText: vocabulary and chat template of a GGUF model.
#pragma once

#include <chat.h>

#include <memory>
#include <mutex>

#include "engine/chat_floor.h"
#include "engine/llama/llama_grammar.h"
#include "engine/llama/llama_handles.h"
#include "engine/llama/llama_tokenizer.h"
#include "engine/llama/message_floor.h"
#include "engine/render_limits.h"
#include "engine/system_turns.h"
#include "engine/text.h"

namespace holdfast::llama {

// What clients' requests may cost.
struct TextLimits {
  engine::GrammarLimits grammar;
  engine::RenderLimits render;
};

class LlamaText final : public engine::TextModel, public engine::ChatFloor {
 public:
  // `chat_template` overrides the model's own when not empty; one that does not
  // parse is an Error.
  [[nodiscard]] static Result<std::shared_ptr<const LlamaText>> create(
      std::shared_ptr<llama_model> model, const std::string& path, const std::string& chat_template,
      TextLimits limits);

  [[nodiscard]] const engine::ModelCard& card() const override { return card_; }
  [[nodiscard]] Tokens tokenize(std::string_view text, bool add_special,
                                bool parse_special) const override;
  [[nodiscard]] Tokens tokenize_prompt(std::string_view text, bool add_special,
                                       std::span<const engine::TextRange> literal) const override {
    return tokenizer_.tokenize_prompt(text, add_special, literal);
  }
  [[nodiscard]] std::int64_t tokens_at_least(std::string_view text) const override {
    return tokenizer_.tokens_at_least(text);
  }
  [[nodiscard]] std::string piece(Token token, bool special) const override;
  [[nodiscard]] bool ends_generation(Token token) const override;
  [[nodiscard]] std::vector<Tokens> turn_ends() const override { return turn_ends_; }
  [[nodiscard]] Result<engine::RenderedChat> render(const engine::ChatInput& input) const override;
  [[nodiscard]] std::int64_t chat_tokens_at_least(const engine::ChatInput& input) const override;
  [[nodiscard]] std::vector<MessageSpan> message_spans(const engine::RenderedChat& chat,
                                                       TokenSpan tokens) const override;
  [[nodiscard]] Result<std::unique_ptr<engine::Sampler>> make_sampler(
      const engine::SamplingParams& params, const engine::ReplyFormat* format) const override;
  [[nodiscard]] std::unique_ptr<engine::ReplyParser> make_parser(
      const engine::ReplyFormat& format) const override;

 private:
  LlamaText(std::shared_ptr<llama_model> model, common_chat_templates_ptr templates,
            TextLimits limits);

  void read_card(const std::string& path);
  [[nodiscard]] std::string named_token(const char* key, Token token) const;
  [[nodiscard]] std::vector<Tokens> find_turn_ends() const;
  [[nodiscard]] std::vector<Token> find_turn_words() const;
  [[nodiscard]] engine::SystemTurns find_system_turns() const;
  [[nodiscard]] std::optional<std::string> try_template(const std::string& messages_json) const;
  [[nodiscard]] MessageFloor find_message_floor() const;
  // Throws what the library throws.
  [[nodiscard]] Result<engine::RenderedChat> render_checked(const engine::ChatInput& input) const;
  [[nodiscard]] Result<void> mark_literals(const engine::ChatInput& input,
                                           engine::RenderedChat& chat) const;
  [[nodiscard]] common_chat_templates_inputs library_inputs(const engine::ChatInput& input) const;

  [[nodiscard]] const GrammarContext& grammar_context() const;

  std::shared_ptr<llama_model> model_;
  const llama_vocab* vocab_;
  LlamaTokenizer tokenizer_;
  common_chat_templates_ptr templates_;
  engine::RenderLimits render_limits_;
  mutable std::once_flag trie_made_;
  mutable GrammarContext grammar_;  // its trie is made once
  engine::ModelCard card_;
  std::vector<Tokens> turn_ends_;
  std::vector<Token> turn_words_;  // control tokens that open and close turns
  engine::SystemTurns system_turns_ = engine::SystemTurns::kInPlace;
  MessageFloor message_floor_;
};

}  // namespace holdfast::llama
