#include "api/responses_tools.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/openai_fields.h"

namespace holdfast::api {
namespace {

struct Tool {
  std::string name;
  std::string description;
  std::string parameters;  // JSON text
  bool custom = false;
};

struct ToolChoice {
  std::string mode = "auto";
  std::optional<std::vector<std::string>> names;  // only these may be called, when set
};

std::string read_parameters(const JsonFields& tool) {
  const Json* parameters = tool.find("parameters");
  if (parameters == nullptr || !tool.object("parameters"))
    return R"({"type":"object","properties":{}})";
  return json_text(*parameters);
}

// A grammar cannot be enforced inside of a text argument; the model is told of it.
std::string read_custom_description(const JsonFields& tool) {
  std::string description = tool.text("description").value_or("");
  const auto format = tool.object("format");
  const auto grammar = format ? format->text("definition") : std::nullopt;
  if (!grammar) return description;
  const std::string syntax = format->text("syntax").value_or("given");
  return description + "\n\nThe input follows this " + syntax + " grammar:\n" + *grammar;
}

constexpr std::string_view kCustomParameters =
    R"({"type":"object","properties":{"input":{"type":"string"}},"required":["input"]})";

std::optional<Tool> read_tool(const JsonFields& tool) {
  const std::string type = required_text(tool, "type");
  if (type == "function")
    return Tool{required_name(tool), tool.text("description").value_or(""), read_parameters(tool),
                false};
  if (type == "custom")
    return Tool{required_name(tool), read_custom_description(tool), std::string(kCustomParameters),
                true};
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

// {"type":"allowed_tools","mode":...,"tools":[{"type":"function","name":...}]}
void read_allowed_tools(const JsonFields& chosen, ToolChoice& choice) {
  constexpr std::string_view kModes[] = {"auto", "required"};
  choice.mode = chosen.choice("mode", kModes).value_or("auto");
  const Json* tools = chosen.array("tools");
  if (tools == nullptr) return chosen.fail("tools", "is required");
  for (std::size_t i = 0; i < tools->size() && chosen.error().empty(); ++i)
    if (const auto tool = chosen.element(*tools, "tools", i))
      choice.names->push_back(required_name(*tool));
}

ToolChoice read_chosen_tools(const JsonFields& chosen) {
  constexpr std::string_view kTypes[] = {"function", "custom", "allowed_tools"};
  ToolChoice choice{.mode = "required", .names = std::vector<std::string>{}};
  if (!chosen.has("type")) chosen.fail("type", "is required");
  const std::string type = chosen.choice("type", kTypes).value_or("");
  if (type == "allowed_tools")
    read_allowed_tools(chosen, choice);
  else
    choice.names->push_back(required_name(chosen));
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

void append_tool(std::string& out, const Tool& tool) {
  ObjectWriter outer(out);
  outer.text("type", "function");
  ObjectWriter inner(outer.key("function"));
  inner.text("name", tool.name);
  if (!tool.description.empty()) inner.text("description", tool.description);
  inner.raw("parameters", tool.parameters);
}

}  // namespace

std::set<std::string> read_responses_tools(const JsonFields& body, engine::ChatInput& input) {
  std::vector<Tool> tools = read_tools(body);
  const ToolChoice choice = read_tool_choice(body);
  keep_chosen(body, choice, tools);
  if (choice.mode == "required" && tools.empty()) body.fail("tool_choice", "needs 'tools'");
  input.tool_choice = choice.mode;
  input.parallel_tool_calls = body.boolean("parallel_tool_calls");
  std::set<std::string> custom;
  for (const Tool& tool : tools) {
    append_tool(input.tools_json += input.tools_json.empty() ? "[" : ",", tool);
    if (tool.custom) custom.insert(tool.name);
  }
  if (!tools.empty()) input.tools_json += ']';
  return custom;
}

}  // namespace holdfast::api
