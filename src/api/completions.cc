#include "api/completions.h"

#include <algorithm>
#include <chrono>

#include "api/access.h"
#include "api/cache_pages.h"
#include "api/choice_reader.h"
#include "api/generation.h"
#include "api/openai_response.h"
#include "api/worker.h"

namespace holdfast::api {

namespace asio = boost::asio;

// GCC 12 destroys some temporaries of a co_await expression twice (its PR 99576),
// so what is handed to an awaited call here has a name.

namespace {

// --- the two kinds of completion ---------------------------------------------

// What differs between chat and plain completions once a request is prepared.
struct ReplyShape {
  bool chat = true;
  CompletionOptions options;
  ReplyHead head;
  std::shared_ptr<const Backend> backend;

  [[nodiscard]] ChunkHead chunk_head() const {
    return chat ? ChunkHead::chat(head) : ChunkHead::text(head);
  }
};

ReplyShape make_shape(const std::shared_ptr<const Backend>& backend, bool chat,
                      const CompletionOptions& options) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  ReplyShape shape{chat, options, {}, backend};
  shape.head.id = new_id(chat ? "chatcmpl-" : "cmpl-");
  shape.head.created = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  shape.head.model = backend->model_name;
  shape.head.system_fingerprint = backend->build;
  return shape;
}

std::optional<Error> failure_among(const std::vector<Mailbox::Letter>& letters) {
  for (const auto& letter : letters) {
    if (const auto* failed = std::get_if<serve::Failed>(&letter.event)) return failed->error;
  }
  return std::nullopt;
}

// --- totals over the choices -------------------------------------------------

// Each prompt is counted once, however many answers it got: its `n` choices
// follow one another.
Usage usage_of_all(const ReplyShape& shape, const std::vector<ChoiceReader>& readers) {
  Usage sum;
  const auto answers = static_cast<std::size_t>(shape.options.n);
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const Usage one = usage_of(*readers[i].finished());
    sum.completion_tokens += one.completion_tokens;
    if (i % answers != 0) continue;
    sum.prompt_tokens += one.prompt_tokens;
    sum.cached_tokens += one.cached_tokens;
  }
  return sum;
}

const serve::Timings& timings_of_first(const std::vector<ChoiceReader>& readers) {
  return readers.front().finished()->timings;
}

// --- receipts ------------------------------------------------------------------

// One object, or a list in the order of the choices; empty where none was asked for.
// REQUIRES: all have finished.
std::string receipts_json(const ReplyShape& shape, const std::vector<ChoiceReader>& readers) {
  if (!shape.options.cache_receipt) return "";
  const ByteCount budget = shape.backend->scheduler->cache_commands().status().budget;
  std::string out;
  for (const ChoiceReader& reader : readers) {
    const auto& receipt = reader.finished()->receipt;
    if (!out.empty()) out += ',';
    out += receipt == nullptr ? "null" : receipt_json(*receipt, *shape.backend->text, budget);
  }
  return readers.size() == 1 ? out : '[' + out + ']';
}

// --- whole answers -----------------------------------------------------------

std::string whole_json(const ReplyShape& shape, const std::vector<ChoiceReader>& readers,
                       const std::vector<std::string>& echoes) {
  std::vector<ChatChoice> chats;
  std::vector<TextChoice> texts;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const ChoiceReader& reader = readers[i];
    std::optional<std::vector<TokenLogprobs>> logprobs;
    if (shape.options.logprobs()) logprobs = reader.all_logprobs();
    const int index = static_cast<int>(i);
    if (shape.chat) {
      chats.push_back({index, reader.reply(), reader.finished()->reason, logprobs});
    } else {
      texts.push_back({index, echoes[i] + reader.reply().content, text_characters(echoes[i]),
                       reader.finished()->reason, logprobs});
    }
  }
  const Usage usage = usage_of_all(shape, readers);
  const serve::Timings& timings = timings_of_first(readers);
  const std::string receipts = receipts_json(shape, readers);
  return shape.chat ? chat_completion(shape.head, chats, usage, timings, receipts)
                    : text_completion(shape.head, texts, usage, timings, receipts);
}

asio::awaitable<void> answer_whole(const ReplyShape& shape, Generations& generations,
                                   std::vector<ChoiceReader>& readers,
                                   const std::vector<std::string>& echoes,
                                   HttpResponder& responder) {
  while (!generations.done()) {
    const auto letters = co_await generations.take();
    if (const auto failure = failure_among(letters)) {
      HttpResponse refusal = error_response(*failure);
      co_await responder.send(std::move(refusal));
      co_return;
    }
    for (const auto& letter : letters) {
      ChoiceReader& reader = readers[letter.choice];
      if (const auto* text = std::get_if<serve::TextDelta>(&letter.event)) reader.keep_text(*text);
      if (const auto* end = std::get_if<serve::Finished>(&letter.event))
        (void)reader.on_finished(*end);
    }
  }
  HttpResponse whole;
  whole.body = whole_json(shape, readers, echoes);
  co_await responder.send(std::move(whole));
}

