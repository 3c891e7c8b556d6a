#include "engine/llama/llama_text.h"

#include <json.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/check.h"
#include "engine/llama/content_marks.h"
#include "engine/llama/llama_reply.h"
#include "engine/llama/llama_sampler.h"
#include "engine/llama/llama_schema.h"
#include "engine/llama/local_time.h"
#include "engine/llama/named_templates.h"
#include "engine/llama/template_meter.h"

namespace holdfast::llama {

namespace {

std::string meta_value(const llama_model* model, const char* key) {
  std::array<char, 512> buffer{};
  const int size = llama_model_meta_val_str(model, key, buffer.data(), buffer.size());
  return size > 0 ? std::string(buffer.data()) : std::string();
}

// How the weights are stored: "Q8_0".
std::string file_type_name(const llama_model* model) {
  return llama_ftype_name(llama_model_ftype(model));
}

engine::FillTokens fill_tokens_of(const llama_vocab* vocab) {
  const auto known = [](Token token) {
    return token == LLAMA_TOKEN_NULL ? std::nullopt : std::optional(token);
  };
  return {.begin = llama_vocab_get_add_bos(vocab) ? known(llama_vocab_bos(vocab)) : std::nullopt,
          .prefix = known(llama_vocab_fim_pre(vocab)),
          .suffix = known(llama_vocab_fim_suf(vocab)),
          .middle = known(llama_vocab_fim_mid(vocab)),
          .repository = known(llama_vocab_fim_rep(vocab)),
          .file = known(llama_vocab_fim_sep(vocab))};
}

Role role_from(common_chat_role role) {
  switch (role) {
    case COMMON_CHAT_ROLE_SYSTEM: return Role::kSystem;
    case COMMON_CHAT_ROLE_USER: return Role::kUser;
    case COMMON_CHAT_ROLE_ASSISTANT: return Role::kAssistant;
    case COMMON_CHAT_ROLE_TOOL: return Role::kTool;
    case COMMON_CHAT_ROLE_UNKNOWN: break;
  }
  return Role::kUnknown;
}

}  // namespace

LlamaText::LlamaText(std::shared_ptr<llama_model> model, common_chat_templates_ptr templates,
                     TextLimits limits)
    : model_(std::move(model)),
      vocab_(llama_model_get_vocab(model_.get())),
      tokenizer_(model_.get()),
      templates_(std::move(templates)),
      render_limits_(limits.render),
      grammar_{vocab_, limits.grammar, nullptr} {
  CHECK(owns_local_time());
}

Result<std::shared_ptr<const LlamaText>> LlamaText::create(std::shared_ptr<llama_model> model,
                                                           const std::string& path,
                                                           const std::string& chat_template,
                                                           TextLimits limits) {
  const auto source = template_named(chat_template);
  if (!source) return source.error();
  common_chat_templates_ptr templates;
  try {
    templates = common_chat_templates_init(model.get(), *source);
  } catch (const std::exception& failure) {
    return invalid_argument("--chat-template",
                            std::string("The chat template cannot be used: ") + failure.what());
  }
  std::shared_ptr<LlamaText> text(new LlamaText(std::move(model), std::move(templates), limits));
  text->read_card(path);
  text->turn_ends_ = text->find_turn_ends();
  text->turn_words_ = text->find_turn_words();
  text->system_turns_ = text->find_system_turns();
  text->message_floor_ = text->find_message_floor();
  return std::shared_ptr<const LlamaText>(text);
}

void LlamaText::read_card(const std::string& path) {
  card_.path = path;
  card_.name = meta_value(model_.get(), "general.name");
  if (card_.name.empty()) card_.name = std::filesystem::path(path).stem().string();
  card_.architecture = meta_value(model_.get(), "general.architecture");
  card_.file_type = file_type_name(model_.get());
  card_.context_train = llama_model_n_ctx_train(model_.get());
  const std::string original = card_.architecture + ".rope.scaling.original_context_length";
  card_.context_original = std::atoll(meta_value(model_.get(), original.c_str()).c_str());
  if (card_.context_original == 0) card_.context_original = card_.context_train;
  card_.parameters = static_cast<std::int64_t>(llama_model_n_params(model_.get()));
  card_.size_bytes = static_cast<std::int64_t>(llama_model_size(model_.get()));
  card_.vocabulary = llama_vocab_n_tokens(vocab_);
  card_.vocabulary_type = llama_vocab_type(vocab_);
  card_.embedding = llama_model_n_embd(model_.get());
  card_.bos_text = named_token("tokenizer.ggml.bos_token_id", llama_vocab_bos(vocab_));
  card_.eos_text = named_token("tokenizer.ggml.eos_token_id", llama_vocab_eos(vocab_));
  card_.chat_template = common_chat_templates_source(templates_.get());
  card_.chat_template_caps = common_chat_templates_get_caps(templates_.get());
  card_.fill = fill_tokens_of(vocab_);
}

// The library has a default where the file names no such token.
std::string LlamaText::named_token(const char* key, Token token) const {
  const bool named = !meta_value(model_.get(), key).empty();
  return named && token >= 0 ? piece(token, true) : std::string();
}

Tokens LlamaText::tokenize(std::string_view text, bool add_special, bool parse_special) const {
  return tokenizer_.tokenize(text, add_special, parse_special);
}

std::string LlamaText::piece(Token token, bool special) const {
  return common_token_to_piece(vocab_, token, special);
}

bool LlamaText::ends_generation(Token token) const { return llama_vocab_is_eog(vocab_, token); }

// Renders three turns, and takes each end-of-generation token with what follows it up to the next
// control token: "<|im_end|>\n", "<end_of_turn>\n", "<|eot_id|>".
std::vector<Tokens> LlamaText::find_turn_ends() const {
  engine::ChatInput probe;
  probe.messages_json =
      R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}])";
  std::vector<Tokens> found;
  const auto chat = render(probe);
  if (!chat) return found;
  const Tokens tokens = tokenize(chat->prompt, true, true);
  constexpr std::size_t kTrailMax = 2;  // a newline or two; more would be content
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!ends_generation(tokens[i])) continue;
    Tokens sequence{tokens[i]};
    for (std::size_t j = i + 1; j < tokens.size() && sequence.size() <= kTrailMax; ++j) {
      const bool blank = piece(tokens[j], true).find_first_not_of(" \n\r\t") == std::string::npos;
      if (!blank) break;
      sequence.push_back(tokens[j]);
    }
    if (std::ranges::find(found, sequence) == found.end()) found.push_back(sequence);
  }
  return found;
}

