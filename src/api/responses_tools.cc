#include "api/responses_tools.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/chat_tools.h"
#include "api/openai_fields.h"

namespace holdfast::api {
namespace {

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

ChatTool read_custom(const JsonFields& tool) {
  return {required_name(tool), read_custom_description(tool), std::string(kCustomParameters)};
}

// A namespace holds tools of one source; its name says which.
std::string kind_of(const JsonFields& tool, const std::string& type) {
  const std::string name = type == "namespace" ? tool.text("name").value_or("") : "";
  return name.empty() ? type : type + " " + name;
}

// Notes the names of custom tools, and what is skipped.
std::optional<ChatTool> read_tool(const JsonFields& tool, ResponsesTools& noted) {
  const std::string type = required_text(tool, "type");
  if (type == "function")
    return ChatTool{required_name(tool), tool.text("description"), read_parameters(tool)};
  if (type != "custom") {
    note_skipped(noted.skipped, kind_of(tool, type));
    return std::nullopt;
  }
  ChatTool read = read_custom(tool);
  noted.custom.insert(read.name);
  return read;
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

}  // namespace

ResponsesTools read_responses_tools(const JsonFields& body, engine::ChatInput& input) {
  ResponsesTools noted;
  const ReadTool read = [&](const JsonFields& tool) { return read_tool(tool, noted); };
  std::vector<ChatTool> tools = read_tool_list(body, read);
  const ToolChoice choice = read_tool_choice(body, read_chosen_tools);
  offer_tools(body, std::move(tools), choice, input);
  input.parallel_tool_calls = body.boolean("parallel_tool_calls");
  if (choice.names)
    std::erase_if(noted.custom, [&](const std::string& name) {
      return std::ranges::find(*choice.names, name) == choice.names->end();
    });
  return noted;
}

}  // namespace holdfast::api
