#include "engine/llama/llama_reply.h"

#include <sampling.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

namespace holdfast::llama {

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

void add_to(engine::Reply& reply, const std::vector<engine::ReplyDelta>& deltas) {
  for (const engine::ReplyDelta& delta : deltas) {
    reply.reasoning += delta.reasoning;
    reply.content += delta.content;
    if (!delta.tool_index) continue;
    if (*delta.tool_index == reply.tool_calls.size()) {
      reply.tool_calls.push_back(delta.tool);
    } else {
      reply.tool_calls.at(*delta.tool_index).arguments += delta.tool.arguments;
    }
  }
}

// But for the ids of calls, which may be made up.
bool same_events(const std::vector<engine::ReplyDelta>& some,
                 const std::vector<engine::ReplyDelta>& others) {
  return std::ranges::equal(some, others,
                            [](const engine::ReplyDelta& a, const engine::ReplyDelta& b) {
                              return a.reasoning == b.reasoning && a.content == b.content &&
                                     a.tool_index == b.tool_index && a.tool.name == b.tool.name &&
                                     a.tool.arguments == b.tool.arguments;
                            });
}

bool only_arguments(const std::vector<engine::ReplyDelta>& deltas) {
  return std::ranges::all_of(deltas, [](const engine::ReplyDelta& one) {
    return one.tool_index && one.tool.name.empty();
  });
}

// All lists of delimiters in a parser, as the library writes it down.
void collect_markers(const nlohmann::json& part, std::set<std::string>& markers) {
  if (!part.is_structured()) return;
  for (const auto& [name, value] : part.items()) {
    if (name != "delimiters") {
      collect_markers(value, markers);
    } else {
      for (const auto& one : value) markers.insert(one.get<std::string>());
    }
  }
  markers.erase("");
}

// When a text of this length is read again.
std::size_t next_due(std::size_t length) {
  constexpr std::size_t kAlways = LlamaReplyParser::kReadAlways;
  return length > kAlways ? length + length / LlamaReplyParser::kReadShare : 0;
}

}  // namespace

common_reasoning_format reasoning_format_from_name(const std::string& name) {
  if (name == "none") return COMMON_REASONING_FORMAT_NONE;
  if (name == "deepseek") return COMMON_REASONING_FORMAT_DEEPSEEK;
  if (name == "deepseek-legacy") return COMMON_REASONING_FORMAT_DEEPSEEK_LEGACY;
  return COMMON_REASONING_FORMAT_AUTO;
}

