#include "api/models_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/client_envelope.h"
#include "api/json_fields.h"
#include "api/responses_models.h"
#include "cache/advice.h"

namespace holdfast::api {

namespace {

Json model_meta(const Backend& backend) {
  const engine::ModelCard& card = backend.text->card();
  return {{"vocab_type", card.vocabulary_type},
          {"n_vocab", card.vocabulary},
          {"n_ctx", backend.context_tokens},
          {"n_ctx_train", card.context_train},
          {"n_embd", card.embedding},
          {"n_params", card.parameters},
          {"size", card.size_bytes},
          {"ftype", card.file_type},
          {"architecture", card.architecture}};
}

// pi takes a server without "status" for one that cannot serve its models.
Json openai_entry(const Backend& backend, const std::string& id) {
  return {{"id", id},
          {"aliases", model_names(backend)},
          {"tags", backend.tags},
          {"object", "model"},
          {"created", backend.loaded_at},
          {"owned_by", "holdfast"},
          {"status", {{"value", "loaded"}}},
          {"meta", model_meta(backend)}};
}

Json anthropic_entry(const Backend& backend, const std::string& id) {
  return {{"type", "model"},
          {"id", id},
          {"display_name", id},
          {"created_at", cache::utc_text(backend.loaded_at * 1000)}};
}

Json entry_for(const HttpRequest& request, const Backend& backend, const std::string& id) {
  return speaks_anthropic(request) ? anthropic_entry(backend, id) : openai_entry(backend, id);
}

// As in llama-server: one entry, which tells its other names.
Json openai_list(const Backend& backend) {
  return {{"object", "list"},
          {"data", Json::array({openai_entry(backend, backend.model_name)})},
          {"models", codex_models(backend)}};
}

// Claude Code offers each name.
Json anthropic_list(const Backend& backend) {
  const std::vector<std::string> names = model_names(backend);
  Json data = Json::array();
  for (const std::string& name : names) data.push_back(anthropic_entry(backend, name));
  return {{"data", std::move(data)},
          {"has_more", false},
          {"first_id", names.front()},
          {"last_id", names.back()}};
}

}  // namespace

std::vector<std::string> model_names(const Backend& backend) {
  std::vector<std::string> names{backend.model_name};
  for (const std::string& alias : backend.aliases)
    if (alias != backend.model_name) names.push_back(alias);
  return names;
}

HttpResponse list_models(const Backend& backend, const HttpRequest& request, const std::string&) {
  return {.body = json_text(speaks_anthropic(request) ? anthropic_list(backend)
                                                      : openai_list(backend))};
}

HttpResponse show_model(const Backend& backend, const HttpRequest& request, std::string_view id) {
  const std::vector<std::string> names = model_names(backend);
  if (std::ranges::find(names, id) != names.end())
    return {.body = json_text(entry_for(request, backend, std::string(id)))};
  return refusal_for(request, {ErrorCode::kNotFound,
                               "There is no model '" + std::string(id) + "'; this server serves '" +
                                   backend.model_name + "'.",
                               "model"});
}

}  // namespace holdfast::api
