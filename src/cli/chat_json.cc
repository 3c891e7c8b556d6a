#include "cli/chat_json.h"

#include <nlohmann/json.hpp>

namespace holdfast::cli {

using Json = nlohmann::json;

Json lenient_json(std::string_view text) { return Json::parse(text, nullptr, false); }

std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string text_at(const Json& json, const char* key) {
  if (!json.is_object()) return "";
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

double number_at(const Json& json, const char* key) {
  if (!json.is_object()) return 0.0;
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0.0;
}

const Json& child_of(const Json& json, const char* key) {
  static const Json none;
  if (!json.is_object()) return none;
  const auto found = json.find(key);
  return found != json.end() ? *found : none;
}

}  // namespace holdfast::cli
