// Decodes any bytes as a Responses request and checks the promises of responses_request.h,
// RREQ-1 to RREQ-5, on those that are accepted.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/openai_errors.h"
#include "api/responses_request.h"
#include "base/check.h"
#include "chat_request_promises.h"

namespace holdfast {
namespace {

// One response is stored.
std::optional<std::string> find_items(const std::string& id, const std::string&) {
  if (id != "resp_1") return std::nullopt;
  return R"([{"role":"user","content":"earlier"},{"role":"assistant","content":"answer"}])";
}

std::optional<std::string> find_item(const std::string& id, const std::string&) {
  if (id != "msg_1") return std::nullopt;
  return R"({"type":"message","id":"msg_1","role":"assistant","content":"stored"})";
}

Result<api::ResponsesRequest> decode(std::string_view json) {
  return api::decode_responses_request(json, fuzz_defaults(), {find_items, find_item});
}

void check_custom_tools(const api::ResponsesRequest& request) {
  for (const std::string& name : request.custom_tools) {
    bool found = false;
    for (const api::Json& tool : api::Json::parse(request.chat.input.tools_json))
      found = found || tool.at("function").at("name") == name;
    CHECK(found);
  }
}

// The messages without the system messages that they begin with.
api::Json after_opening(const std::string& messages_json) {
  api::Json messages = api::Json::parse(messages_json);
  while (!messages.empty() && messages.front().at("role") == "system") messages.erase(0);
  return messages;
}

void check_items(const api::ResponsesRequest& request) {
  CHECK(request.store || request.items_json.empty());
  if (!request.store) return;
  const api::Json items = api::Json::parse(request.items_json);
  CHECK(items.is_array());
  for (const api::Json& item : items) CHECK(item.value("type", api::Json()) != "item_reference");
  const api::Json earlier = after_opening(request.chat.input.messages_json);
  const auto again = decode(R"({"input":)" + request.items_json + "}");
  if (again.ok()) {
    CHECK(after_opening(again->chat.input.messages_json) == earlier);
  } else {
    CHECK(earlier.empty());  // it had nothing but instructions
  }
}

void check_request(const api::ResponsesRequest& request) {
  check_chat(request.chat);
  CHECK(request.chat.options.n == 1);
  CHECK(api::Json::parse('{' + request.echo_json + '}').is_object());
  check_items(request);
  check_custom_tools(request);
}

void check_error(const Error& error) {
  CHECK(error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kTooLarge ||
        error.code == ErrorCode::kNotFound);
  CHECK(!error.message.empty());
  const api::Json told = api::Json::parse(api::error_json(error)).at("error");
  CHECK(!told.at("message").get<std::string>().empty());
  CHECK(told.at("type").is_string() && told.contains("param") && told.contains("code"));
}

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast;
  const auto request = decode({reinterpret_cast<const char*>(data), size});
  if (request.ok())
    check_request(*request);
  else
    check_error(request.error());
  return 0;
}
