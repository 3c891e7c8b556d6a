#include "api/anthropic_tools.h"

#include <algorithm>
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

// nullopt for tools that have no schema because Anthropic's servers know it.
std::optional<ChatTool> read_tool(const JsonFields& tool) {
  const std::string type = tool.text("type").value_or("custom");
  if (tool.object("input_schema"))
    return ChatTool{required_name(tool), tool.text("description"),
                    json_text(*tool.find("input_schema"))};
  if (type == "custom") tool.fail("input_schema", "is required");
  return std::nullopt;
}

// Leaves the one tool that has to be used.
void keep_named(const JsonFields& choice, std::vector<ChatTool>& tools) {
  const std::string name = required_name(choice);
  if (std::ranges::find(tools, name, &ChatTool::name) == tools.end())
    choice.fail("name", "names a tool that is not in 'tools'");
  std::erase_if(tools, [&](const ChatTool& tool) { return tool.name != name; });
}

ToolChoice read_choice(const JsonFields& choice, std::vector<ChatTool>& tools,
                       engine::ChatInput& input) {
  constexpr std::string_view kTypes[] = {"auto", "any", "tool", "none"};
  if (!choice.has("type")) choice.fail("type", "is required");
  const std::string type = choice.choice("type", kTypes).value_or("auto");
  if (type == "tool") keep_named(choice, tools);
  const bool must = type == "any" || type == "tool";
  if (must && tools.empty()) choice.fail("type", "needs 'tools'");
  if (const auto one_only = choice.boolean("disable_parallel_tool_use"))
    input.parallel_tool_calls = !*one_only;
  return {.mode = must ? "required" : type, .names = std::nullopt};
}

}  // namespace

SkippedKinds read_anthropic_tools(const JsonFields& body, engine::ChatInput& input) {
  SkippedKinds skipped;
  std::vector<ChatTool> tools = read_tool_list(body, [&](const JsonFields& tool) {
    auto read = read_tool(tool);
    if (!read) note_skipped(skipped, tool.text("type").value_or(""));
    return read;
  });
  ToolChoice choice;
  if (const auto chosen = body.object("tool_choice")) choice = read_choice(*chosen, tools, input);
  offer_tools(body, std::move(tools), choice, input);
  return skipped;
}

}  // namespace holdfast::api
