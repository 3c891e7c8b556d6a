#include "engine/llama/llama_reply.h"

#include <sampling.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace holdfast::llama {

namespace {

// Ids of tool calls are not compared: they may be invented.
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

// All delimiters in a parser, which the library hands out as JSON.
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

// At which length a text of this length is parsed again.
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

void LlamaReplyFormat::constrain(const llama_vocab* vocab, const engine::SamplingParams& asked,
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
  params.reasoning_budget_tokens = asked.reasoning_budget_tokens;
  params.reasoning_control = asked.reasoning_control;
  params.reasoning_budget_start = common_tokenize(vocab, rendered_.thinking_start_tag, false, true);
  for (const std::string& tag : rendered_.thinking_end_tags) {
    if (!tag.empty())
      params.reasoning_budget_end.push_back(common_tokenize(vocab, tag, false, true));
  }
  if (params.reasoning_budget_end.empty()) return;
  params.reasoning_budget_forced =
      common_tokenize(vocab, asked.reasoning_budget_message, false, true);
  const auto& end = params.reasoning_budget_end.front();
  params.reasoning_budget_forced.insert(params.reasoning_budget_forced.end(), end.begin(),
                                        end.end());
}

const char* LlamaReplyFormat::constraint_field() const {
  if (!client_grammar_.empty()) return "grammar";
  return has_tools_ ? "tools" : "response_format";
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
      diff_(params_, format.one_call_only()),
      free_content_(format.free_content()),
      markers_(format.markers()) {}

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
  std::vector<engine::ReplyDelta> deltas = diff_.advance(now, parse(window_, true), false);
  const bool expected = deltas.empty() || goes_on(deltas) || only_arguments(deltas);
  if (!expected && window_.size() < text_.size()) {
    if (text_.size() < whole_due_) return {};
    whole_due_ = next_due(text_.size());
    engine::Reply whole = sent_;
    std::vector<engine::ReplyDelta> measure = diff_.advance(whole, parse(text_, true), false);
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

// Whether the text since the mark belongs to the reasoning or content that the mark lies in. The
// end of that text may be held back.
bool LlamaReplyParser::goes_on(const std::vector<engine::ReplyDelta>& deltas) const {
  if (!mark_ || deltas.size() != 1) return false;
  const std::string& grown = mark_->reasoning ? deltas[0].reasoning : deltas[0].content;
  const bool marked = std::ranges::any_of(
      markers_, [&](const std::string& one) { return grown.find(one) != std::string::npos; });
  return !grown.empty() && !marked &&
         std::string_view(window_).substr(mark_->length).starts_with(grown);
}

// If nothing is new, something is held back and may still become part of the text before it.
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
    return diff_.advance(sent_, parse(text_, false), true);
  } catch (const std::exception&) {
    return finish_broken();
  }
}

// The text breaks its format. What can be parsed is reported as usual, and the rest as content, so
// that the client sees everything that was generated.
std::vector<engine::ReplyDelta> LlamaReplyParser::finish_broken() {
  std::vector<engine::ReplyDelta> deltas;
  try {
    deltas = diff_.advance(sent_, parse(text_, true), true);
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

// The text after the reasoning and content that were reported so far.
std::string_view LlamaReplyParser::unread_rest() const {
  std::string_view rest = text_;
  for (const std::string* part : {&sent_.reasoning, &sent_.content}) {
    const std::size_t at = part->empty() ? std::string_view::npos : rest.find(*part);
    if (at != std::string_view::npos) rest.remove_prefix(at + part->size());
  }
  return rest;
}

}  // namespace holdfast::llama