LlamaReplyFormat::LlamaReplyFormat(common_chat_params rendered, const engine::ChatInput& input,
                                   const llama_vocab* vocab)
    : rendered_(std::move(rendered)),
      parser_(rendered_),
      client_grammar_(input.grammar),
      has_tools_(!input.tools_json.empty() && input.tool_choice != "none"),
      one_call_only_(input.parallel_tool_calls == false),
      free_content_(input.json_schema.empty()) {
  rendered_.message_delimiters.tokenize(vocab);
  if (!rendered_.parser.empty()) {
    parser_.parser.load(rendered_.parser);
    collect_markers(nlohmann::json::parse(rendered_.parser), markers_);
  }
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
    : params_(format.parser()),
      one_call_only_(format.one_call_only()),
      free_content_(format.free_content()),
      markers_(format.markers()) {
  if (!params_.is_continuation) return;
  try {
    const common_chat_msg message = common_chat_parse("", true, params_);
    baseline_.content = message.content;
    baseline_.reasoning = message.reasoning_content;
  } catch (const std::exception&) {
    baseline_ = {};  // nothing to leave out
  }
}

common_chat_msg LlamaReplyParser::parse(const std::string& text, bool partial) {
  bytes_parsed_ += text.size();
  return common_chat_parse(text, partial, params_);
}

std::vector<engine::ReplyDelta> LlamaReplyParser::feed(std::string_view text) {
  text_ += text;
  window_ += text;
  if (window_.size() < due_) return {};
  std::vector<engine::ReplyDelta> deltas;
  try {
    deltas = read_window();
  } catch (const std::exception&) {
    deltas.clear();  // not yet readable; finish() decides
  }
  due_ = next_due(window_.size());
  return deltas;
}

std::vector<engine::ReplyDelta> LlamaReplyParser::read_window() {
  engine::Reply now = seen_;
  std::vector<engine::ReplyDelta> deltas = advance(now, parse(window_, true), false);
  const bool expected = deltas.empty() || goes_on(deltas) || only_arguments(deltas);
  if (!expected && window_.size() < text_.size()) {
    if (text_.size() < whole_due_) return {};
    whole_due_ = next_due(text_.size());
    engine::Reply whole = sent_;
    std::vector<engine::ReplyDelta> measure = advance(whole, parse(text_, true), false);
    if (!same_events(deltas, measure)) {
      window_ = text_;
      mark_.reset();
      now = std::move(whole);
      deltas = std::move(measure);
    }
  }
  seen_ = std::move(now);
  add_to(sent_, deltas);
  shorten_window(deltas);
  return deltas;
}

// What was fed since the mark belongs to what the mark is in; a rest may be held back.
bool LlamaReplyParser::goes_on(const std::vector<engine::ReplyDelta>& deltas) const {
  if (!mark_ || deltas.size() != 1) return false;
  const std::string& grown = mark_->reasoning ? deltas[0].reasoning : deltas[0].content;
  const bool marked = std::ranges::any_of(
      markers_, [&](const std::string& one) { return grown.find(one) != std::string::npos; });
  return !grown.empty() && !marked &&
         std::string_view(window_).substr(mark_->length).starts_with(grown);
}

// Where nothing is new something is held back, and may still become part of what it follows.
void LlamaReplyParser::shorten_window(const std::vector<engine::ReplyDelta>& deltas) {
  if (deltas.empty()) return;
  if (goes_on(deltas)) {
    const engine::ReplyDelta& delta = deltas.front();
    window_.erase(mark_->length, delta.reasoning.size() + delta.content.size());
    seen_ = mark_->seen;
    return;
  }
  mark_.reset();
  const bool reasoning = !deltas.back().reasoning.empty();
  const std::string& grown = reasoning ? deltas.back().reasoning : deltas.back().content;
  const bool free = reasoning || free_content_;
  if (free && !grown.empty() && window_.ends_with(grown)) {
    mark_ = Mark{window_.size(), reasoning, seen_};
  }
}

std::vector<engine::ReplyDelta> LlamaReplyParser::finish() {
  try {
    return advance(sent_, parse(text_, false), true);
  } catch (const std::exception&) {
    return finish_broken();
  }
}

// The text does not follow its format. What can be read of it is reported as
// such, and the rest as content: it was written, so the client gets to see it.
std::vector<engine::ReplyDelta> LlamaReplyParser::finish_broken() {
  std::vector<engine::ReplyDelta> deltas;
  try {
    deltas = advance(sent_, parse(text_, true), true);
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

std::vector<engine::ReplyDelta> LlamaReplyParser::advance(engine::Reply& seen,
                                                          const common_chat_msg& message,
                                                          bool final) const {
  std::vector<engine::ReplyDelta> deltas;
  const auto reasoning =
      added(seen.reasoning, without_prefix(baseline_.reasoning, message.reasoning_content));
  if (!reasoning.empty()) {
    deltas.push_back(
        {.reasoning = std::string(reasoning), .content = {}, .tool_index = {}, .tool = {}});
  }
  const auto content = added(seen.content, without_prefix(baseline_.content, message.content));
  if (!content.empty()) {
    deltas.push_back(
        {.reasoning = {}, .content = std::string(content), .tool_index = {}, .tool = {}});
  }
  advance_tool_calls(seen, message, final, deltas);
  add_to(seen, deltas);
  return deltas;
}

// A call is announced once its name is known to be whole: when its arguments
// have begun, when another call follows, or at the end.
void LlamaReplyParser::advance_tool_calls(const engine::Reply& seen, const common_chat_msg& message,
                                          bool final,
                                          std::vector<engine::ReplyDelta>& deltas) const {
  const std::size_t reported = std::min<std::size_t>(
      message.tool_calls.size(), one_call_only_ ? 1 : message.tool_calls.size());
  for (std::size_t i = 0; i < reported; ++i) {
    const common_chat_tool_call& call = message.tool_calls[i];
    const bool announced = i < seen.tool_calls.size();
    const bool name_is_whole =
        !call.arguments.empty() || i + 1 < message.tool_calls.size() || final;
    if (!announced) {
      if (call.name.empty() || !name_is_whole) return;
      const engine::ToolCall first{call.id.empty() ? new_tool_call_id() : call.id, call.name,
                                   call.arguments};
      deltas.push_back({.reasoning = {}, .content = {}, .tool_index = i, .tool = first});
      continue;
    }
    const std::string more(added(seen.tool_calls[i].arguments, call.arguments));
    if (more.empty()) continue;
    deltas.push_back({.reasoning = {}, .content = {}, .tool_index = i, .tool = {"", "", more}});
  }
}

}  // namespace holdfast::llama
