#include "api/native_answer.h"

#include <utility>

#include "api/native_style.h"

namespace holdfast::api {
namespace {

// Tokens that end an answer, which ignore_eos forbids.
std::vector<Token> end_tokens_of(const engine::TextModel& text, const CompletionOptions& options) {
  std::vector<Token> ends;
  if (!options.ignore_eos()) return ends;
  for (Token token = 0; token < text.card().vocabulary; ++token) {
    if (text.ends_generation(token)) ends.push_back(token);
  }
  return ends;
}

}  // namespace

Result<ReadyRequest> ready_native(const Asking& asking, NativeRequest request) {
  const TextRequest& text = request.text;
  auto prepared = prepare_text(asking.backend, text, asking.space_for(text.options));
  if (!prepared) return prepared.error();
  NativeShape shape{std::move(request.response_fields),
                    end_tokens_of(*asking.backend.text, text.options)};
  return ReadyRequest{std::move(request.text.options), std::move(*prepared),
                      [shape = std::move(shape)](AnswerUnderWay& answer) {
                        return make_native_style(answer, shape);
                      }};
}

}  // namespace holdfast::api