// What ends a generation, and the control tokens of the headers that the template opens messages
// with.
std::vector<Token> LlamaText::find_turn_words() const {
  std::vector<Token> words;
  for (Token token = 0; token < llama_vocab_n_tokens(vocab_); ++token) {
    if (ends_generation(token)) words.push_back(token);
  }
  engine::ChatInput probe;
  probe.messages_json = R"([{"role":"user","content":"a"}])";
  const auto chat = render(probe);
  if (!chat) return words;
  const auto& format = static_cast<const LlamaReplyFormat&>(*chat->format);
  for (const auto& header : format.delimiters().delimiters) {
    std::ranges::copy_if(header.tokens, std::back_inserter(words),
                         [&](Token token) { return llama_vocab_is_control(vocab_, token); });
  }
  return words;
}

engine::SystemTurns LlamaText::find_system_turns() const {
  return engine::system_turns_of(
      [this](const std::string& messages_json) { return try_template(messages_json); });
}

std::optional<std::string> LlamaText::try_template(const std::string& messages_json) const {
  engine::ChatInput probe;
  probe.messages_json = messages_json;
  const auto chat = render(probe);
  return chat ? std::optional(chat->prompt) : std::nullopt;
}

MessageFloor LlamaText::find_message_floor() const {
  const auto render_probe = [this](const std::string& messages_json) {
    return try_template(messages_json);
  };
  const auto control_tokens = [this](const std::string& prompt) {
    return std::ranges::count_if(tokenize(prompt, true, true), [this](Token token) {
      return llama_vocab_is_control(vocab_, token);
    });
  };
  return {render_probe, control_tokens};
}

std::int64_t LlamaText::chat_tokens_at_least(const engine::ChatInput& input) const {
  return message_floor_.tokens_at_least(
      input.messages_json, [this](std::string_view text) { return tokens_at_least(text); });
}

common_chat_templates_inputs LlamaText::library_inputs(const engine::ChatInput& input) const {
  common_chat_templates_inputs inputs;
  const std::string messages = engine::with_system_turns(input.messages_json, system_turns_);
  inputs.messages = common_chat_msgs_parse_oaicompat(common_json::parse(messages));
  if (!input.tools_json.empty()) {
    inputs.tools = common_chat_tools_parse_oaicompat(common_json::parse(input.tools_json));
  }
  inputs.tool_choice = common_chat_tool_choice_parse_oaicompat(input.tool_choice);
  const auto parallel = card_.chat_template_caps.find("supports_parallel_tool_calls");
  inputs.parallel_tool_calls = input.parallel_tool_calls.value_or(
      parallel != card_.chat_template_caps.end() && parallel->second);
  inputs.json_schema = input.json_schema;
  inputs.grammar = input.grammar;
  inputs.use_jinja = true;
  inputs.reasoning_format = reasoning_format_from_name(input.reasoning_format);
  inputs.chat_template_kwargs = input.template_kwargs;
  inputs.enable_thinking = input.enable_thinking.value_or(true);
  inputs.add_generation_prompt = input.add_generation_prompt && !input.continue_final_message;
  inputs.continue_final_message =
      input.continue_final_message ? COMMON_CHAT_CONTINUATION_AUTO : COMMON_CHAT_CONTINUATION_NONE;
  return inputs;
}

