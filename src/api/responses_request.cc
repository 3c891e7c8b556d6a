#include "api/responses_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/json_fields.h"
#include "api/openai_fields.h"
#include "api/openai_options.h"
#include "api/responses_input.h"
#include "api/responses_store.h"
#include "api/responses_tools.h"

namespace holdfast::api {
namespace {

// --- the conversation ----------------------------------------------------------

void add_items(const JsonFields& body, const Json& items, InputMessages& messages) {
  for (std::size_t i = 0; i < items.size() && body.error().empty(); ++i) {
    const int index = static_cast<int>(i);
    messages.set_source({.field = "input", .first = index, .last = index});
    if (const auto item = body.element(items, "input", i)) messages.add_item(*item);
  }
}

// What the client does not send again has no index there.
void add_earlier(const JsonFields& body, const Json& items, InputMessages& messages) {
  messages.set_source({.field = "previous_response_id"});
  for (std::size_t i = 0; i < items.size() && body.error().empty(); ++i)
    if (const auto item = body.element(items, "input", i)) messages.add_item(*item);
}

void add_text(const std::string& text, InputMessages& messages) {
  messages.set_source({.field = "input"});
  messages.add_user_text(text);
}

void add_input(const JsonFields& body, InputMessages& messages) {
  const Json* input = body.find("input");
  if (input == nullptr)
    body.fail("input", "is required");
  else if (input->is_string())
    add_text(input->get_ref<const std::string&>(), messages);
  else if (input->is_array())
    add_items(body, *input, messages);
  else
    body.fail("input", "must be a string or an array of items");
}

void read_messages(const JsonFields& body, const Json& earlier, ChatRequest& request) {
  InputMessages messages;
  messages.set_source({.field = "instructions"});
  if (auto instructions = body.text("instructions")) messages.add_instructions(*instructions);
  add_earlier(body, earlier, messages);
  add_input(body, messages);
  const std::vector<ChatMessage> all = messages.take();
  request.skipped = messages.skipped();
  if (all.empty()) body.fail("input", "must have at least one item that is a message");
  request.input.messages_json = messages_json(all);
  request.answer_refs = answer_refs_of(all);
  request.sources = sources_of(all);
}

// A text stands for one message of the user.
Json items_of(const Json* input) {
  if (input == nullptr) return Json::array();
  if (input->is_array()) return *input;
  return Json::array({{{"type", "message"}, {"role", "user"}, {"content", *input}}});
}

std::string all_items(const JsonFields& body, const Json& earlier) {
  Json all = earlier;
  for (Json& item : items_of(body.find("input"))) all.push_back(std::move(item));
  return json_text(all);
}

Result<Json> earlier_items(const JsonFields& body, const StoredTalk& stored) {
  const auto id = body.text("previous_response_id");
  if (!id) return Json::array();
  const auto items = stored.conversation(*id, read_cache_salt(body));
  if (items) return parse_json(*items);
  return not_stored("response", *id, "previous_response_id");
}

// The id that an item has instead of a content; nullptr for other items.
const std::string* referred_id(const Json& item) {
  if (!item.is_object() || item.value("type", Json()) != "item_reference") return nullptr;
  const auto id = item.find("id");
  return id == item.end() ? nullptr : id->get_ptr<const std::string*>();
}

// Puts stored items in the place of those that only name them.
Result<void> resolve_references(Json& body, const std::string& salt, const StoredTalk& stored) {
  const auto input = body.find("input");
  if (input == body.end() || !input->is_array()) return {};
  for (std::size_t i = 0; i < input->size(); ++i) {
    const std::string* id = referred_id((*input)[i]);
    if (id == nullptr) continue;
    const auto item = stored.item(*id, salt);
    if (!item) return not_stored("item", *id, element_path("input", i) + ".id");
    auto parsed = parse_json(*item);
    if (!parsed) return parsed.error();
    (*input)[i] = std::move(*parsed);
  }
  return {};
}

// --- how to answer ---------------------------------------------------------------

// As in llama-server, a schema without any rule means "an object".
std::string read_format(const JsonFields& body) {
  constexpr std::string_view kTypes[] = {"text", "json_object", "json_schema"};
  constexpr const char* kAnyObject = R"({"type":"object"})";
  const auto text = body.object("text");
  const auto format = text ? text->object("format") : std::nullopt;
  const std::string type = format ? format->choice("type", kTypes).value_or("text") : "text";
  if (type == "text") return "";
  if (type == "json_object") return kAnyObject;
  const Json* schema = format->find("schema");
  if (schema == nullptr) format->fail("schema", "is required");
  if (schema == nullptr || !format->object("schema")) return "";
  return schema->empty() ? kAnyObject : json_text(*schema);
}

void read_effort(const JsonFields& body, engine::ChatInput& input) {
  const auto reasoning = body.object("reasoning");
  const std::string effort = reasoning ? reasoning->text("effort").value_or("") : "";
  if (effort.empty()) return;
  input.template_kwargs.erase("reasoning_effort");
  if (effort == "none" || effort == "minimal")
    input.enable_thinking = false;
  else
    append_json_string(input.template_kwargs["reasoning_effort"], effort);
}

void read_reasoning(const JsonFields& body, const ChatDefaults& defaults,
                    engine::ChatInput& input) {
  input.reasoning_format = defaults.reasoning_format;
  input.template_kwargs = defaults.template_kwargs;
  const Json* kwargs = body.find("chat_template_kwargs");
  if (const auto fields = body.object("chat_template_kwargs")) {
    (void)fields->boolean("enable_thinking");  // a string would read as "on" in templates
    for (const auto& [name, value] : kwargs->items())
      if (!value.is_null()) input.template_kwargs[name] = json_text(value);
  }
  const auto thinking = input.template_kwargs.find("enable_thinking");
  if (thinking != input.template_kwargs.end()) input.enable_thinking = thinking->second == "true";
  read_effort(body, input);
}

CompletionOptions read_answer_options(const JsonFields& body, const ChatDefaults& defaults) {
  CompletionOptions options = read_options(body, defaults);
  options.n = 1;
  const auto limit = body.integer("max_output_tokens", 0, std::int64_t{1} << 53);
  if (limit) options.max_tokens = static_cast<TokenPos>(std::min(*limit, kIntMax));
  return options;
}

void refuse_unsupported(const JsonFields& body) {
  if (body.boolean("background").value_or(false))
    body.fail("background", "is not supported; stream the answer instead");
  if (body.has("conversation"))
    body.fail("conversation", "is not supported; use previous_response_id");
  if (body.has("prompt")) body.fail("prompt", "is not supported; send the prompt as input");
}

// --- what the answer repeats -------------------------------------------------------

std::string value_or(const JsonFields& body, std::string_view name, std::string_view otherwise) {
  const Json* value = body.find(name);
  return value == nullptr ? std::string(otherwise) : json_text(*value);
}

// The shortest digits that stand for the float: 0.8, not 0.800000011920929.
std::string short_number(float value) {
  std::array<char, 32> digits{};
  const auto [end, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return problem == std::errc() ? std::string(digits.data(), end) : "0";
}

std::string read_echo(const JsonFields& body, const ResponsesRequest& request) {
  const engine::SamplingParams& sampling = request.chat.options.sampling;
  std::string out;
  {
    ObjectWriter echo(out);
    for (const char* name : {"instructions", "max_output_tokens", "previous_response_id",
                             "prompt_cache_key", "safety_identifier", "user"})
      echo.raw(name, value_or(body, name, "null"));
    echo.raw("metadata", value_or(body, "metadata", "{}"));
    echo.raw("parallel_tool_calls", value_or(body, "parallel_tool_calls", "true"));
    echo.raw("reasoning", value_or(body, "reasoning", R"({"effort":null,"summary":null})"));
    echo.raw("store", request.store ? "true" : "false");
    echo.raw("temperature", short_number(sampling.temperature));
    echo.raw("text", value_or(body, "text", R"({"format":{"type":"text"}})"));
    echo.raw("tool_choice", value_or(body, "tool_choice", "\"auto\""));
    echo.raw("tools", value_or(body, "tools", "[]"));
    echo.raw("top_p", short_number(sampling.top_p));
    echo.raw("truncation", value_or(body, "truncation", "\"disabled\""));
  }
  return out.substr(1, out.size() - 2);
}

ResponsesRequest read_request(const JsonFields& body, const Json& earlier,
                              const ChatDefaults& defaults) {
  ResponsesRequest request;
  request.store = body.boolean("store").value_or(true);
  refuse_unsupported(body);
  request.chat.options = read_answer_options(body, defaults);
  request.chat.protocol_returns_thoughts = true;
  engine::ChatInput& input = request.chat.input;
  read_messages(body, earlier, request.chat);
  input.stream = request.chat.options.stream;
  ResponsesTools tools = read_responses_tools(body, input);
  request.custom_tools = std::move(tools.custom);
  for (const std::string& kind : tools.skipped) note_skipped(request.chat.skipped, kind);
  read_reasoning(body, defaults, input);
  input.json_schema = read_format(body);
  request.echo_json = read_echo(body, request);
  if (request.store && body.error().empty()) request.items_json = all_items(body, earlier);
  return request;
}

}  // namespace

Result<ResponsesRequest> decode_responses_request(std::string_view json,
                                                  const ChatDefaults& defaults,
                                                  const StoredTalk& stored) {
  Result<Json> body = parse_json(json);
  if (!body.ok()) return body.error();
  if (!body->is_object()) return invalid_argument("", "the request must be a JSON object");
  FirstError error;
  const JsonFields fields(*body, "", error);
  const std::string salt = read_cache_salt(fields);
  const Result<Json> earlier = earlier_items(fields, stored);
  if (!error.empty()) return error.get();
  if (!earlier.ok()) return earlier.error();
  if (auto resolved = resolve_references(*body, salt, stored); !resolved) return resolved.error();
  ResponsesRequest request = read_request(fields, *earlier, defaults);
  if (!error.empty()) return error.get();
  return request;
}

}  // namespace holdfast::api
