#include "api/ollama.h"

#include <optional>
#include <utility>
#include <variant>

#include "api/answer.h"
#include "api/ollama_errors.h"
#include "api/ollama_request.h"
#include "api/ollama_style.h"

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

Result<ReadyRequest> ready_chat(const Asking& asking, ChatRequest request, MakeStyle style) {
  auto prepared = prepare_chat(asking.backend, request, asking.space_for(request.options));
  if (!prepared) return prepared.error();
  return ReadyRequest{std::move(request.options), std::move(*prepared), std::move(style)};
}

Result<ReadyRequest> ready_text(const Asking& asking, TextRequest request) {
  auto prepared = prepare_text(asking.backend, request, asking.space_for(request.options));
  if (!prepared) return prepared.error();
  return ReadyRequest{std::move(request.options), std::move(*prepared),
                      &make_ollama_generate_style};
}

Result<ReadyRequest> ready_between(const Asking& asking, InfillRequest request) {
  const Backend& backend = asking.backend;
  auto prompt =
      infill_prompt(*backend.text, request,
                    {backend.context_tokens, backend.batch_tokens, backend.defaults.max_tokens});
  if (!prompt) return prompt.error();
  request.native.text.prompts = {std::move(*prompt)};
  return ready_text(asking, std::move(request.native.text));
}

Result<ReadyRequest> read_chat(const Asking& asking) {
  auto request = decode_ollama_chat(asking.http.body, asking.backend.defaults);
  if (!request) return request.error();
  return ready_chat(asking, std::move(*request), &make_ollama_chat_style);
}

Result<ReadyRequest> read_generate(const Asking& asking) {
  auto request = decode_ollama_generate(asking.http.body, asking.backend.defaults);
  if (!request) return request.error();
  if (auto* const chat = std::get_if<ChatRequest>(&*request))
    return ready_chat(asking, std::move(*chat), &make_ollama_generate_style);
  if (auto* const text = std::get_if<TextRequest>(&*request))
    return ready_text(asking, std::move(*text));
  return ready_between(asking, std::move(std::get<InfillRequest>(*request)));
}

constexpr Protocol kChat{"chat_", &read_chat, &ollama_error_response};
constexpr Protocol kGenerate{"gen_", &read_generate, &ollama_error_response};

// Clients ask so for the model to be loaded; it is.
std::optional<HttpResponse> loaded(const Backend& backend, const HttpRequest& request, bool chat) {
  const auto load = decode_load_request(request.body, chat ? "messages" : "prompt");
  if (!load) return std::nullopt;
  const std::string& model = load->model.empty() ? backend.model_name : load->model;
  return HttpResponse{.body = ollama_loaded_json(chat, model, load->unload ? "unload" : "load")};
}

}  // namespace

asio::awaitable<void> answer_ollama_chat(AnswerContext context, const HttpRequest& request,
                                         HttpResponder& responder) {
  if (auto there = loaded(*context.backend, request, true)) {
    co_await responder.send(std::move(*there));
    co_return;
  }
  co_await answer(std::move(context), kChat, request, responder);
}

asio::awaitable<void> answer_ollama_generate(AnswerContext context, const HttpRequest& request,
                                             HttpResponder& responder) {
  if (auto there = loaded(*context.backend, request, false)) {
    co_await responder.send(std::move(*there));
    co_return;
  }
  co_await answer(std::move(context), kGenerate, request, responder);
}

}  // namespace holdfast::api
