#include "api/openai_tools.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/openai_fields.h"

namespace holdfast::api {
namespace {

struct Tool {
  std::string name;
  std::string json;
};

struct ToolChoice {
  std::string mode = "auto";
  // Only these may be called, when set.
  std::optional<std::vector<std::string>> names;
};

// OpenAI: without parameters a function takes none. Templates want to see that.
std::string read_parameters(const JsonFields& function) {
  const Json* parameters = function.find("parameters");
  if (parameters == nullptr || !function.object("parameters"))
    return R"({"type":"object","properties":{}})";
  return json_text(*parameters);
}

Tool read_function(const JsonFields& function) {
  Tool tool{.name = required_name(function), .json = {}};
  const auto description = function.text("description");
  const std::string parameters = read_parameters(function);
  ObjectWriter outer(tool.json);
  outer.text("type", "function");
  ObjectWriter inner(outer.key("function"));
  inner.text("name", tool.name);
  if (description) inner.text("description", *description);
  inner.raw("parameters", parameters);
  return tool;
}

// nullopt for the kinds that only OpenAI's own servers run (web_search, ...).
std::optional<Tool> read_tool(const JsonFields& tool) {
  const std::optional<std::string> type = tool.text("type");
  if (!type) tool.fail("type", "is required");
  if (type != "function") return std::nullopt;
  const auto function = tool.object("function");
  if (function) return read_function(*function);
  tool.fail("function", "is required");
  return std::nullopt;
}

std::vector<Tool> read_tools(const JsonFields& body) {
  std::vector<Tool> tools;
  const Json* array = body.array("tools");
  const std::size_t count = array == nullptr ? 0 : array->size();
  for (std::size_t i = 0; i < count && body.error().empty(); ++i) {
    const auto fields = body.element(*array, "tools", i);
    auto tool = fields ? read_tool(*fields) : std::nullopt;
    if (tool) tools.push_back(std::move(*tool));
  }
  return tools;
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

ToolChoice read_tool_choice(const JsonFields& body) {
  constexpr std::string_view kModes[] = {"auto", "none", "required"};
  const Json* value = body.find("tool_choice");
  if (value == nullptr) return {};
  if (value->is_object()) return read_chosen_tools(*body.object("tool_choice"));
  return {.mode = body.choice("tool_choice", kModes).value_or("auto"), .names = std::nullopt};
}

// Leaves the tools that were chosen; each chosen name has to be a tool.
void keep_chosen(const JsonFields& body, const ToolChoice& choice, std::vector<Tool>& tools) {
  if (!choice.names) return;
  const auto& names = *choice.names;
  for (const std::string& name : names)
    if (std::ranges::find(tools, name, &Tool::name) == tools.end())
      body.fail("tool_choice", "names a function that is not in 'tools'");
  std::erase_if(
      tools, [&](const Tool& tool) { return std::ranges::find(names, tool.name) == names.end(); });
}

void append_list(std::string& out, const std::vector<Tool>& tools) {
  for (const Tool& tool : tools) {
    out += out.empty() ? "[" : ",";
    out += tool.json;
  }
  if (!out.empty()) out += ']';
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
  std::vector<Tool> tools = read_tools(body);
  const ToolChoice choice = read_tool_choice(body);
  keep_chosen(body, choice, tools);
  if (choice.mode == "required" && tools.empty()) body.fail("tool_choice", "needs 'tools'");
  append_list(input.tools_json, tools);
  input.tool_choice = choice.mode;
  input.parallel_tool_calls = body.boolean("parallel_tool_calls");
}

}  // namespace holdfast::api
