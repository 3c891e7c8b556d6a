// ChatTool: a function that a request offers to the model, whatever protocol it came in.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/json_fields.h"
#include "engine/text.h"

namespace holdfast::api {

struct ChatTool {
  std::string name;
  std::optional<std::string> description;
  std::string parameters;  // JSON text
};

struct ToolChoice {
  std::string mode = "auto";  // auto | none | required
  // Only these may be called, when set.
  std::optional<std::vector<std::string>> names;
};

// nullopt for the kinds that only others' servers run.
using ReadTool = std::function<std::optional<ChatTool>(const JsonFields& tool)>;

// Those of the field "tools" that `read` knows.
[[nodiscard]] std::vector<ChatTool> read_tool_list(const JsonFields& body, const ReadTool& read);

// OpenAI's field "tool_choice": a mode, or an object that `read` knows.
using ReadChosen = std::function<ToolChoice(const JsonFields& chosen)>;
[[nodiscard]] ToolChoice read_tool_choice(const JsonFields& body, const ReadChosen& read);

// The field "parameters". OpenAI: without it a function takes none, and templates want to
// see that.
[[nodiscard]] std::string read_parameters(const JsonFields& function);

// Sets tools_json and tool_choice. A choice of certain functions leaves only these in
// tools_json; each has to be offered.
void offer_tools(const JsonFields& body, std::vector<ChatTool> tools, const ToolChoice& choice,
                 engine::ChatInput& input);

}  // namespace holdfast::api
