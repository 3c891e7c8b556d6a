#include "api/openai_constraint.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace holdfast::api {
namespace {

// llama.cpp's grammar parser recurses per group and per chain of rules.
constexpr std::size_t kGrammarBytesMax = 128 * 1024;
constexpr int kGrammarDepthMax = 256;

// The end of what `open` begins at `at`: a literal, a class or a comment. Inside,
// parentheses are text.
std::size_t skip_text(std::string_view grammar, std::size_t at) {
  const char open = grammar[at];
  const char close = open == '[' ? ']' : open == '#' ? '\n' : open;
  for (++at; at < grammar.size() && grammar[at] != close; ++at) {
    if (grammar[at] == '\\' && open != '#') ++at;
  }
  return at;
}

int deepest_group(std::string_view grammar) {
  int depth = 0;
  int deepest = 0;
  for (std::size_t at = 0; at < grammar.size(); ++at) {
    const char c = grammar[at];
    if (c == '"' || c == '[' || c == '#') {
      at = skip_text(grammar, at);
    } else {
      depth += c == '(' ? 1 : c == ')' && depth > 0 ? -1 : 0;
      deepest = std::max(deepest, depth);
    }
  }
  return deepest;
}

std::string read_grammar(const JsonFields& body) {
  std::string grammar = body.text("grammar").value_or("");
  if (grammar.size() > kGrammarBytesMax)
    body.fail("grammar", "may have at most 131072 bytes");
  else if (deepest_group(grammar) > kGrammarDepthMax)
    body.fail("grammar", "may nest groups at most 256 deep");
  return grammar;
}

// Schema text; empty when the field is absent. A schema without any rule means
// "an object", as in llama-server.
std::string read_schema(const JsonFields& fields, std::string_view name) {
  const Json* schema = fields.find(name);
  if (schema == nullptr || !fields.object(name)) return "";
  return schema->empty() ? R"({"type":"object"})" : json_text(*schema);
}

std::string read_wrapped_schema(const JsonFields& format) {
  const auto wrapper = format.object("json_schema");
  return wrapper ? read_schema(*wrapper, "schema") : "";
}

// The schema that `response_format` asks for; `fallback` is the field json_schema.
std::string read_response_format(const JsonFields& body, std::string fallback) {
  constexpr std::string_view kTypes[] = {"text", "json_object", "json_schema"};
  const auto format = body.object("response_format");
  if (!format) return fallback;
  if (!format->has("type")) format->fail("type", "is required");
  const std::string type = format->choice("type", kTypes).value_or("text");
  if (type == "text") return fallback;
  std::string schema =
      type == "json_schema" ? read_wrapped_schema(*format) : read_schema(*format, "schema");
  if (!schema.empty()) return schema;
  return fallback.empty() ? R"({"type":"object"})" : fallback;
}

}  // namespace

Constraint read_constraint(const JsonFields& body) {
  Constraint constraint;
  constraint.grammar = read_grammar(body);
  constraint.json_schema = read_response_format(body, read_schema(body, "json_schema"));
  if (!constraint.grammar.empty() && !constraint.json_schema.empty())
    body.fail("grammar", "cannot be combined with a JSON schema");
  return constraint;
}

}  // namespace holdfast::api
