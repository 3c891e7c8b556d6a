#include "cli/agent_settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/chat_json.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

// Where a provider's settings name the key and do not hold it.
// Not HOLDFAST_API_KEY: a server that is started in the same shell would ask for that key.
constexpr const char* kKeyVariable = "HOLDFAST_AGENT_KEY";

constexpr TokenPos kAnswerMax = 32'000;

// Agents refuse to start without one, also where the server asks for none.
std::string key_of(const ServerFacts& server) { return server.key.empty() ? "none" : server.key; }

std::string text_json(const std::string& text) { return dump_json(Json(text)); }

AgentSettings claude_settings(const ServerFacts& server, const std::string&) {
  AgentSettings settings;
  settings.variables = {
      {"ANTHROPIC_BASE_URL", server.url},
      {"ANTHROPIC_AUTH_TOKEN", key_of(server)},
      // Its own names for models of several sizes; a server with one model has one.
      {"ANTHROPIC_MODEL", server.model},
      {"ANTHROPIC_DEFAULT_OPUS_MODEL", server.model},
      {"ANTHROPIC_DEFAULT_SONNET_MODEL", server.model},
      {"ANTHROPIC_DEFAULT_HAIKU_MODEL", server.model},
      {"CLAUDE_CODE_SUBAGENT_MODEL", server.model},
      // It assumes 200,000 tokens or more otherwise.
      {"CLAUDE_CODE_MAX_CONTEXT_TOKENS", std::to_string(server.context)},
      {"CLAUDE_CODE_MAX_OUTPUT_TOKENS", std::to_string(planned_answer(server.context))},
      // A line before the system prompt that differs from session to session.
      {"CLAUDE_CODE_ATTRIBUTION_HEADER", "0"},
      // It gives up a request after ten minutes otherwise, signs of life or not. Milliseconds.
      {"API_TIMEOUT_MS", "3600000"},
      // It takes 30 pings for life, and then waits this long for something to be seen.
      {"CLAUDE_STREAM_IDLE_TIMEOUT_MS", "3600000"},
      {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"}};
  settings.unset = {"ANTHROPIC_API_KEY", "ANTHROPIC_SMALL_FAST_MODEL", "CLAUDE_CODE_USE_BEDROCK",
                    "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"};
  return settings;
}

// A JSON text is a TOML text too. The server's list of models is not used (model_catalog_json):
// with one, Codex has no instructions of its own, and those are better than the server's.
AgentSettings codex_settings(const ServerFacts& server, const std::string&) {
  AgentSettings settings;
  settings.variables = {{kKeyVariable, key_of(server)}};
  const auto set = [&](const std::string& key, const std::string& value) {
    settings.arguments.insert(settings.arguments.end(), {"-c", key + "=" + value});
  };
  set("model", text_json(server.model));
  set("model_provider", text_json("holdfast"));
  set("model_providers.holdfast.name", text_json("Holdfast"));
  set("model_providers.holdfast.base_url", text_json(server.url + "/v1"));
  set("model_providers.holdfast.wire_api", text_json("responses"));
  set("model_providers.holdfast.env_key", text_json(kKeyVariable));
  set("model_context_window", std::to_string(server.context));
  return settings;
}

AgentSettings opencode_settings(const ServerFacts& server, const std::string&) {
  const Json model = {
      {"name", server.model},
      {"tool_call", true},
      {"limit", {{"context", server.context}, {"output", planned_answer(server.context)}}}};
  const Json provider = {
      {"npm", "@ai-sdk/openai-compatible"},
      {"name", "Holdfast"},
      {"options",
       {{"baseURL", server.url + "/v1"}, {"apiKey", std::string("{env:") + kKeyVariable + "}"}}},
      {"models", {{server.model, model}}}};
  const Json config = {{"provider", {{"holdfast", provider}}},
                       {"model", "holdfast/" + server.model},
                       {"small_model", "holdfast/" + server.model}};
  AgentSettings settings;
  settings.variables = {{kKeyVariable, key_of(server)},
                        {"OPENCODE_CONFIG_CONTENT", dump_json(config)}};
  return settings;
}

AgentSettings pi_settings(const ServerFacts& server, const std::string& folder) {
  const Json model = {{"id", server.model},
                      {"name", server.model},
                      {"reasoning", false},
                      {"input", Json::array({"text"})},
                      {"cost", {{"input", 0}, {"output", 0}, {"cacheRead", 0}, {"cacheWrite", 0}}},
                      {"contextWindow", server.context},
                      {"maxTokens", planned_answer(server.context)}};
  const Json provider = {{"name", "Holdfast"},
                         {"baseUrl", server.url + "/v1"},
                         {"apiKey", kKeyVariable},
                         {"api", "openai-completions"},
                         {"models", Json::array({model})}};
  AgentSettings settings;
  settings.variables = {{kKeyVariable, key_of(server)}};
  settings.files = {{"holdfast-provider.js",
                     "export default function (pi) {\n  pi.registerProvider(\"holdfast\", " +
                         dump_json(provider) + ");\n}\n"}};
  settings.arguments = {"--extension", folder + "/holdfast-provider.js",
                        "--provider",  "holdfast",
                        "--model",     server.model};
  return settings;
}

// Its system settings win over those of the user, and the environment gives the server.
AgentSettings qwen_settings(const ServerFacts& server, const std::string& folder) {
  const Json config = {
      {"security", {{"auth", {{"selectedType", "openai"}}}}},
      {"model",
       {{"name", server.model}, {"generationConfig", {{"contextWindowSize", server.context}}}}}};
  AgentSettings settings;
  settings.variables = {{"OPENAI_BASE_URL", server.url + "/v1"},
                        {"OPENAI_API_KEY", key_of(server)},
                        {"OPENAI_MODEL", server.model},
                        {"QWEN_CODE_SYSTEM_SETTINGS_PATH", folder + "/qwen-settings.json"}};
  settings.files = {{"qwen-settings.json", dump_json(config, 2) + "\n"}};
  return settings;
}

// A time is needed, and nothing depends on it.
AgentSettings cline_settings(const ServerFacts& server, const std::string& folder) {
  constexpr const char* kProvider = "openai-compatible";
  const Json config = {{"version", 1},
                       {"lastUsedProvider", kProvider},
                       {"modes", Json::object()},
                       {"providers",
                        {{kProvider,
                          {{"settings",
                            {{"provider", kProvider},
                             {"apiKey", key_of(server)},
                             {"model", server.model},
                             {"baseUrl", server.url + "/v1"},
                             {"contextWindow", server.context},
                             {"maxTokens", planned_answer(server.context)}}},
                           {"updatedAt", "2026-01-01T00:00:00.000Z"},
                           {"tokenSource", "manual"}}}}}};
  AgentSettings settings;
  settings.variables = {{"CLINE_PROVIDER_SETTINGS_PATH", folder + "/cline-providers.json"}};
  settings.files = {{"cline-providers.json", dump_json(config, 2) + "\n"}};
  settings.arguments = {"--provider", kProvider, "--model", server.model};
  return settings;
}

constexpr Agent kAgents[] = {
    {"claude", "claude", "@anthropic-ai/claude-code", 26'000, &claude_settings},
    {"codex", "codex", "@openai/codex", 8'300, &codex_settings},
    {"opencode", "opencode", "opencode-ai", 9'200, &opencode_settings},
    {"pi", "pi", "@earendil-works/pi-coding-agent", 1'800, &pi_settings},
    {"qwen", "qwen", "@qwen-code/qwen-code", 18'400, &qwen_settings},
    {"cline", "cline", "cline", 6'600, &cline_settings},
};

}  // namespace

std::span<const Agent> known_agents() { return kAgents; }

const Agent* find_agent(std::string_view name) {
  const auto* const found = std::ranges::find(kAgents, name, &Agent::name);
  return found == std::end(kAgents) ? nullptr : found;
}

TokenPos planned_answer(TokenPos context) { return std::clamp(context / 4, 1, kAnswerMax); }

}  // namespace holdfast::cli
