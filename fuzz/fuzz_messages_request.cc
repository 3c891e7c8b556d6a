// Decodes any bytes as an Anthropic request and checks that those that are accepted
// are chat requests as openai_request.h promises them.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/anthropic_errors.h"
#include "api/anthropic_request.h"
#include "api/json_fields.h"
#include "base/check.h"
#include "chat_request_promises.h"

namespace holdfast {
namespace {

void check_accepted(const api::ChatRequest& request) {
  check_chat(request);
  CHECK(request.options.n == 1);
  CHECK(request.input.grammar.empty());
}

void check_error(const Error& error) {
  CHECK(error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kTooLarge);
  CHECK(!error.message.empty() && error.message.size() < 4096);
  const api::Json told = api::Json::parse(api::anthropic_error_json(error));
  CHECK(told.at("type") == "error");
  CHECK(told.at("error").at("type").get<std::string>().ends_with("_error") ||
        told.at("error").at("type") == "request_too_large");
  CHECK(!told.at("error").at("message").get<std::string>().empty());
}

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto request = api::decode_messages_request(json, fuzz_defaults());
  if (request.ok())
    check_accepted(*request);
  else
    check_error(request.error());
  return 0;
}
