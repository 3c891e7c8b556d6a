#include "api/answer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/access.h"
#include "api/next_turn.h"
#include "api/session_id.h"
#include "api/worker.h"

namespace holdfast::api {

namespace asio = boost::asio;

// GCC 12 destroys some temporaries of a co_await expression twice (its PR 99576),
// so what is handed to an awaited call here has a name.

namespace {

using Letters = std::vector<Mailbox::Letter>;
using TimePoint = std::chrono::steady_clock::time_point;

std::optional<Error> failure_among(const Letters& letters) {
  for (const auto& letter : letters) {
    if (const auto* failed = std::get_if<serve::Failed>(&letter.event)) return failed->error;
  }
  return std::nullopt;
}

// What the steps of one answer share.
struct Answering {
  const Protocol& protocol;
  AnswerUnderWay& answer;
  AnswerStyle& style;
  Generations& generations;
  HttpResponder& responder;
  RequestEnd* log;

  // A stream has its status already; why it failed is in the log all the same.
  void note_failure(const Error& error) const {
    if (log != nullptr) log->why = error.message;
  }
};

asio::awaitable<void> refuse(const Protocol& protocol, const Error& error,
                             HttpResponder& responder) {
  HttpResponse refusal = protocol.refuse(error, std::nullopt);
  co_await responder.send(std::move(refusal));
}

// --- whole answers -----------------------------------------------------------

// The text is read once, at the end.
void keep_letter(AnswerUnderWay& answer, const Mailbox::Letter& letter) {
  ChoiceReader& reader = answer.readers[letter.choice];
  if (const auto* text = std::get_if<serve::TextDelta>(&letter.event)) reader.keep_text(*text);
  if (const auto* end = std::get_if<serve::Finished>(&letter.event)) (void)reader.on_finished(*end);
}

asio::awaitable<void> answer_whole(Answering& at) {
  while (!at.generations.done()) {
    const Letters letters = co_await at.generations.take(at.answer.backend->keep_alive_every);
    if (const auto failure = failure_among(letters)) {
      co_await refuse(at.protocol, *failure, at.responder);
      co_return;
    }
    for (const auto& letter : letters) keep_letter(at.answer, letter);
  }
  HttpResponse whole;
  whole.headers = at.style.headers();
  whole.body = at.style.whole();
  co_await at.responder.send(std::move(whole));
}

// --- streams -----------------------------------------------------------------

void show_letter(Answering& at, const Mailbox::Letter& letter, std::string& out) {
  ChoiceReader& reader = at.answer.readers[letter.choice];
  if (const auto* progress = std::get_if<serve::PromptProgress>(&letter.event)) {
    at.style.on_progress(letter.choice, *progress, out);
  } else if (const auto* text = std::get_if<serve::TextDelta>(&letter.event)) {
    at.style.on_deltas(letter.choice, reader.on_text(*text), &text->timings, out);
  } else if (const auto* finished = std::get_if<serve::Finished>(&letter.event)) {
    at.style.on_deltas(letter.choice, reader.on_finished(*finished), nullptr, out);
    at.style.on_finished(letter.choice, out);
  }
}

asio::awaitable<void> begin_stream(Answering& at) {
  HttpResponse head{.content_type = at.style.stream_type(),
                    .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}};
  for (auto& header : at.style.headers()) head.headers.push_back(std::move(header));
  at.style.begin(head.body);
  co_await at.responder.begin_stream(std::move(head));
}

// When the client next wants to see that somebody is there.
class SilenceTimer {
 public:
  explicit SilenceTimer(std::chrono::milliseconds limit) : limit_(limit) { restart(); }
  void restart() { due_ = std::chrono::steady_clock::now() + limit_; }
  [[nodiscard]] bool due() const { return left().count() <= 0; }
  [[nodiscard]] std::chrono::milliseconds left() const {
    return std::chrono::ceil<std::chrono::milliseconds>(due_ - std::chrono::steady_clock::now());
  }

 private:
  std::chrono::milliseconds limit_;
  TimePoint due_;
};

// What the letters look like to the client, or a sign of life.
std::string next_piece(Answering& at, const Letters& letters, SilenceTimer& silence) {
  std::string piece;
  if (const auto failure = failure_among(letters)) {
    at.note_failure(*failure);
    at.style.fail(*failure, piece);
    return piece;
  }
  for (const auto& letter : letters) show_letter(at, letter, piece);
  if (at.generations.done()) at.style.end(piece);
  const bool silent = piece.empty() && silence.due();
  if (silent) at.style.keep_alive(piece);
  if (silent || !piece.empty()) silence.restart();
  return piece;
}

asio::awaitable<void> answer_stream(Answering& at) {
  SilenceTimer silence(at.answer.backend->keep_alive_every);
  bool begun = at.style.begins_at_once();
  if (begun) co_await begin_stream(at);
  while (!at.generations.done()) {
    const Letters letters = co_await at.generations.take(silence.left());
    const auto failure = failure_among(letters);
    if (failure && !begun) {
      co_await refuse(at.protocol, *failure, at.responder);
      co_return;
    }
    if (!std::exchange(begun, true)) co_await begin_stream(at);
    const std::string piece = next_piece(at, letters, silence);
    co_await at.responder.write(piece);
    if (failure) break;
  }
  co_await at.responder.end_stream();
}

// --- both --------------------------------------------------------------------

AnswerUnderWay open_answer(const AnswerContext& context, const Protocol& protocol,
                           const ReadyRequest& ready) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  AnswerUnderWay answer{.backend = context.backend,
                        .options = ready.options,
                        .id = new_id(protocol.id_prefix),
                        .created = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                        .readers = {},
                        .echoes = {}};
  for (const PreparedChoice& choice : ready.prepared.choices) {
    answer.readers.emplace_back(*context.backend->text, ready.prepared.format.get(),
                                ready.options.reports_tokens(), choice.answer_id);
    answer.echoes.push_back(choice.echo);
  }
  return answer;
}