Result<engine::RenderedChat> LlamaText::render(const engine::ChatInput& input) const {
  if (auto fits = check_chat_size(input, render_limits_); !fits) return fits.error();
  if (auto fit = check_schemas(input, grammar_.limits); !fit) return fit.error();
  TemplateMeter meter({render_limits_.steps(), render_limits_.time()});
  try {
    auto chat = render_checked(input);
    if (meter.exceeded()) return template_takes_too_long(render_limits_);
    return chat;
  } catch (const std::exception& failure) {
    if (meter.exceeded()) return template_takes_too_long(render_limits_);
    if (auto schema = find_bad_schema(input); !schema) return schema.error();
    return invalid_argument(
        "messages",
        std::string("The chat template does not take these messages: ") + failure.what());
  }
}

Result<engine::RenderedChat> LlamaText::render_checked(const engine::ChatInput& input) const {
  common_chat_params params = common_chat_templates_apply(templates_.get(), library_inputs(input));
  engine::RenderedChat chat;
  chat.prompt = params.prompt;
  chat.generation_prompt = params.generation_prompt;
  chat.stops = params.additional_stops;
  chat.format = std::make_shared<const LlamaReplyFormat>(std::move(params), input, vocab_);
  if (auto marked = mark_literals(input, chat); !marked) return marked.error();
  return chat;
}

// Throws what the library throws.
Result<void> LlamaText::mark_literals(const engine::ChatInput& input,
                                      engine::RenderedChat& chat) const {
  ContentMarks marks(tokenizer_.special(), turn_words_);
  const auto marked = marks.mark(input);
  if (!marked) return {};
  auto restored =
      marks.restore(common_chat_templates_apply(templates_.get(), library_inputs(*marked)).prompt);
  if (!restored || restored->text != chat.prompt) {
    return invalid_argument(
        "messages",
        "The messages spell control tokens of this model, such as '" + card_.eos_text +
            "', and its chat template changes such text, so that it cannot be told from the "
            "template's own. Write these words in another way.");
  }
  chat.literal = std::move(restored->literal);
  return {};
}

std::vector<MessageSpan> LlamaText::message_spans(const engine::RenderedChat& chat,
                                                  TokenSpan tokens) const {
  const auto& format = static_cast<const LlamaReplyFormat&>(*chat.format);
  std::vector<MessageSpan> spans;
  // The text before the first message that the template marks is its system block: many formats
  // mark only users and assistants.
  const auto add_opening = [&](TokenPos end) {
    if (spans.empty() && end > 0) spans.push_back({Role::kSystem, 0, end});
  };
  for (const auto& span : format.delimiters().split(Tokens(tokens.begin(), tokens.end())).spans) {
    add_opening(static_cast<TokenPos>(span.pos));
    spans.push_back({role_from(span.role), static_cast<TokenPos>(span.pos),
                     static_cast<TokenPos>(span.pos + span.len)});
  }
  if (spans.empty()) spans.push_back({Role::kUnknown, 0, length_of(tokens)});
  return spans;
}

// Made when the first grammar comes: most servers see many, some none, and a large vocabulary takes
// a tenth of a second.
const GrammarContext& LlamaText::grammar_context() const {
  std::call_once(trie_made_, [this] {
    std::vector<std::string> pieces;
    for (Token token = 0; token < llama_vocab_n_tokens(vocab_); ++token) {
      pieces.push_back(piece(token, true));
    }
    grammar_.trie = std::make_shared<const engine::TokenTrie>(pieces);
  });
  return grammar_;
}

Result<std::unique_ptr<engine::Sampler>> LlamaText::make_sampler(
    const engine::SamplingParams& params, const engine::ReplyFormat* format) const {
  auto sampler = LlamaSampler::create(model_.get(), grammar_context(), params,
                                      static_cast<const LlamaReplyFormat*>(format));
  if (!sampler) return sampler.error();
  return std::unique_ptr<engine::Sampler>(std::move(*sampler));
}

std::unique_ptr<engine::ReplyParser> LlamaText::make_parser(
    const engine::ReplyFormat& format) const {
  return std::make_unique<LlamaReplyParser>(static_cast<const LlamaReplyFormat&>(format));
}

}  // namespace holdfast::llama
