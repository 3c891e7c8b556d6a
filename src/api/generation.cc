#include "api/generation.h"

#include <algorithm>
#include <random>
#include <utility>

#include "api/call_end.h"
#include "api/openai_prompts.h"
#include "api/prompt_sections.h"
#include "api/quoted_chat.h"
#include "cache/answer_ids.h"
#include "engine/chat_floor.h"

namespace holdfast::api {

namespace {

serve::GenerateRequest make_request(const CompletionOptions& options, Tokens prompt,
                                    SpaceKey space) {
  serve::GenerateRequest request;
  request.space = space;
  request.prompt = std::move(prompt);
  request.max_tokens = options.max_tokens;
  request.draft = options.draft;
  request.stops = options.stops;
  request.ignore_eos = options.ignore_eos();
  request.want_tokens = options.reports_tokens();
  request.want_progress = options.return_progress;
  request.reuse = options.reuse;
  if (options.id_slot) request.slot = SlotId{*options.id_slot};
  request.timeout = options.timeout;
  return request;
}

// Where the line that opens the answer ends: "<|im_start|>assistant\n". What the
// template puts after it (an open or an empty thought) is often not there when the
// answer comes back as history. None where the prompt has no such section.
std::optional<TokenPos> header_end_of(const engine::TextModel& text,
                                      const engine::RenderedChat& chat, TokenSpan prompt) {
  const std::size_t line_end = chat.generation_prompt.find('\n');
  if (line_end == std::string::npos) return std::nullopt;
  std::size_t bytes_left = chat.generation_prompt.size() - line_end - 1;
  TokenPos position = length_of(prompt);
  while (bytes_left > 0 && position > 0) {
    const std::size_t bytes = text.piece(prompt[static_cast<std::size_t>(--position)], true).size();
    if (bytes > bytes_left) return std::nullopt;  // a token across the place
    bytes_left -= bytes;
  }
  return position < length_of(prompt) ? std::optional(position) : std::nullopt;
}

// The n choices of one prompt differ in their random numbers only.
engine::SamplingParams params_for_choice(const engine::SamplingParams& params, int choice) {
  engine::SamplingParams own = params;
  if (own.seed) own.seed = *own.seed + static_cast<std::uint32_t>(choice);
  return own;
}

// So that its client can say which answer a message is, later.
void name_answer(const Backend& backend, PreparedChoice& choice) {
  auto& context = choice.request.answer_context;
  if (backend.answer_ids == nullptr || !context) return;
  context->name = cache::AnswerIds::new_name();
  choice.answer_id = backend.answer_ids->make(context->space, context->name);
}

// Where the attribution line was left out: before the client's system prompt, or what stands in its
// section.
TokenPos attribution_position(const std::vector<cache::PromptSection>& sections) {
  const auto first = std::ranges::find_if(
      sections, [](const auto& section) { return section.name != cache::kToolsSection; });
  return first == sections.end() ? 0 : first->begin;
}

cache::RequestNotes notes_of(const ChatRequest& request,
                             const std::vector<cache::PromptSection>& sections) {
  cache::RequestNotes notes{.skipped = request.skipped};
  std::ranges::sort(notes.skipped);
  if (request.attribution_removed) notes.attribution_at = attribution_position(sections);
  return notes;
}

// Whether the answer may be read ahead. Of several answers nobody knows which will go on, and an
// answer to no message has none before it.
bool may_prewarm(const Backend& backend, const ChatRequest& request) {
  return backend.scheduler->prewarms() && request.options.n == 1 && request.options.reuse &&
         request.options.max_tokens != 0 && !request.input.continue_final_message;
}

// Each choice has a sampler of its own, made before the queue is asked.
constexpr std::size_t kChoicesMax = 64;

Result<void> add_choices(const Backend& backend, const CompletionOptions& options,
                         const serve::GenerateRequest& model_request, const std::string& echo,
                         Prepared& prepared) {
  if (prepared.choices.size() + static_cast<std::size_t>(options.n) > kChoicesMax) {
    return invalid_argument("n", "One request may ask for at most " + std::to_string(kChoicesMax) +
                                     " answers, all prompts together.");
  }
  for (int i = 0; i < options.n; ++i) {
    PreparedChoice choice;
    choice.request = make_request(options, model_request.prompt, model_request.space);
    choice.request.history_tokens = model_request.history_tokens;
    choice.request.answer_ids = model_request.answer_ids;
    choice.request.answer_context = model_request.answer_context;
    choice.request.stops = model_request.stops;
    choice.request.spans = model_request.spans;
    choice.request.sections = model_request.sections;
    choice.request.notes = model_request.notes;
    choice.request.header_end = model_request.header_end;
    choice.request.prompt_field = model_request.prompt_field;
    choice.request.prepared = model_request.prepared;
    choice.echo = echo;
    name_answer(backend, choice);
    auto sampler =
        backend.text->make_sampler(params_for_choice(options.sampling, i), prepared.format.get());
    if (!sampler) return sampler.error();
    choice.request.sampler = std::move(*sampler);
    prepared.choices.push_back(std::move(choice));
  }
  return {};
}

// What has too many tokens is refused before they are computed, so `at_least` is a lower bound of
// theirs. False: it may fit.
bool refuse_unread(const Backend& backend, std::int64_t at_least, const std::string& field,
                   Prepared& prepared) {
  if (backend.context_tokens == 0 || at_least < backend.context_tokens) return false;
  prepared.tokens_at_least = static_cast<TokenPos>(at_least);
  prepared.too_long =
      Error{ErrorCode::kContextExceeded,
            "The prompt has at least " + std::to_string(at_least) +
                " tokens. With one for the answer, it exceeds the available context size (" +
                std::to_string(backend.context_tokens) +
                " tokens). Send less, or start the server with a larger --ctx-size.",
            field};
  prepared.choices.clear();
  prepared.choices.emplace_back();
  return true;
}

// Rendering takes a thousand times as long as finding out that a chat cannot fit. A token has a
// byte or more, so that short chats need not be asked about.
bool refuse_unrendered(const Backend& backend, const engine::ChatInput& input, Prepared& prepared) {
  if (std::cmp_less(input.messages_json.size(), backend.context_tokens)) return false;
  return refuse_unread(backend, engine::chat_tokens_at_least(*backend.text, input), "messages",
                       prepared);
}

// Tokenising takes as long as the text is.
bool refuse_untokenized(const Backend& backend, std::string_view text, const std::string& field,
                        Prepared& prepared) {
  return refuse_unread(backend, backend.text->tokens_at_least(text), field, prepared);
}

bool refuse_untokenized(const Backend& backend, const TextPrompt& prompt, Prepared& prepared) {
  const auto refused = [&](const auto& part) {
    const auto* text = std::get_if<std::string>(&part);
    return text != nullptr && refuse_untokenized(backend, *text, "prompt", prepared);
  };
  const auto* parts = std::get_if<MixedPrompt>(&prompt);
  return parts != nullptr ? std::ranges::any_of(*parts, refused) : refused(prompt);
}

}  // namespace

std::string new_id(const std::string& prefix) {
  static constexpr std::string_view kAlphabet =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::uniform_int_distribution<std::size_t> index(0, kAlphabet.size() - 1);
  std::string id = prefix;
  for (int i = 0; i < 24; ++i) id += kAlphabet[index(random)];
  return id;
}

Result<Prepared> prepare_chat(const Backend& backend, const ChatRequest& request, SpaceKey space) {
  Prepared prepared;
  if (refuse_unrendered(backend, request.input, prepared)) return prepared;
  auto quoted = render_quoting(backend, request, space);
  if (!quoted) return quoted.error();
  const engine::RenderedChat* const chat = &quoted->chat;
  prepared.format = chat->format;
  if (refuse_untokenized(backend, chat->prompt, "messages", prepared)) return prepared;
  serve::GenerateRequest first = make_request(request.options, {}, space);
  cache::TokenizedPrompt tokenized = tokenize_quoted(backend, space, *quoted);
  first.prompt = std::move(tokenized.tokens);
  if (backend.history != nullptr) {
    first.history_tokens = tokenized.kept;
    first.answer_ids = {quoted->ids_used, quoted->ids_ignored};
    first.answer_context = std::move(tokenized.context);
  }
  first.stops.insert(first.stops.end(), chat->stops.begin(), chat->stops.end());
  first.spans = backend.text->message_spans(*chat, first.prompt);
  first.sections = prompt_sections(*backend.text, request, first.spans, first.prompt);
  first.notes = notes_of(request, first.sections);
  first.header_end = header_end_of(*backend.text, *chat, first.prompt);
  first.prompt_field = "messages";
  backend.scheduler->prepare(first);
  const std::string shown = request.options.verbose ? chat->prompt : "";
  if (auto added = add_choices(backend, request.options, first, shown, prepared); !added) {
    return added.error();
  }
  prepared.ends_in_call = [text = backend.text,
                           format = prepared.format](const std::string& reply) {
    return ends_in_call(*text, *format, reply);
  };
  if (may_prewarm(backend, request)) {
    prepared.asked = std::make_shared<const AskedChat>(AskedChat{request, space});
  }
  return prepared;
}

Result<Prepared> prepare_text(const Backend& backend, const TextRequest& request, SpaceKey space) {
  Prepared prepared;
  for (const TextPrompt& prompt : request.prompts) {
    const auto* text = std::get_if<std::string>(&prompt);
    if (refuse_untokenized(backend, prompt, prepared)) return prepared;
    Tokens tokens = tokens_of(*backend.text, prompt);
    std::string echo;
    if (request.echo) echo = text != nullptr ? *text : backend.text->detokenize(tokens);
    serve::GenerateRequest first = make_request(request.options, std::move(tokens), space);
    backend.scheduler->prepare(first);
    if (auto added = add_choices(backend, request.options, first, echo, prepared); !added) {
      return added.error();
    }
  }
  return prepared;
}

Generations::Generations(const Backend& backend, boost::asio::any_io_executor executor)
    : backend_(backend), mailbox_(std::make_shared<Mailbox>(std::move(executor))) {}

Generations::~Generations() {
  if (!done()) cancel();
}

Result<void> Generations::submit(Prepared prepared, const Origin& origin) {
  if (prepared.too_long) return *prepared.too_long;
  for (std::size_t i = 0; i < prepared.choices.size(); ++i) {
    serve::GenerateRequest& request = prepared.choices[i].request;
    request.id = new_id("gen-");
    request.client = origin.client;
    request.tenant = origin.tenant;
    request.response = origin.response;
    request.session = origin.session;
    request.agent_session = origin.agent_session;
    request.sink = mailbox_->sink_for(i, prepared.ends_in_call);
    ids_.push_back(request.id);
    if (auto taken = backend_.scheduler->submit(std::move(request)); !taken) {
      cancel();
      return taken.error();
    }
    ++running_;
  }
  return {};
}

void Generations::cancel() {
  for (const std::string& id : ids_) backend_.scheduler->cancel(id);
}

void Generations::note_tool_call(std::size_t choice) {
  backend_.scheduler->note_tool_call(ids_[choice]);
}

boost::asio::awaitable<std::vector<Mailbox::Letter>> Generations::take(
    std::chrono::milliseconds patience) {
  auto letters = co_await mailbox_->take(patience);
  for (const auto& letter : letters) {
    const bool end = std::holds_alternative<serve::Finished>(letter.event) ||
                     std::holds_alternative<serve::Failed>(letter.event);
    if (end) --running_;
  }
  co_return letters;
}

}  // namespace holdfast::api