ContextOverflow overflow_of(const Backend& backend, const Prepared& prepared) {
  const bool at_least = prepared.too_long.has_value();
  ContextOverflow overflow{prepared.tokens_at_least, backend.context_tokens, at_least};
  for (const PreparedChoice& choice : prepared.choices)
    overflow.prompt_tokens = std::max(overflow.prompt_tokens, length_of(choice.request.prompt));
  return overflow;
}

void note_tool_calls(const AnswerUnderWay& answer, Generations& generations) {
  for (std::size_t i = 0; i < answer.readers.size(); ++i) {
    const ChoiceReader& reader = answer.readers[i];
    if (reader.finished() && !reader.reply().tool_calls.empty()) generations.note_tool_call(i);
  }
}

// What was cut short is more likely to be asked for again than to go on.
void offer_next_turn_of(const AnswerContext& context, const AnswerUnderWay& answer,
                        const std::shared_ptr<const AskedChat>& asked,
                        const Generations& generations) {
  if (asked == nullptr || !all_finished(answer)) return;
  const ChoiceReader& reader = answer.readers.front();
  const serve::FinishReason reason = reader.finished()->reason;
  const bool cut =
      reason == serve::FinishReason::kMaxTokens || reason == serve::FinishReason::kContextFull;
  if (cut) return;
  offer_next_turn(context.backend, context.worker, asked, reader.reply(), reader.answer_id(),
                  generations.id(0));
}

void note_tokens(const AnswerUnderWay& answer, RequestEnd* log) {
  if (log == nullptr || !all_finished(answer)) return;
  const Usage usage = total_usage(answer);
  log->for_model = true;
  log->tokens = {usage.cached_tokens, usage.prompt_tokens - usage.cached_tokens,
                 usage.completion_tokens};
}

// But for the id of the answer.
Origin origin_of(const AnswerContext& context, const HttpRequest& request,
                 const CompletionOptions& options) {
  Origin origin;
  origin.client = context.client;
  origin.tenant = tenant_name(context.key_name, options.cache_salt);
  origin.session = session_of(request, options.session);
  origin.agent_session = !session_in_headers(request).empty();
  return origin;
}

// The scheduler would not take the request.
asio::awaitable<void> answer_refused(Answering& at, const Error& error,
                                     const ContextOverflow& overflow) {
  if (at.answer.options.stream && at.style.streams_refusal(error)) {
    at.note_failure(error);
    co_await begin_stream(at);
    std::string piece;
    at.style.fail(error, piece);
    co_await at.responder.write(piece);
    co_await at.responder.end_stream();
  } else {
    HttpResponse refusal = at.protocol.refuse(error, overflow);
    co_await at.responder.send(std::move(refusal));
  }
}

asio::awaitable<void> answer_ready(const AnswerContext& context, const Protocol& protocol,
                                   ReadyRequest& ready, Origin origin, HttpResponder& responder) {
  const auto format = ready.prepared.format;  // the readers refer to it
  const auto asked = ready.prepared.asked;
  AnswerUnderWay answer = open_answer(context, protocol, ready);
  const ContextOverflow overflow = overflow_of(*context.backend, ready.prepared);
  Generations generations(*context.backend, context.io);
  origin.response = answer.id;
  const auto style = ready.make_style(answer);
  Answering at{protocol, answer, *style, generations, responder, context.log};
  if (auto taken = generations.submit(std::move(ready.prepared), origin); !taken) {
    co_await answer_refused(at, taken.error(), overflow);
    co_return;
  }
  std::function<void()> cancel = [&generations] { generations.cancel(); };
  responder.on_gone(std::move(cancel));
  if (answer.options.stream) {
    co_await answer_stream(at);
  } else {
    co_await answer_whole(at);
  }
  note_tool_calls(answer, generations);
  offer_next_turn_of(context, answer, asked, generations);
  note_tokens(answer, context.log);
}

}  // namespace

SpaceKey Asking::space_for(const CompletionOptions& options) const {
  return backend.space_of(tenant_name(key_name, options.cache_salt));
}

asio::awaitable<void> answer(AnswerContext context, const Protocol& protocol,
                             const HttpRequest& request, HttpResponder& responder) {
  if (context.backend->embeddings != nullptr) {
    const Error only_vectors{ErrorCode::kUnsupported,
                             "This server computes embeddings only, because it was started with "
                             "--embedding or --reranking. Start another one to generate text.",
                             ""};
    co_await refuse(protocol, only_vectors, responder);
    co_return;
  }
  const auto read = [&] { return protocol.read({*context.backend, request, context.key_name}); };
  auto ready = co_await on_worker(context.worker, read);
  if (ready) {
    Origin origin = origin_of(context, request, ready->options);
    if (context.log != nullptr) context.log->session = origin.session;
    co_await answer_ready(context, protocol, *ready, std::move(origin), responder);
  } else {
    co_await refuse(protocol, ready.error(), responder);
  }
}

}  // namespace holdfast::api
