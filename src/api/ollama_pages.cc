#include "api/ollama_pages.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "api/json_fields.h"
#include "api/models_page.h"
#include "api/ollama_errors.h"
#include "cache/advice.h"
#include "tier/sha256.h"

namespace holdfast::api {
namespace {

constexpr const char* kVersion = "0.12.11";

// "14.2M", "8.0B", as people say it.
std::string parameter_size(std::int64_t count) {
  const auto number = static_cast<double>(count);
  std::array<char, 32> text{};
  const bool billions = count >= 1'000'000'000;
  std::snprintf(text.data(), text.size(), billions ? "%.1fB" : "%.2fM",
                number / (billions ? 1e9 : 1e6));
  return text.data();
}

// Tells models apart by what their files say; nobody reads gigabytes for it.
std::string digest_of(const engine::ModelCard& card) {
  const std::string facts = card.name + '\n' + card.architecture + '\n' + card.file_type + '\n' +
                            std::to_string(card.parameters) + '\n' +
                            std::to_string(card.size_bytes);
  std::string hex;
  for (const std::byte byte : tier::Sha256().add(std::as_bytes(std::span(facts))).digest()) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    hex += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return hex;
}

Json details_of(const engine::ModelCard& card) {
  return {{"parent_model", ""},
          {"format", "gguf"},
          {"family", card.architecture},
          {"families", Json::array({card.architecture})},
          {"parameter_size", parameter_size(card.parameters)},
          {"quantization_level", card.file_type}};
}

std::string loaded_time(const Backend& backend, std::int64_t later_s = 0) {
  return cache::utc_text((backend.loaded_at + later_s) * 1000);
}

Json entry_of(const Backend& backend, const std::string& name) {
  const engine::ModelCard& card = backend.text->card();
  return {{"name", name},
          {"model", name},
          {"modified_at", loaded_time(backend)},
          {"size", card.size_bytes},
          {"digest", digest_of(card)},
          {"details", details_of(card)}};
}

Json capabilities_of(const Backend& backend) {
  const engine::ModelCard& card = backend.text->card();
  if (backend.embeddings != nullptr) return Json::array({"embedding"});
  Json all = Json::array({"completion"});
  const auto tools = card.chat_template_caps.find("supports_tools");
  if (tools != card.chat_template_caps.end() && tools->second) all.push_back("tools");
  if (card.fill.prefix && card.fill.suffix && card.fill.middle) all.push_back("insert");
  if (card.chat_template.find("think") != std::string::npos) all.push_back("thinking");
  return all;
}

Json info_of(const Backend& backend) {
  const engine::ModelCard& card = backend.text->card();
  return {{"general.architecture", card.architecture},
          {"general.basename", card.name},
          {"general.parameter_count", card.parameters},
          {card.architecture + ".context_length", card.context_train},
          {card.architecture + ".embedding_length", card.embedding}};
}

bool is_ours(const Backend& backend, std::string name) {
  constexpr std::string_view kTag = ":latest";
  const auto names = model_names(backend);
  if (std::ranges::find(names, name) != names.end()) return true;
  if (!name.ends_with(kTag)) return false;
  name.resize(name.size() - kTag.size());
  return std::ranges::find(names, name) != names.end();
}

HttpResponse ok(const Json& body) { return {.body = json_text(body)}; }

}  // namespace

HttpResponse show_ollama_version(const Backend& backend) {
  return ok({{"version", kVersion}, {"server", backend.build}});
}

HttpResponse list_ollama_models(const Backend& backend) {
  Json models = Json::array();
  for (const std::string& name : model_names(backend)) models.push_back(entry_of(backend, name));
  return ok({{"models", std::move(models)}});
}

HttpResponse list_running_models(const Backend& backend) {
  constexpr std::int64_t kYearS = 365LL * 86400;
  Json entry = entry_of(backend, backend.model_name);
  entry.erase("modified_at");
  entry["expires_at"] = loaded_time(backend, 100 * kYearS);
  entry["context_length"] = backend.context_tokens;
  return ok({{"models", Json::array({std::move(entry)})}});
}

HttpResponse show_ollama_model(const Backend& backend, const HttpRequest& request) {
  const auto body = parse_json(request.body);
  if (!body) return ollama_error_response(body.error());
  if (!body->is_object())
    return ollama_error_response(invalid_argument("", "the request must be a JSON object"));
  FirstError error;
  const JsonFields fields(*body, "", error);
  const auto model = fields.text("model");
  const std::string name = model ? *model : fields.text("name").value_or("");
  if (name.empty()) fields.fail("model", "is required");
  if (!error.empty()) return ollama_error_response(error.get());
  if (!is_ours(backend, name)) {
    return ollama_error_response({ErrorCode::kNotFound,
                                  "model '" + name.substr(0, 256) +
                                      "' not found; this server has '" + backend.model_name + "'",
                                  "model"});
  }
  const engine::ModelCard& card = backend.text->card();
  return ok({{"license", ""},
             {"modelfile", ""},
             {"parameters", "num_ctx " + std::to_string(backend.context_tokens)},
             {"template", card.chat_template},
             {"details", details_of(card)},
             {"model_info", info_of(backend)},
             {"capabilities", capabilities_of(backend)},
             {"modified_at", loaded_time(backend)}});
}

}  // namespace holdfast::api
