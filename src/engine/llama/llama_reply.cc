#include "engine/llama/llama_reply.h"

#include <sampling.h>

#include <algorithm>
#include <random>

namespace holdfast {

namespace {

std::string new_tool_call_id() {
  static constexpr std::string_view kAlphabet =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::uniform_int_distribution<std::size_t> index(0, kAlphabet.size() - 1);
  std::string id = "call_";
  for (int i = 0; i < 24; ++i) id += kAlphabet[index(random)];
  return id;
}

// What `now` adds to `before`; nothing when the parser has changed its mind
// about what came before, until the text agrees again.
std::string_view added(std::string_view before, std::string_view now) {
  return now.starts_with(before) ? now.substr(before.size()) : std::string_view{};
}

std::string_view without_prefix(std::string_view prefix, std::string_view text) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

}  // namespace

common_reasoning_format reasoning_format_from_name(const std::string& name) {
  if (name == "none") return COMMON_REASONING_FORMAT_NONE;
  if (name == "deepseek") return COMMON_REASONING_FORMAT_DEEPSEEK;
  if (name == "deepseek-legacy") return COMMON_REASONING_FORMAT_DEEPSEEK_LEGACY;
  return COMMON_REASONING_FORMAT_AUTO;
}

LlamaReplyFormat::LlamaReplyFormat(common_chat_params rendered, const ChatInput& input,
                                   const llama_vocab* vocab)
    : rendered_(std::move(rendered)),
      parser_(rendered_),
      client_grammar_(input.grammar),
      has_tools_(!input.tools_json.empty() && input.tool_choice != "none"),
      one_call_only_(input.parallel_tool_calls == false) {
  rendered_.message_delimiters.tokenize(vocab);
  if (!rendered_.parser.empty()) parser_.parser.load(rendered_.parser);
  parser_.reasoning_format = reasoning_format_from_name(input.reasoning_format);
  parser_.reasoning_in_content =
      input.stream && parser_.reasoning_format == COMMON_REASONING_FORMAT_DEEPSEEK_LEGACY;
  parser_.parse_tool_calls = has_tools_;
  parser_.is_continuation = input.continue_final_message;
}

void LlamaReplyFormat::constrain(const llama_vocab* vocab, int reasoning_budget,
                                 common_params_sampling& params) const {
  if (!client_grammar_.empty()) {
    params.grammar = {COMMON_GRAMMAR_TYPE_USER, client_grammar_};
  } else if (!rendered_.grammar.empty()) {
    params.grammar = {COMMON_GRAMMAR_TYPE_TOOL_CALLS, rendered_.grammar};
    params.grammar_lazy = rendered_.grammar_lazy;
  }
  params.generation_prompt = rendered_.generation_prompt;
  for (const std::string& text : rendered_.preserved_tokens) {
    const auto tokens = common_tokenize(vocab, text, false, true);
    if (tokens.size() == 1) params.preserved_tokens.insert(tokens[0]);
  }
  add_triggers(vocab, params);
  if (rendered_.thinking_end_tags.empty()) return;
  params.reasoning_budget_tokens = reasoning_budget;
  params.reasoning_budget_start = common_tokenize(vocab, rendered_.thinking_start_tag, false, true);
  for (const std::string& tag : rendered_.thinking_end_tags) {
    if (!tag.empty())
      params.reasoning_budget_end.push_back(common_tokenize(vocab, tag, false, true));
  }
  if (!params.reasoning_budget_end.empty()) {
    params.reasoning_budget_forced = params.reasoning_budget_end.front();
  }
}

// A trigger word that is one token triggers by that token, as sampling needs it.
void LlamaReplyFormat::add_triggers(const llama_vocab* vocab,
                                    common_params_sampling& params) const {
  for (common_grammar_trigger trigger : rendered_.grammar_triggers) {
    if (trigger.type == COMMON_GRAMMAR_TRIGGER_TYPE_WORD) {
      const auto tokens = common_tokenize(vocab, trigger.value, false, true);
      if (tokens.size() == 1) {
        trigger.type = COMMON_GRAMMAR_TRIGGER_TYPE_TOKEN;
        trigger.token = tokens[0];
        params.preserved_tokens.insert(tokens[0]);
      }
    }
    params.grammar_triggers.push_back(std::move(trigger));
  }
}

LlamaReplyParser::LlamaReplyParser(const LlamaReplyFormat& format)
    : params_(format.parser()), one_call_only_(format.one_call_only()) {
  if (!params_.is_continuation) return;
  try {
    const common_chat_msg message = common_chat_parse("", true, params_);
    baseline_.content = message.content;
    baseline_.reasoning = message.reasoning_content;
  } catch (const std::exception&) {
    baseline_ = {};  // nothing to leave out
  }
}

std::vector<ReplyDelta> LlamaReplyParser::feed(std::string_view text) {
  text_ += text;
  try {
    return advance_to(common_chat_parse(text_, true, params_), false);
  } catch (const std::exception&) {
    return {};  // not yet readable; finish() decides
  }
}

std::vector<ReplyDelta> LlamaReplyParser::finish() {
  try {
    return advance_to(common_chat_parse(text_, false, params_), true);
  } catch (const std::exception&) {
    return finish_broken();
  }
}

// The text does not follow its format. What can be read of it is reported as
// such, and the rest as content: it was written, so the client gets to see it.
std::vector<ReplyDelta> LlamaReplyParser::finish_broken() {
  std::vector<ReplyDelta> deltas;
  try {
    deltas = advance_to(common_chat_parse(text_, true, params_), true);
  } catch (const std::exception&) {
    deltas.clear();
  }
  if (!sent_.tool_calls.empty()) return deltas;
  const std::string_view rest = unread_rest();
  if (rest.empty()) return deltas;
  sent_.content += rest;
  deltas.push_back({.reasoning = {}, .content = std::string(rest), .tool_index = {}, .tool = {}});
  return deltas;
}

// What follows, in the text, on the reasoning and content reported so far.
std::string_view LlamaReplyParser::unread_rest() const {
  std::string_view rest = text_;
  for (const std::string* part : {&sent_.reasoning, &sent_.content}) {
    const std::size_t at = part->empty() ? std::string_view::npos : rest.find(*part);
    if (at != std::string_view::npos) rest.remove_prefix(at + part->size());
  }
  return rest;
}

std::vector<ReplyDelta> LlamaReplyParser::advance_to(const common_chat_msg& message, bool final) {
  std::vector<ReplyDelta> deltas;
  const auto reasoning =
      added(sent_.reasoning, without_prefix(baseline_.reasoning, message.reasoning_content));
  if (!reasoning.empty()) {
    deltas.push_back(
        {.reasoning = std::string(reasoning), .content = {}, .tool_index = {}, .tool = {}});
    sent_.reasoning += reasoning;
  }
  const auto content = added(sent_.content, without_prefix(baseline_.content, message.content));
  if (!content.empty()) {
    deltas.push_back(
        {.reasoning = {}, .content = std::string(content), .tool_index = {}, .tool = {}});
    sent_.content += content;
  }
  advance_tool_calls(message, final, deltas);
  return deltas;
}

// A call is announced once its name is known to be whole: when its arguments
// have begun, when another call follows, or at the end.
void LlamaReplyParser::advance_tool_calls(const common_chat_msg& message, bool final,
                                          std::vector<ReplyDelta>& deltas) {
  const std::size_t reported = std::min<std::size_t>(
      message.tool_calls.size(), one_call_only_ ? 1 : message.tool_calls.size());
  for (std::size_t i = 0; i < reported; ++i) {
    const common_chat_tool_call& call = message.tool_calls[i];
    const bool announced = i < sent_.tool_calls.size();
    const bool name_is_whole =
        !call.arguments.empty() || i + 1 < message.tool_calls.size() || final;
    if (!announced) {
      if (call.name.empty() || !name_is_whole) return;
      const ToolCall first{call.id.empty() ? new_tool_call_id() : call.id, call.name,
                           call.arguments};
      sent_.tool_calls.push_back(first);
      deltas.push_back({.reasoning = {}, .content = {}, .tool_index = i, .tool = first});
      continue;
    }
    const std::string more(added(sent_.tool_calls[i].arguments, call.arguments));
    if (more.empty()) continue;
    sent_.tool_calls[i].arguments += more;
    deltas.push_back({.reasoning = {}, .content = {}, .tool_index = i, .tool = {"", "", more}});
  }
}

}  // namespace holdfast
