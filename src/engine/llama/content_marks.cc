#include "engine/llama/content_marks.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace holdfast::llama {

namespace {

using engine::ChatInput;
using engine::TextRange;

// The characters of a block, by their last byte.
constexpr char kOpen = '\x80';
constexpr char kClose = '\x81';
constexpr int kFirstDigit = 0x82;
constexpr std::size_t kDigits = 0xc0 - kFirstDigit;

// The first three bytes of the characters from U+F0000 + 64 * number on.
std::string block_prefix(unsigned number) {
  const unsigned code_point = 0xf0000U + 64U * number;
  return {'\xf3', static_cast<char>(0x80U | ((code_point >> 12U) & 0x3fU)),
          static_cast<char>(0x80U | ((code_point >> 6U) & 0x3fU))};
}

// JSON text in which a word could hide: in several parts, or behind an escape. Those of control
// characters, which terminals' output is full of, hide none.
bool may_hide_words(std::string_view json) {
  if (json.find("\"content\":[") != json.npos) return true;
  for (std::size_t at = json.find("\\u"); at != json.npos; at = json.find("\\u", at + 2)) {
    const std::string_view code = json.substr(at + 2, 3);
    if (code != "000" && code != "001") return true;
  }
  return false;
}

}  // namespace

std::optional<ChatInput> ContentMarks::mark(const ChatInput& input) {
  std::string request = input.messages_json + '\n' + input.tools_json;
  for (const auto& [name, json] : input.template_kwargs) request += '\n' + json;
  if (!may_hide_words(request) && !words_.need_escapes() && words_.find_control(request).empty())
    return std::nullopt;
  choose_block(request);
  ChatInput marked = input;
  mark_field(marked.messages_json, [&](Json& messages) {
    for (Json& message : messages) mark_message(message);
  });
  const auto mark_all = [&](Json& value) { mark_json(value, std::nullopt); };
  mark_field(marked.tools_json, mark_all);
  for (auto& [name, json] : marked.template_kwargs) mark_field(json, mark_all);
  return marks_ == 0 ? std::nullopt : std::optional(std::move(marked));
}

// JSON text of the input, written again if anything in it is marked.
template <typename Mark>
void ContentMarks::mark_field(std::string& json, Mark mark) {
  if (json.empty()) return;
  const std::size_t before = marks_;
  Json value = Json::parse(json);
  mark(value);
  if (marks_ > before) json = value.dump();
}

void ContentMarks::choose_block(std::string_view request) {
  constexpr unsigned kBlocks = 1023;
  for (unsigned i = 0; i < kBlocks; ++i) {
    block_ = block_prefix(i);
    if (request.find(block_) == request.npos) return;
  }
  throw std::runtime_error("they use every private character there is");
}

std::string ContentMarks::mark_for(std::string_view text) {
  const auto known = std::ranges::find(marked_, text);
  auto number = static_cast<std::size_t>(known - marked_.begin());
  if (known == marked_.end()) marked_.emplace_back(text);
  ++marks_;
  std::string mark = block_ + kOpen;
  for (; number > 0; number /= kDigits) {
    mark += block_ + static_cast<char>(kFirstDigit + static_cast<int>(number % kDigits));
  }
  return mark + block_ + kClose;
}

// Several parts that a template may join: a word may begin in one and end in the next.
void ContentMarks::mark_texts(std::span<std::string* const> parts, Only only) {
  std::string joined;
  for (const std::string* part : parts) joined += *part;
  const std::vector<TextRange> found = words_.find_control(joined, only);
  if (found.empty()) return;
  std::size_t begin = 0;
  for (std::string* part : parts) {
    const std::size_t end = begin + part->size();
    std::string marked;
    std::size_t copied = begin;
    auto range = std::ranges::upper_bound(found, begin, {}, &TextRange::end);
    for (; range != found.end() && range->begin < end; ++range) {
      const TextRange own{std::max(range->begin, begin), std::min(range->end, end)};
      marked.append(joined, copied, own.begin - copied);
      marked += mark_for(std::string_view(joined).substr(own.begin, own.end - own.begin));
      copied = own.end;
    }
    marked.append(joined, copied, end - copied);
    *part = std::move(marked);
    begin = end;
  }
}

