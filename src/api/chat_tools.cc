#include "api/chat_tools.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace holdfast::api {
namespace {

// Leaves the tools that were chosen; each chosen name has to be a tool.
void keep_chosen(const JsonFields& body, const ToolChoice& choice, std::vector<ChatTool>& tools) {
  if (!choice.names) return;
  const auto& names = *choice.names;
  for (const std::string& name : names)
    if (std::ranges::find(tools, name, &ChatTool::name) == tools.end())
      body.fail("tool_choice", "names a function that is not in 'tools'");
  std::erase_if(tools, [&](const ChatTool& tool) {
    return std::ranges::find(names, tool.name) == names.end();
  });
}

void append_tool(std::string& out, const ChatTool& tool) {
  ObjectWriter outer(out);
  outer.text("type", "function");
  ObjectWriter inner(outer.key("function"));
  inner.text("name", tool.name);
  if (tool.description) inner.text("description", *tool.description);
  inner.raw("parameters", tool.parameters);
}

}  // namespace

std::vector<ChatTool> read_tool_list(const JsonFields& body, const ReadTool& read) {
  std::vector<ChatTool> tools;
  const Json* array = body.array("tools");
  const std::size_t count = array == nullptr ? 0 : array->size();
  for (std::size_t i = 0; i < count && body.error().empty(); ++i) {
    const auto fields = body.element(*array, "tools", i);
    auto tool = fields ? read(*fields) : std::nullopt;
    if (tool) tools.push_back(std::move(*tool));
  }
  return tools;
}

ToolChoice read_tool_choice(const JsonFields& body, const ReadChosen& read) {
  constexpr std::string_view kModes[] = {"auto", "none", "required"};
  const Json* value = body.find("tool_choice");
  if (value == nullptr) return {};
  if (value->is_object()) return read(*body.object("tool_choice"));
  return {.mode = body.choice("tool_choice", kModes).value_or("auto"), .names = std::nullopt};
}

std::string read_parameters(const JsonFields& function) {
  const Json* parameters = function.find("parameters");
  if (parameters == nullptr || !function.object("parameters"))
    return R"({"type":"object","properties":{}})";
  return json_text(*parameters);
}

void offer_tools(const JsonFields& body, std::vector<ChatTool> tools, const ToolChoice& choice,
                 engine::ChatInput& input) {
  keep_chosen(body, choice, tools);
  if (choice.mode == "required" && tools.empty()) body.fail("tool_choice", "needs 'tools'");
  input.tool_choice = choice.mode;
  if (tools.empty()) return;
  append_array(input.tools_json, tools,
               [&](const ChatTool& tool) { append_tool(input.tools_json, tool); });
}

}  // namespace holdfast::api
