#include "api/responses_models.h"

#include <nlohmann/json.hpp>

namespace holdfast::api {
namespace {

// Codex takes its instructions from the list where there is one, and has none of its own
// then.
constexpr const char* kInstructions =
    "You are a coding agent that works in the user's workspace through the tools you are given. "
    "Look at the files concerned before you change them. Make the smallest change that does what "
    "was asked, in the style of the code around it, and check it where you can. Do not undo work "
    "that is not yours. Say briefly what you did, and plainly what you could not do.";

// Output of one tool that Codex keeps in the conversation.
constexpr int kToolOutputBytes = 10'000;

Json model_messages() {
  Json messages = {{"instructions_template", kInstructions}};
  for (const char* name : {"instructions_variables", "approvals", "collaboration_modes",
                           "auto_review", "permissions", "multi_agent"})
    messages[name] = nullptr;
  return messages;
}

// Fields that a version of Codex knows without a default must be there, null or not.
Json codex_model(const Backend& backend, const std::string& name) {
  return {{"slug", name},
          {"display_name", name},
          {"description", "Served by " + backend.build},
          {"supported_reasoning_levels", Json::array()},
          {"shell_type", "shell_command"},
          {"visibility", "list"},
          {"supported_in_api", true},
          {"priority", 0},
          {"availability_nux", nullptr},
          {"upgrade", nullptr},
          {"base_instructions", kInstructions},
          {"model_messages", model_messages()},
          {"supports_reasoning_summaries", false},
          {"supports_reasoning_summary_parameter", false},
          {"support_verbosity", false},
          {"default_verbosity", nullptr},
          {"apply_patch_tool_type", nullptr},
          {"truncation_policy", {{"mode", "bytes"}, {"limit", kToolOutputBytes}}},
          {"supports_parallel_tool_calls", true},
          {"context_window", backend.context_tokens},
          {"max_context_window", backend.context_tokens},
          {"experimental_supported_tools", Json::array()},
          {"input_modalities", Json::array({"text"})}};
}

}  // namespace

Json codex_models(const Backend& backend) {
  Json models = Json::array({codex_model(backend, backend.model_name)});
  for (const std::string& alias : backend.aliases)
    if (alias != backend.model_name) models.push_back(codex_model(backend, alias));
  return models;
}

}  // namespace holdfast::api
