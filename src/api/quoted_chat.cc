#include "api/quoted_chat.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/chat_message.h"
#include "api/json_fields.h"
#include "cache/answer_ids.h"
#include "cache/answer_quotes.h"

namespace holdfast::api {

namespace {

using cache::AnswerIdFate;

// --- replies ------------------------------------------------------------------

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool same_words(std::string_view a, std::string_view b) { return trimmed(a) == trimmed(b); }

// As values: clients write JSON in their own way, with the members in another order.
bool same_arguments(const std::string& a, const std::string& b) {
  const std::string one = arguments_object(a);
  const std::string other = arguments_object(b);
  if (one == other) return true;
  const Result<Json> x = parse_json(one);
  const Result<Json> y = parse_json(other);
  return x.ok() && y.ok() && nlohmann::json(*x) == nlohmann::json(*y);
}

bool same_calls(const std::vector<engine::ToolCall>& a, const std::vector<engine::ToolCall>& b) {
  return std::ranges::equal(a, b, [](const engine::ToolCall& x, const engine::ToolCall& y) {
    return x.name == y.name && same_arguments(x.arguments, y.arguments);
  });
}

engine::Reply read_reply(const engine::TextModel& text, const engine::ReplyFormat& format,
                         std::string_view said) {
  const auto parser = text.make_parser(format);
  (void)parser->feed(said);
  (void)parser->finish();
  return parser->reply();
}

// --- messages -----------------------------------------------------------------

std::string text_or_empty(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string content_of(const Json& message) {
  const auto content = message.find("content");
  if (content == message.end() || !content->is_array()) return text_or_empty(message, "content");
  std::string all;
  for (const Json& part : *content) all += text_or_empty(part, "text");
  return all;
}

// A message in the one shape described at ChatRequest.
engine::Reply reply_of(const Json& message) {
  engine::Reply reply{text_or_empty(message, "reasoning_content"), content_of(message), {}};
  const auto calls = message.find("tool_calls");
  if (calls == message.end()) return reply;
  for (const Json& call : *calls) {
    const Json& function = call.at("function");
    reply.tool_calls.push_back(
        {"", text_or_empty(function, "name"), text_or_empty(function, "arguments")});
  }
  return reply;
}

// --- one request ----------------------------------------------------------------

// The answers that a request quotes: found, compared, fitted into its prompt.
class Quoting {
 public:
  Quoting(const Backend& backend, const ChatRequest& request, SpaceKey space, AskedBy asked_by)
      : backend_(backend),
        request_(request),
        space_(space),
        asked_by_(asked_by),
        tokens_left_(kQuotedContexts * backend.context_tokens) {}

  QuotedChat quote(engine::RenderedChat chat) {
    QuotedChat result{std::move(chat), {}, 0, 0};
    // Decoding made this text, so that it can be read again.
    if (auto messages = parse_json(request_.input.messages_json)) messages_ = std::move(*messages);
    number_assistants();
    find_answers(result);
    restore_thoughts(result.chat);
    fit_answers(result);
    return result;
  }

 private:
  struct Found {
    cache::QuotedAnswer quoted;
    engine::Reply reply;
  };

  void ignore(AnswerIdFate fate, QuotedChat& result) {
    count(fate);
    ++result.ids_ignored;
  }

  void count(AnswerIdFate fate) {
    if (asked_by_ == AskedBy::kClient) backend_.answer_ids->count(fate);
  }

  void find_answers(QuotedChat& result) {
    for (const AnswerRef& ref : request_.answer_refs) {
      const cache::AnswerIds::Reading reading = backend_.answer_ids->read(space_, ref.id);
      if (!reading.name) {
        ignore(reading.fate, result);
        continue;
      }
      if (!names_.insert(reading.name->bytes).second) {
        ignore(AnswerIdFate::kSurplus, result);
        continue;
      }
      auto answer = backend_.history->find_named(space_, *reading.name);
      if (!answer) {
        ignore(AnswerIdFate::kStale, result);
      } else if (length_of(answer->ids) > tokens_left_) {
        ignore(AnswerIdFate::kSurplus, result);
      } else if (!take(ref, std::move(*answer), *result.chat.format)) {
        ignore(AnswerIdFate::kEdited, result);
      }
    }
  }

  // False: the message says something else. Thoughts that it lacks are no difference here; the
  // template cannot show them either.
  bool take(const AnswerRef& ref, tier::RememberedAnswer answer,
            const engine::ReplyFormat& format) {
    if (ref.message >= messages_.size()) return false;
    tokens_left_ -= length_of(answer.ids);
    Json& message = messages_[ref.message];
    std::string sampled = backend_.text->detokenize(answer.ids);
    engine::Reply reply = read_reply(*backend_.text, format, sampled);
    engine::Reply sent = reply_of(message);
    const bool lacks_thoughts = sent.reasoning.empty() && !reply.reasoning.empty();
    if (lacks_thoughts) sent.reasoning = reply.reasoning;
    if (!says_the_same(sent, reply)) return false;
    if (lacks_thoughts && ref.for_thoughts) {
      message["reasoning_content"] = reply.reasoning;
      thoughts_restored_ = true;
    }
    found_.push_back(
        {{ordinals_[ref.message], std::move(answer), std::move(sampled)}, std::move(reply)});
    return true;
  }

  void number_assistants() {
    for (const Json& message : messages_) {
      ordinals_.push_back(assistants_);
      if (is_assistant(message)) ++assistants_;
    }
  }

  [[nodiscard]] static bool is_assistant(const Json& message) {
    return text_or_empty(message, "role") == "assistant";
  }

  void restore_thoughts(engine::RenderedChat& chat) {
    if (!thoughts_restored_) return;
    engine::ChatInput input = request_.input;
    input.messages_json = json_text(messages_);
    if (auto again = render_chat(backend_, std::move(input))) chat = std::move(*again);
  }

  void fit_answers(QuotedChat& result) {
    if (found_.empty()) return;
    std::vector<cache::QuotedAnswer> answers;
    std::map<std::size_t, const engine::Reply*> replies;
    for (Found& found : found_) {
      replies[found.quoted.message] = &found.reply;
      answers.push_back(std::move(found.quoted));
    }
    std::size_t messages = assistants_;
    if (request_.input.continue_final_message && messages > 0) --messages;  // its turn is open
    const auto same = [&](const cache::QuotedAnswer& answer, std::string_view rendered) {
      return says_the_same(*replies.at(answer.message),
                           read_reply(*backend_.text, *result.chat.format, rendered));
    };
    cache::QuotedPrompt quoted =
        cache::quote_answers(*backend_.text, result.chat, messages, answers, same);
    result.chat.prompt = std::move(quoted.text);
    result.chat.literal = std::move(quoted.literal);
    result.quotes = std::move(quoted.quotes);
    for (const bool used : quoted.used) {
      if (!used) {
        ignore(AnswerIdFate::kNotShown, result);
        continue;
      }
      count(AnswerIdFate::kUsed);
      ++result.ids_used;
    }
  }

  const Backend& backend_;
  const ChatRequest& request_;
  const SpaceKey space_;
  const AskedBy asked_by_;
  Json messages_ = Json::array();
  std::vector<std::size_t> ordinals_;  // of each message: the assistant's ones before it
  std::size_t assistants_ = 0;
  std::set<decltype(tier::AnswerName::bytes)> names_;  // seen in this request
  TokenPos tokens_left_;                               // that may yet be quoted
  std::vector<Found> found_;
  bool thoughts_restored_ = false;
};

}  // namespace

bool says_the_same(const engine::Reply& a, const engine::Reply& b) {
  return same_words(a.reasoning, b.reasoning) && same_words(a.content, b.content) &&
         same_calls(a.tool_calls, b.tool_calls);
}

Result<engine::RenderedChat> render_chat(const Backend& backend, engine::ChatInput input) {
  if (!input.enable_thinking) input.enable_thinking = backend.enable_thinking;
  return backend.text->render(input);
}

Result<QuotedChat> render_quoting(const Backend& backend, const ChatRequest& request,
                                  SpaceKey space, AskedBy asked_by) {
  auto chat = render_chat(backend, request.input);
  if (!chat) return chat.error();
  const bool possible = backend.answer_ids != nullptr && backend.history != nullptr;
  if (request.answer_refs.empty() || !possible || chat->format == nullptr) {
    return QuotedChat{std::move(*chat), {}, 0, 0};
  }
  return Quoting(backend, request, space, asked_by).quote(std::move(*chat));
}

cache::TokenizedPrompt tokenize_quoted(const Backend& backend, SpaceKey space,
                                       const QuotedChat& quoted) {
  const engine::RenderedChat& chat = quoted.chat;
  if (backend.history == nullptr) {
    return {.tokens = backend.text->tokenize_prompt(chat.prompt, true, chat.literal)};
  }
  return backend.history->tokenize(space, *backend.text, chat.prompt, quoted.quotes, chat.literal);
}

}  // namespace holdfast::api
