// Decodes any bytes as both kinds of request and checks the promises of
// openai_request.h, CHATREQ-1 to CHATREQ-6, on those that are accepted.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/json_fields.h"
#include "api/openai_errors.h"
#include "api/openai_request.h"
#include "base/check.h"
#include "chat_request_promises.h"

namespace holdfast {
namespace {

void check_tokens(const Tokens& tokens) {
  CHECK(!tokens.empty());
  for (const Token token : tokens) CHECK(is_token(token));
}

void check_text(const api::TextRequest& request) {
  check_options(request.options);
  CHECK(!request.prompts.empty() && request.prompts.size() <= 8);
  for (const api::TextPrompt& prompt : request.prompts) {
    if (const auto* tokens = std::get_if<Tokens>(&prompt)) check_tokens(*tokens);
    const auto* parts = std::get_if<api::MixedPrompt>(&prompt);
    if (parts == nullptr) continue;
    CHECK(parts->size() >= 2);
    for (const auto& part : *parts) {
      if (const auto* tokens = std::get_if<Tokens>(&part)) check_tokens(*tokens);
    }
  }
}

void check_error(const Error& error) {
  CHECK(error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kTooLarge);
  CHECK(!error.message.empty() && error.message.size() < 4096);
  CHECK(api::Json::accept(api::error_json(error)));
}

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto chat = api::decode_chat_request(json, fuzz_defaults());
  if (chat.ok())
    check_chat(*chat);
  else
    check_error(chat.error());
  const auto text = api::decode_text_request(json, fuzz_defaults());
  if (text.ok())
    check_text(*text);
  else
    check_error(text.error());
  return 0;
}