// --- streams -----------------------------------------------------------------

void append_event(std::string& out, std::string_view json) {
  out += "data: ";
  out += json;
  out += "\n\n";
}

// Writes the chunks of one stream. The pieces that one call produces are sent
// together.
class StreamWriter {
 public:
  StreamWriter(const ReplyShape& shape, std::vector<ChoiceReader>& readers,
               const std::vector<std::string>& echoes)
      : shape_(shape),
        head_(shape.chunk_head()),
        readers_(readers),
        echoes_(echoes),
        opened_(readers.size(), false),
        characters_(readers.size(), 0) {}

  [[nodiscard]] std::string on_letters(const std::vector<Mailbox::Letter>& letters) {
    std::string out;
    for (const auto& letter : letters) on_letter(letter, out);
    return out;
  }

  [[nodiscard]] std::string last_pieces() {
    std::string out;
    if (shape_.options.include_usage) {
      append_event(out, usage_chunk(head_, usage_of_all(shape_, readers_),
                                    &timings_of_first(readers_), receipts_json(shape_, readers_)));
    }
    out += "data: [DONE]\n\n";
    return out;
  }

 private:
  void on_letter(const Mailbox::Letter& letter, std::string& out) {
    const std::size_t choice = letter.choice;
    ChoiceReader& reader = readers_[choice];
    if (const auto* progress = std::get_if<serve::PromptProgress>(&letter.event)) {
      const int index = static_cast<int>(choice);
      append_event(out, shape_.chat ? chat_progress_chunk(head_, index, *progress)
                                    : text_progress_chunk(head_, index, *progress));
    } else if (const auto* text = std::get_if<serve::TextDelta>(&letter.event)) {
      send_deltas(choice, reader.on_text(*text), &text->timings, out);
    } else if (const auto* finished = std::get_if<serve::Finished>(&letter.event)) {
      send_deltas(choice, reader.on_finished(*finished), nullptr, out);
      send_end(choice, out);
    }
  }

  void open(std::size_t choice, std::string& out) {
    if (opened_[choice]) return;
    opened_[choice] = true;
    const int index = static_cast<int>(choice);
    if (shape_.chat) {
      append_event(out, chat_role_chunk(head_, index));
    } else if (!echoes_[choice].empty()) {
      append_event(out, text_delta_chunk(head_, index, echoes_[choice]));
      characters_[choice] = text_characters(echoes_[choice]);
    }
  }

  void send_deltas(std::size_t choice, const std::vector<engine::ReplyDelta>& deltas,
                   const serve::Timings* timings, std::string& out) {
    open(choice, out);
    for (const engine::ReplyDelta& delta : deltas) {
      const auto logprobs = readers_[choice].take_new_logprobs();
      ChunkExtras extras;
      if (shape_.options.logprobs() && !logprobs.empty()) extras.logprobs = &logprobs;
      if (shape_.options.timings_per_token) extras.timings = timings;
      extras.text_offset = characters_[choice];
      const int index = static_cast<int>(choice);
      append_event(out, shape_.chat ? chat_delta_chunk(head_, index, delta, extras)
                                    : text_delta_chunk(head_, index, delta.content, extras));
      characters_[choice] += text_characters(delta.content);
    }
  }

  void send_end(std::size_t choice, std::string& out) {
    open(choice, out);
    const ChoiceReader& reader = readers_[choice];
    const serve::Timings* timings = &reader.finished()->timings;
    const std::string_view reason = reader.finish_reason();
    const std::string receipts = is_last_chunk() ? receipts_json(shape_, readers_) : "";
    const int index = static_cast<int>(choice);
    append_event(out, shape_.chat ? chat_finish_chunk(head_, index, reason, timings, receipts)
                                  : text_finish_chunk(head_, index, reason, timings, receipts));
  }

  // Whether the end of a choice that is being written ends the stream.
  [[nodiscard]] bool is_last_chunk() const {
    return !shape_.options.include_usage &&
           std::ranges::all_of(
               readers_, [](const ChoiceReader& reader) { return reader.finished().has_value(); });
  }

  const ReplyShape& shape_;
  ChunkHead head_;
  std::vector<ChoiceReader>& readers_;
  const std::vector<std::string>& echoes_;
  std::vector<bool> opened_;
  std::vector<std::size_t> characters_;
};

HttpResponse stream_head() {
  return {.content_type = "text/event-stream",
          .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}};
}

