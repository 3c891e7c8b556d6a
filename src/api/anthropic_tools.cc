#include "api/anthropic_tools.h"

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
  std::string json;  // in OpenAI's shape, which templates know
};

Tool read_described(const JsonFields& tool) {
  Tool read{.name = required_name(tool), .json = {}};
  const auto description = tool.text("description");
  ObjectWriter outer(read.json);
  outer.text("type", "function");
  ObjectWriter inner(outer.key("function"));
  inner.text("name", read.name);
  if (description) inner.text("description", *description);
  inner.raw("parameters", json_text(*tool.find("input_schema")));
  return read;
}

// nullopt for tools that have no schema because Anthropic's servers know it.
std::optional<Tool> read_tool(const JsonFields& tool) {
  const std::string type = tool.text("type").value_or("custom");
  if (tool.object("input_schema")) return read_described(tool);
  if (type == "custom") tool.fail("input_schema", "is required");
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

// Leaves the one tool that has to be used.
void keep_named(const JsonFields& choice, std::vector<Tool>& tools) {
  const std::string name = required_name(choice);
  if (std::ranges::find(tools, name, &Tool::name) == tools.end())
    choice.fail("name", "names a tool that is not in 'tools'");
  std::erase_if(tools, [&](const Tool& tool) { return tool.name != name; });
}

void read_choice(const JsonFields& choice, std::vector<Tool>& tools, engine::ChatInput& input) {
  constexpr std::string_view kTypes[] = {"auto", "any", "tool", "none"};
  if (!choice.has("type")) choice.fail("type", "is required");
  const std::string type = choice.choice("type", kTypes).value_or("auto");
  if (type == "tool") keep_named(choice, tools);
  const bool must = type == "any" || type == "tool";
  if (must && tools.empty()) choice.fail("type", "needs 'tools'");
  input.tool_choice = must ? "required" : type;
  if (const auto one_only = choice.boolean("disable_parallel_tool_use"))
    input.parallel_tool_calls = !*one_only;
}

}  // namespace

void read_anthropic_tools(const JsonFields& body, engine::ChatInput& input) {
  std::vector<Tool> tools = read_tools(body);
  if (const auto choice = body.object("tool_choice")) read_choice(*choice, tools, input);
  for (const Tool& tool : tools) {
    input.tools_json += input.tools_json.empty() ? "[" : ",";
    input.tools_json += tool.json;
  }
  if (!input.tools_json.empty()) input.tools_json += ']';
}

}  // namespace holdfast::api
