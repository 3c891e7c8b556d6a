#include "api/prompt_sections.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

using cache::PromptSection;

// Enough to tell texts apart; templates may change what lies between.
constexpr std::size_t kProbeBytes = 96;
// A message begins with its header ("<|im_start|>system\n"). What is longer are tools.
constexpr TokenPos kHeaderTokensMax = 16;

Role role_named(const std::string& name) {
  for (const Role role : {Role::kSystem, Role::kUser, Role::kAssistant, Role::kTool})
    if (name == role_name(role)) return role;
  return Role::kUnknown;
}

// Tool results and later instructions are often written as the user's.
bool may_hold(Role span, Role message) {
  if (span == Role::kUnknown || span == message) return true;
  return span == Role::kUser && message != Role::kAssistant;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// A prompt's text, and the tokens that its bytes belong to.
class TokenText {
 public:
  TokenText(const engine::TextModel& model, TokenSpan prompt) {
    for (const Token token : prompt) {
      begins_.push_back(text_.size());
      text_ += model.piece(token, true);
    }
    begins_.push_back(text_.size());
  }

  [[nodiscard]] std::size_t byte_at(TokenPos position) const {
    return begins_[static_cast<std::size_t>(position)];
  }
  [[nodiscard]] TokenPos token_at(std::size_t byte) const {
    const auto next = std::upper_bound(begins_.begin(), begins_.end(), byte);
    return static_cast<TokenPos>(next - begins_.begin()) - 1;
  }
  // In [from, end).
  [[nodiscard]] std::optional<std::size_t> find(std::string_view part, std::size_t from,
                                                std::size_t end) const {
    if (part.empty() || from >= end) return std::nullopt;
    const auto at = std::string_view(text_).substr(0, end).find(part, from);
    return at == std::string::npos ? std::nullopt : std::optional(at);
  }

 private:
  std::string text_;
  std::vector<std::size_t> begins_;
};

// The text of one source, by its two ends.
struct SourceText {
  Role role = Role::kUnknown;
  std::string first;
  std::string last;
  std::size_t length = 0;  // templates may add to it, where texts are joined
};

SourceText text_of(const Json& message, std::size_t begin, std::size_t end) {
  SourceText text{.role = role_named(message.value("role", ""))};
  const auto append = [&](std::string_view part) {
    part = trimmed(part);
    if (text.length == 0) text.first = part.substr(0, kProbeBytes);
    if (!part.empty()) text.last = part.substr(part.size() - std::min(part.size(), kProbeBytes));
    text.length += part.size();
  };
  const Json& content = message.at("content");
  if (content.is_array()) {
    for (const Json& part : content) append(part.value("text", ""));
  } else {
    append(content.get<std::string>().substr(begin, end - begin));
  }
  return text;
}

// Where a message lies, in bytes. `fresh`: it is the first one in its span.
struct Found {
  std::size_t span = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool fresh = false;
};

// Goes along the spans, from message to message.
class SpanWalk {
 public:
  SpanWalk(const engine::TextModel& model, const std::vector<MessageSpan>& spans, TokenSpan prompt)
      : spans_(spans), text_(model, prompt) {}

  [[nodiscard]] std::optional<Found> next_answer() const {
    for (std::size_t i = next_fresh(); i < spans_.size(); ++i)
      if (spans_[i].role == Role::kAssistant) return whole(i);
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Found> locate(const SourceText& text) const {
    if (text.role == Role::kAssistant) return next_answer();
    if (span_ < spans_.size() && may_hold(spans_[span_].role, text.role))
      if (auto found = find_in(span_, text)) return found;
    for (std::size_t i = next_fresh(); i < spans_.size(); ++i) {
      if (!may_hold(spans_[i].role, text.role)) continue;
      auto found = find_in(i, text);
      return found ? found : whole(i);
    }
    return std::nullopt;
  }

  void take(const Found& found) {
    span_ = found.span;
    byte_ = found.end;
    used_ = true;
  }

  [[nodiscard]] TokenPos token_at(std::size_t byte) const { return text_.token_at(byte); }
  [[nodiscard]] TokenPos span_begin(const Found& found) const { return spans_[found.span].begin; }

 private:
  [[nodiscard]] std::size_t next_fresh() const { return used_ ? span_ + 1 : span_; }

  [[nodiscard]] std::optional<Found> find_in(std::size_t span, const SourceText& text) const {
    const std::size_t end = text_.byte_at(spans_[span].end);
    const std::size_t from = std::max(byte_, text_.byte_at(spans_[span].begin));
    const auto begin = text_.find(text.first, from, end);
    if (!begin) return std::nullopt;
    // Not before: a long text may hold its own end more than once.
    const auto last = text_.find(text.last, *begin + text.length - text.last.size(), end);
    const std::size_t text_end = last ? *last + text.last.size() : *begin + text.length;
    return Found{span, *begin, std::min(text_end, end), !used_ || span != span_};
  }

  // Its text is not as it was sent, but the span can only be its own.
  [[nodiscard]] Found whole(std::size_t span) const {
    const std::size_t begin = text_.byte_at(spans_[span].begin);
    return {span, begin, begin, true};
  }

  const std::vector<MessageSpan>& spans_;
  const TokenText text_;
  std::size_t span_ = 0;  // that the latest message lies in
  std::size_t byte_ = 0;  // where it ends
  bool used_ = false;     // whether there is one
};

class SectionFinder {
 public:
  SectionFinder(const engine::TextModel& model, const ChatRequest& request,
                const std::vector<MessageSpan>& spans, TokenSpan prompt)
      : request_(request), walk_(model, spans, prompt) {
    // Decoding made this text, so that it can be read again.
    if (auto messages = parse_json(request.input.messages_json)) messages_ = std::move(*messages);
  }

  std::vector<PromptSection> find() {
    for (std::size_t i = 0; i < request_.sources.size(); ++i) place(i);
    place_answer();
    place_lone_tools();
    note_last_turn();
    return std::move(sections_);
  }

 private:
  void place(std::size_t number) {
    const MessageSource& source = request_.sources[number];
    if (source.message >= messages_.size()) return;
    const SourceText text = text_of(messages_[source.message], source.offset, end_of(number));
    const auto found = walk_.locate(text);
    if (!found) return;
    in_opening_ = in_opening_ && text.role == Role::kSystem;
    if (in_opening_) place_tools_before(*found);
    add({.begin = begin_of(*found),
         .name = source.name(),
         .index = source.first,
         .role = text.role,
         .has_reasoning = source.has_reasoning});
    walk_.take(*found);
    if (in_opening_) place_tools_after(number, found->end);
  }

  // Where the text of the next source in the same message begins.
  [[nodiscard]] std::size_t end_of(std::size_t number) const {
    const MessageSources& all = request_.sources;
    const bool shared = number + 1 < all.size() && all[number + 1].message == all[number].message;
    return shared ? all[number + 1].offset : std::string::npos;
  }

  // What precedes the first text of a span is its header, unless it is the tools.
  [[nodiscard]] TokenPos begin_of(const Found& found) const {
    const bool header = found.fresh && !(sections_.size() == 1 && has_tools_section());
    return header ? walk_.span_begin(found) : walk_.token_at(found.begin);
  }

  void add(PromptSection section) {
    if (!sections_.empty()) section.begin = std::max(section.begin, sections_.back().begin);
    sections_.push_back(std::move(section));
  }

  [[nodiscard]] bool has_tools() const {
    return !request_.input.tools_json.empty() && request_.input.tool_choice != "none";
  }
  [[nodiscard]] bool has_tools_section() const {
    return std::ranges::find(sections_, cache::kToolsSection, &PromptSection::name) !=
           sections_.end();
  }

  void add_tools(TokenPos begin) {
    if (!has_tools() || has_tools_section()) return;
    add({.begin = begin, .name = cache::kToolsSection, .role = Role::kSystem});
  }

  void place_tools_before(const Found& found) {
    if (sections_.empty() && walk_.token_at(found.begin) > kHeaderTokensMax) add_tools(0);
  }

  // After the last system text of the opening.
  void place_tools_after(std::size_t number, std::size_t byte) {
    const bool more = number + 1 < request_.sources.size() &&
                      messages_[request_.sources[number + 1].message].value("role", "") == "system";
    if (!more) add_tools(walk_.token_at(byte));
  }

  // Without a system message, the template writes them into one of its own.
  void place_lone_tools() {
    if (!has_tools() || has_tools_section()) return;
    if (sections_.empty() || sections_.front().begin == 0) return;
    sections_.insert(sections_.begin(), {.name = cache::kToolsSection, .role = Role::kSystem});
  }

  // The header that opens the answer belongs to no message.
  void place_answer() {
    if (const auto answer = walk_.next_answer())
      add({.begin = walk_.span_begin(*answer), .role = Role::kAssistant});
  }

  void note_last_turn() {
    for (auto section = sections_.rbegin(); section != sections_.rend(); ++section) {
      if (section->role == Role::kUser) return;
      section->in_last_turn = true;
    }
  }

  const ChatRequest& request_;
  SpanWalk walk_;
  Json messages_ = Json::array();
  std::vector<PromptSection> sections_;
  bool in_opening_ = true;  // only system messages so far
};

}  // namespace

std::vector<PromptSection> prompt_sections(const engine::TextModel& text,
                                           const ChatRequest& request,
                                           const std::vector<MessageSpan>& spans,
                                           TokenSpan prompt) {
  return SectionFinder(text, request, spans, prompt).find();
}

}  // namespace holdfast::api