// The head goes out when the first generation has its slot (or after a while in
// the queue), so that a refusal before that still has its own status.
asio::awaitable<void> answer_stream(const ReplyShape& shape, Generations& generations,
                                    std::vector<ChoiceReader>& readers,
                                    const std::vector<std::string>& echoes,
                                    HttpResponder& responder) {
  StreamWriter writer(shape, readers, echoes);
  bool begun = false;
  while (!generations.done()) {
    const auto letters = co_await generations.take();
    const auto failure = failure_among(letters);
    if (failure && !begun) {
      HttpResponse refusal = error_response(*failure);
      co_await responder.send(std::move(refusal));
      co_return;
    }
    if (!begun) {
      begun = true;
      HttpResponse head = stream_head();
      co_await responder.begin_stream(std::move(head));
    }
    if (failure) {
      std::string piece;
      append_event(piece, error_json(*failure));
      co_await responder.write(piece);
      break;
    }
    const std::string piece = letters.empty() ? ": keep-alive\n\n" : writer.on_letters(letters);
    if (!piece.empty()) co_await responder.write(piece);
    if (!generations.done()) continue;
    const std::string last = writer.last_pieces();
    co_await responder.write(last);
  }
  co_await responder.end_stream();
}

// --- both ---------------------------------------------------------------------

asio::awaitable<void> answer(const CompletionContext& context, const ReplyShape& shape,
                             Prepared& prepared, HttpResponder& responder) {
  std::vector<ChoiceReader> readers;
  std::vector<std::string> echoes;
  TokenPos prompt_tokens = 0;
  for (const PreparedChoice& choice : prepared.choices) {
    readers.emplace_back(*context.backend->text, prepared.format.get(), shape.options.logprobs());
    echoes.push_back(choice.echo);
    prompt_tokens = std::max(prompt_tokens, length_of(choice.request.prompt));
  }
  // The parsers above refer to the format.
  const auto format = prepared.format;

  Generations generations(*context.backend, context.io);
  const Origin origin{context.client, tenant_name(context.key_name, shape.options.cache_salt),
                      shape.head.id};
  if (auto taken = generations.submit(std::move(prepared), origin); !taken) {
    HttpResponse refusal = error_response(taken.error());
    if (taken.error().code == ErrorCode::kContextExceeded) {
      refusal.body = error_json(taken.error(),
                                ContextOverflow{prompt_tokens, context.backend->context_tokens});
    }
    co_await responder.send(std::move(refusal));
    co_return;
  }
  std::function<void()> cancel = [&generations] { generations.cancel(); };
  responder.on_gone(std::move(cancel));
  if (shape.options.stream) {
    co_await answer_stream(shape, generations, readers, echoes, responder);
  } else {
    co_await answer_whole(shape, generations, readers, echoes, responder);
  }
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const bool called = readers[i].finished() && !readers[i].reply().tool_calls.empty();
    if (called) generations.note_tool_call(i);
  }
}

template <typename Request>
asio::awaitable<void> decode_and_answer(
    CompletionContext context, const HttpRequest& http, HttpResponder& responder, bool chat,
    Result<Request> (*decode)(std::string_view, const ChatDefaults&),
    Result<Prepared> (*prepare)(const Backend&, const Request&, SpaceKey)) {
  const auto backend = context.backend;
  const auto decode_body = [&] { return decode(http.body, backend->defaults); };
  auto request = co_await on_worker(context.worker, decode_body);
  if (!request) {
    HttpResponse refusal = error_response(request.error());
    co_await responder.send(std::move(refusal));
    co_return;
  }
  const SpaceKey space =
      backend->space_of(tenant_name(context.key_name, request->options.cache_salt));
  const auto prepare_request = [&] { return prepare(*backend, *request, space); };
  auto prepared = co_await on_worker(context.worker, prepare_request);
  if (!prepared) {
    HttpResponse refusal = error_response(prepared.error());
    co_await responder.send(std::move(refusal));
    co_return;
  }
  const ReplyShape shape = make_shape(backend, chat, request->options);
  co_await answer(context, shape, *prepared, responder);
}

}  // namespace

HttpResponse error_response(const Error& error) {
  HttpResponse response{.status = http_status(error.code), .body = error_json(error)};
  if (error.code == ErrorCode::kUnavailable) response.headers.emplace_back("Retry-After", "5");
  return response;
}

asio::awaitable<void> answer_chat(CompletionContext context, const HttpRequest& request,
                                  HttpResponder& responder) {
  return decode_and_answer<ChatRequest>(std::move(context), request, responder, true,
                                        &decode_chat_request, &prepare_chat);
}

asio::awaitable<void> answer_text(CompletionContext context, const HttpRequest& request,
                                  HttpResponder& responder) {
  return decode_and_answer<TextRequest>(std::move(context), request, responder, false,
                                        &decode_text_request, &prepare_text);
}

}  // namespace holdfast::api