void ContentMarks::mark_json(Json& value, Only only) {
  if (value.is_string()) {
    std::string* const text = value.get_ptr<std::string*>();
    mark_texts({&text, 1}, only);
  } else if (value.is_array()) {
    for (Json& element : value) mark_json(element, only);
  } else if (value.is_object()) {
    Json marked = Json::object();
    for (const auto& [name, member] : value.items()) {
      std::string key = name;
      std::string* const text = &key;
      mark_texts({&text, 1}, only);
      mark_json(marked[key] = member, only);
    }
    value = std::move(marked);
  }
}

// JSON in a string, which may spell a word with escapes. It keeps its spelling otherwise.
void ContentMarks::mark_arguments(std::string& arguments, Only only) {
  const std::size_t before = marks_;
  std::string* const text = &arguments;
  mark_texts({&text, 1}, only);
  if (marks_ > before || arguments.find('\\') == std::string::npos) return;
  Json value = Json::parse(arguments, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return;
  mark_json(value, only);
  if (marks_ > before) arguments = value.dump();
}

void ContentMarks::mark_content(Json& content, Only only) {
  if (!content.is_array()) return mark_json(content, only);
  std::vector<std::string*> texts;
  for (Json& part : content) {
    const auto text = part.is_object() ? part.find("text") : part.end();
    if (text != part.end() && text->is_string()) texts.push_back(text->get_ptr<std::string*>());
  }
  mark_texts(texts, only);
}

void ContentMarks::mark_call(Json& call, Only only) {
  const nlohmann::json_pointer<std::string> place("/function/arguments");
  Json arguments = call.contains(place) ? std::exchange(call[place], nullptr) : Json();
  mark_json(call, only);
  if (arguments.is_string()) {
    mark_arguments(*arguments.get_ptr<std::string*>(), only);
  } else {
    mark_json(arguments, only);
  }
  if (call.contains(place)) call[place] = std::move(arguments);
}

void ContentMarks::mark_message(Json& message) {
  const bool assistant = message.value("role", "") == "assistant";
  const Only only = assistant ? Only(turn_words_) : std::nullopt;
  for (const auto& [name, value] : message.items()) {
    if (name == "role") continue;
    if (name == "content") {
      mark_content(value, only);
    } else if (name == "tool_calls" && value.is_array()) {
      for (Json& call : value) mark_call(call, only);
    } else {
      mark_json(value, only);
    }
  }
}

std::optional<RestoredPrompt> ContentMarks::restore(std::string_view rendered) const {
  RestoredPrompt restored;
  std::size_t at = 0;
  // The last byte of the block's character that is next; 0: another character.
  const auto next = [&]() -> unsigned char {
    if (rendered.substr(at, 3) != block_ || at + 3 >= rendered.size()) return 0;
    at += 4;
    return static_cast<unsigned char>(rendered[at - 1]);
  };
  while (true) {
    const std::size_t mark = rendered.find(block_, at);
    restored.text += rendered.substr(at, mark - at);
    if (mark == rendered.npos) return restored;
    at = mark;
    if (next() != static_cast<unsigned char>(kOpen)) return std::nullopt;
    std::size_t number = 0;
    std::size_t unit = 1;
    unsigned char digit = next();
    for (; digit >= kFirstDigit && unit <= marked_.size(); digit = next(), unit *= kDigits) {
      number += unit * (digit - kFirstDigit);
    }
    if (digit != static_cast<unsigned char>(kClose) || number >= marked_.size())
      return std::nullopt;
    restored.literal.push_back(
        {restored.text.size(), restored.text.size() + marked_[number].size()});
    restored.text += marked_[number];
  }
}

}  // namespace holdfast::llama
