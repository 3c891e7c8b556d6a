#include "api/openai_tools.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/chat_tools.h"
#include "api/openai_fields.h"

namespace holdfast::api {
namespace {

std::optional<ChatTool> read_tool(const JsonFields& tool) {
  const std::optional<std::string> type = tool.text("type");
  if (!type) tool.fail("type", "is required");
  if (type != "function") return std::nullopt;
  const auto function = tool.object("function");
  if (function)
    return ChatTool{required_name(*function), function->text("description"),
                    read_parameters(*function)};
  tool.fail("function", "is required");
  return std::nullopt;
}

// {"type":"function","function":{"name":...}}
void read_chosen_name(const JsonFields& chosen, ToolChoice& choice) {
  const auto function = chosen.object("function");
  if (!function) return chosen.fail("function", "is required");
  choice.names.value().push_back(required_name(*function));
}

// {"type":"allowed_tools","allowed_tools":{"mode":...,"tools":[...]}}
void read_allowed_tools(const JsonFields& chosen, ToolChoice& choice) {
  constexpr std::string_view kModes[] = {"auto", "required"};
  const auto allowed = chosen.object("allowed_tools");
  if (!allowed) return chosen.fail("allowed_tools", "is required");
  choice.mode = allowed->choice("mode", kModes).value_or("auto");
  const Json* tools = allowed->array("tools");
  if (tools == nullptr) return allowed->fail("tools", "is required");
  for (std::size_t i = 0; i < tools->size() && chosen.error().empty(); ++i)
    if (const auto tool = allowed->element(*tools, "tools", i)) read_chosen_name(*tool, choice);
}

ToolChoice read_chosen_tools(const JsonFields& chosen) {
  constexpr std::string_view kTypes[] = {"function", "allowed_tools"};
  ToolChoice choice{.mode = "required", .names = std::vector<std::string>{}};
  if (!chosen.has("type")) chosen.fail("type", "is required");
  const std::string type = chosen.choice("type", kTypes).value_or("");
  if (type == "function") read_chosen_name(chosen, choice);
  if (type == "allowed_tools") read_allowed_tools(chosen, choice);
  return choice;
}

// The predecessors of tools answer in another shape, which we do not write.
void refuse_legacy_functions(const JsonFields& body) {
  const Json* functions = body.find("functions");
  if (functions != nullptr && !functions->empty())
    body.fail("functions", "is no longer supported; use 'tools'");
  const Json* call = body.find("function_call");
  if (call != nullptr && *call != "auto" && *call != "none")
    body.fail("function_call", "is no longer supported; use 'tool_choice'");
}

}  // namespace

void read_tool_fields(const JsonFields& body, engine::ChatInput& input) {
  refuse_legacy_functions(body);
  std::vector<ChatTool> tools = read_tool_list(body, read_tool);
  const ToolChoice choice = read_tool_choice(body, read_chosen_tools);
  offer_tools(body, std::move(tools), choice, input);
  input.parallel_tool_calls = body.boolean("parallel_tool_calls");
}

}  // namespace holdfast::api
