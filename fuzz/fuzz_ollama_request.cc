// Decodes any bytes as Ollama's two requests for text and checks that those that are accepted are
// chat requests as openai_request.h promises them, and OLLAMAREQ-1.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "api/json_fields.h"
#include "api/ollama_errors.h"
#include "api/ollama_request.h"
#include "base/check.h"
#include "chat_request_promises.h"

namespace holdfast {
namespace {

void check_one_choice(const api::CompletionOptions& options) {
  check_options(options);
  CHECK(options.n == 1);
}

void check_asked(const api::ChatRequest& request) {
  check_chat(request);
  check_one_choice(request.options);
  CHECK(request.input.grammar.empty());
}

void check_generate(const api::OllamaGenerate& request) {
  if (const auto* chat = std::get_if<api::ChatRequest>(&request)) return check_asked(*chat);
  if (const auto* text = std::get_if<api::TextRequest>(&request)) {
    CHECK(text->prompts.size() == 1 && !text->echo);
    return check_one_choice(text->options);
  }
  const auto& between = std::get<api::InfillRequest>(request);
  CHECK(!between.suffix.empty() && between.native.text.prompts.empty());
  check_one_choice(between.native.text.options);
}

void check_error(const Error& error) {
  CHECK(error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kTooLarge);
  CHECK(!error.message.empty() && error.message.size() < 4096);
  const api::Json told = api::Json::parse(api::ollama_error_json(error.message));
  CHECK(!told.at("error").get<std::string>().empty());
}

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto chat = api::decode_ollama_chat(json, fuzz_defaults());
  chat.ok() ? check_asked(*chat) : check_error(chat.error());
  const auto generate = api::decode_ollama_generate(json, fuzz_defaults());
  generate.ok() ? check_generate(*generate) : check_error(generate.error());
  (void)api::decode_load_request(json, "messages");
  return 0;
}
