#include "engine/llama/llama_schema.h"

#include <json-schema-to-grammar.h>
#include <json.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "engine/llama/schema_meter.h"

namespace holdfast::llama {

namespace {

SchemaBudget budget_of(const engine::GrammarLimits& limits) {
  return {limits.schema_steps(), limits.schema_steps()};
}

// `owner`: "The JSON schema", "The schema of the tool 'x'".
Error refusal(const char* field, const std::string& owner, const Error& error,
              const engine::GrammarLimits& limits) {
  std::string message = owner + " cannot be used: " + error.message;
  if (error.code == ErrorCode::kTooLarge) {
    message += " The server's limit is raised with --grammar-limit " +
               std::to_string(limits.factor * 2) + ".";
  }
  return invalid_argument(field, message);
}

// Calls visit(owner, schema text) for each tool that has a schema, until one is refused.
using VisitTool = std::function<Result<void>(const std::string&, const std::string&)>;
Result<void> each_tool(const std::string& tools_json, const VisitTool& visit) {
  if (tools_json.empty()) return {};
  for (const auto& tool : nlohmann::ordered_json::parse(tools_json)) {
    const auto function = tool.find("function");
    if (function == tool.end() || !function->contains("parameters")) continue;
    const std::string owner = "The schema of the tool '" + function->value("name", "") + "'";
    auto visited = visit(owner, function->at("parameters").dump());
    if (!visited) return visited;
  }
  return {};
}

Result<void> try_conversion(const std::string& schema) {
  try {
    (void)json_schema_to_grammar(common_json::parse(schema));
    return {};
  } catch (const std::exception& failure) {
    return invalid_argument("", failure.what());
  }
}

const char* const kSchema = "The JSON schema";

}  // namespace

Result<std::string> grammar_of_schema(const std::string& schema,
                                      const engine::GrammarLimits& limits) {
  SchemaBudget budget = budget_of(limits);
  const auto document = read_metered_schema(schema, OtherPatterns::kRefused, budget);
  if (!document) return refusal("response_format", kSchema, document.error(), limits);
  try {
    return json_schema_to_grammar(*document);
  } catch (const std::exception& failure) {
    return refusal("response_format", kSchema, invalid_argument("", failure.what()), limits);
  }
}

// A tool's pattern that cannot be converted leaves its argument any string: the server that wrote a
// tool's schema is often not the client that offers it, and one such pattern must not take all
// tools away. The tool checks its arguments itself.
Result<void> check_schemas(const engine::ChatInput& input, const engine::GrammarLimits& limits) {
  SchemaBudget budget = budget_of(limits);
  if (!input.json_schema.empty()) {
    const auto document = read_metered_schema(input.json_schema, OtherPatterns::kRefused, budget);
    if (!document) return refusal("response_format", kSchema, document.error(), limits);
  }
  return each_tool(
      input.tools_json, [&](const std::string& owner, const std::string& schema) -> Result<void> {
        const auto document = read_metered_schema(schema, OtherPatterns::kAnyString, budget);
        if (!document) return refusal("tools", owner, document.error(), limits);
        return {};
      });
}

Result<void> find_bad_schema(const engine::ChatInput& input) {
  const engine::GrammarLimits unused;
  if (!input.json_schema.empty()) {
    if (auto tried = try_conversion(input.json_schema); !tried) {
      return refusal("response_format", kSchema, tried.error(), unused);
    }
  }
  return each_tool(input.tools_json,
                   [&](const std::string& owner, const std::string& schema) -> Result<void> {
                     if (auto tried = try_conversion(schema); !tried) {
                       return refusal("tools", owner, tried.error(), unused);
                     }
                     return {};
                   });
}

}  // namespace holdfast::llama
