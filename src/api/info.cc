#include "api/info.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "api/generation.h"
#include "api/generation_settings.h"
#include "api/json_fields.h"
#include "api/openai_errors.h"
#include "api/quoted_chat.h"

namespace holdfast::api {

namespace {

HttpResponse ok(const Json& body) { return {.body = json_text(body)}; }

Json default_params(const Backend& backend) {
  CompletionOptions options;
  options.sampling = backend.defaults.sampling;
  options.max_tokens = backend.defaults.max_tokens;
  options.draft = backend.defaults.draft;
  std::string params;
  append_generation_settings(params, options, backend.defaults.companion);
  Json json = Json::parse(params);
  json["reasoning_format"] = backend.defaults.reasoning_format;
  return json;
}

Json parts_json(const StateShape& shape) {
  Json parts = Json::array();
  for (const Part& part : shape.parts) {
    Json entry = {{"kind", part_kind_name(part.kind)}};
    if (part.bytes_per_token > 0) entry["bytes_per_token"] = part.bytes_per_token;
    if (part.bytes_fixed > 0) entry["bytes_per_snapshot"] = part.bytes_fixed;
    if (part.window > 0) entry["window"] = part.window;
    parts.push_back(std::move(entry));
  }
  return parts;
}

Json room_json(const cache::RoomFor& room) {
  return {{"tokens", room.tokens},
          {"bytes", room.bytes()},
          {"row_bytes", room.row_bytes},
          {"snapshots", room.snapshots},
          {"bytes_per_snapshot", room.snapshot_bytes},
          {"fit_in_memory", room.in_memory()},
          {"fit_on_disk", room.on_disk()}};
}

Json engine_json(const engine::EngineStanding& engine) {
  const engine::EngineSetting& setting = engine.setting;
  return {{"version", engine.version},
          {"cpu_variant", setting.cpu_variant},
          {"extra_buffers", setting.extra_buffers},
          {"slots_together", setting.together},
          {"drafts", setting.drafts},
          {"given_up", engine.given_up.empty() ? Json(nullptr) : Json(engine.given_up)},
          {"fault", engine.fault.empty() ? Json(nullptr) : Json(engine.fault)},
          {"check",
           {{"result", engine.check},
            {"kinds", engine.kinds},
            {"unchecked", engine.unchecked},
            {"ms", engine.check_ms}}}};
}

// Parses a body that must be a JSON object, and hands its fields to `answer`.
template <typename Answer>
HttpResponse with_fields(const HttpRequest& request, Answer answer) {
  const auto body = parse_json(request.body);
  if (!body) return error_response(body.error());
  if (!body->is_object()) {
    return error_response(invalid_argument("", "The body must be a JSON object."));
  }
  FirstError error;
  const JsonFields fields(*body, "", error);
  HttpResponse response = answer(fields);
  return error.empty() ? response : error_response(error.get());
}

// What /tokenize was given: a text, or a chat, as its prompt is read.
Tokens text_tokens(const Backend& backend, const JsonFields& fields) {
  const bool add_special = fields.boolean("add_special").value_or(false);
  const bool parse_special = fields.boolean("parse_special").value_or(true);
  return backend.text->tokenize(fields.text("content").value_or(""), add_special, parse_special);
}

Result<Tokens> chat_tokens(const Backend& backend, const HttpRequest& request) {
  auto chat = decode_chat_request(request.body, backend.defaults);
  if (!chat) return chat.error();
  const auto rendered = render_chat(backend, chat->input);
  if (!rendered) return rendered.error();
  return backend.text->tokenize_prompt(rendered->prompt, true, rendered->literal);
}

std::string escaped_for_html(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

Json token_piece(const engine::TextModel& text, Token token) {
  const std::string piece = text.piece(token, true);
  Json entry = {{"id", token}};
  std::size_t at = 0;
  while (at < piece.size() && utf8_length_at(piece, at) > 0) at += utf8_length_at(piece, at);
  if (at == piece.size()) {
    entry["piece"] = piece;
  } else {
    entry["piece"] = Json::array();
    for (const char byte : piece) entry["piece"].push_back(static_cast<unsigned char>(byte));
  }
  return entry;
}

}  // namespace

HttpResponse hello() { return ok({{"message", "hello"}}); }

namespace {

// A prompt of 60 MiB takes half a minute to tokenise.
constexpr double kWorkerMsMax = 120'000.0;

HttpResponse unavailable(const std::string& message, const char* code, Json more) {
  HttpResponse response{.status = 503};
  Json body = {
      {"error",
       {{"message", message}, {"type", "unavailable_error"}, {"param", nullptr}, {"code", code}}}};
  body.update(more);
  response.body = json_text(body);
  return response;
}

HttpResponse loading_page(float progress) {
  const int percent = static_cast<int>(progress * 100.0F);
  HttpResponse response =
      unavailable("The model is loading (" + std::to_string(percent) + "%).", "loading",
                  {{"status", "loading model"}, {"progress", progress}});
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

const char* name_of(const serve::PulseReading& pulse) {
  if (pulse.resting) return "resting";
  switch (pulse.work) {
    case serve::Work::kRound: return "beginning";
    case serve::Work::kReading: return "reading";
    case serve::Work::kWriting: return "writing";
    case serve::Work::kIdle: break;
  }
  return "idle work";
}

Json standing_json(const char* status, const serve::PulseReading& pulse, double worker_ms) {
  return {{"status", status},
          {"scheduler",
           {{"doing", name_of(pulse)},
            {"step_ms", std::round(pulse.piece_ms)},
            {"round_ms", std::round(pulse.round_ms)}}},
          {"worker", {{"waiting_ms", std::round(worker_ms)}}}};
}

}  // namespace

HttpResponse health(const BackendSlot& slot, double worker_ms) {
  const auto backend = slot.get();
  if (backend == nullptr) return loading_page(slot.progress());
  const serve::PulseReading pulse = backend->scheduler->pulse();
  if (pulse.stuck()) {
    return unavailable(
        "The scheduler is stuck: it has been " + pulse.in_words() + ". The log names the request.",
        "stuck", standing_json("stuck", pulse, worker_ms));
  }
  if (worker_ms > kWorkerMsMax) {
    return unavailable("The workers that prepare requests have all been busy for " +
                           std::to_string(std::lround(worker_ms / 1000.0)) + " s.",
                       "stuck", standing_json("stuck", pulse, worker_ms));
  }
  return ok(standing_json("ok", pulse, worker_ms));
}

HttpResponse change_props(const Backend& backend, const HttpRequest& request) {
  if (!backend.open.props) {
    return error_response(
        {ErrorCode::kUnsupported,
         "This server does not take changes of its properties. Start it with --props.", ""});
  }
  const auto body = request.body.empty() ? Result<Json>(Json::object()) : parse_json(request.body);
  if (!body) return error_response(body.error());
  if (!body->is_object())
    return error_response(invalid_argument("", "The body must be a JSON object."));
  if (body->empty()) return ok({{"success", true}});
  const std::string& field = body->begin().key();
  return error_response(
      invalid_argument(field, "'" + field.substr(0, 64) +
                                  "' cannot be changed while the server runs. A chat's own "
                                  "settings come with its request."));
}

HttpResponse show_props(const Backend& backend) {
  const engine::ModelCard& card = backend.text->card();
  Json caps = Json::object();
  for (const auto& [name, value] : card.chat_template_caps) caps[name] = value;
  return ok({{"default_generation_settings",
              {{"n_ctx", backend.context_tokens}, {"params", default_params(backend)}}},
             {"total_slots", backend.slots},
             {"model_alias", backend.model_name},
             {"model_path", card.path},
             {"model_ftype", card.file_type},
             {"modalities", {{"vision", false}, {"video", false}, {"audio", false}}},
             {"endpoint_slots", backend.open.slots},
             {"endpoint_props", backend.open.props},
             {"endpoint_metrics", true},
             {"chat_template", card.chat_template},
             {"chat_template_caps", std::move(caps)},
             {"bos_token", card.bos_text},
             {"eos_token", card.eos_text},
             {"build_info", backend.build},
             {"is_sleeping", false},
             {"state_parts", parts_json(backend.shape)},
             {"conversation", room_json(backend.room)},
             {"engine", engine_json(backend.engine())}});
}

HttpResponse list_slots(const Backend& backend, const Asker& asker) {
  if (!backend.open.slots) {
    return error_response(
        {ErrorCode::kUnsupported, "This server was started with --no-slots.", ""});
  }
  Json slots = Json::array();
  for (const serve::SlotStatus& slot : backend.scheduler->status().slots) {
    if (!asker.sees_all() && slot.client != asker.client) continue;
    slots.push_back(
        {{"id", slot.id.value},
         {"id_task", slot.request_id},
         {"n_ctx", backend.context_tokens},
         {"speculative", slot.drafts},
         {"is_processing", slot.busy},
         {"state", !slot.busy        ? "idle"
                   : slot.prefilling ? "prefill"
                                     : "decode"},
         {"n_tokens", slot.tokens_held},
         {"n_prompt_tokens", slot.prompt_tokens},
         {"n_prompt_tokens_processed", slot.prompt_processed},
         {"next_token", Json::array({{{"has_next_token", slot.busy && slot.remaining != 0},
                                      {"n_remain", slot.remaining},
                                      {"n_decoded", slot.predicted}}})}});
  }
  return ok(slots);
}

HttpResponse tokenize(const Backend& backend, const HttpRequest& request) {
  return with_fields(request, [&](const JsonFields& fields) {
    const bool with_pieces = fields.boolean("with_pieces").value_or(false);
    const bool chat = !fields.has("content") && fields.array("messages") != nullptr;
    const Result<Tokens> read =
        chat ? chat_tokens(backend, request) : Result<Tokens>(text_tokens(backend, fields));
    if (!read) return error_response(read.error());
    Json tokens = Json::array();
    for (const Token token : *read) {
      tokens.push_back(with_pieces ? token_piece(*backend.text, token) : Json(token));
    }
    return ok({{"tokens", std::move(tokens)}});
  });
}

HttpResponse detokenize(const Backend& backend, const HttpRequest& request) {
  return with_fields(request, [&](const JsonFields& fields) {
    Tokens tokens;
    if (const Json* array = fields.array("tokens")) {
      for (std::size_t i = 0; i < array->size(); ++i) {
        const auto token = exact_integer((*array)[i]);
        if (!token || *token < 0 || *token >= backend.text->card().vocabulary) {
          fields.error().note(element_path("tokens", i), "must be a token of this model");
          break;
        }
        tokens.push_back(static_cast<Token>(*token));
      }
    }
    return ok({{"content", backend.text->detokenize(tokens)}});
  });
}

HttpResponse count_chat_tokens(const Backend& backend, const HttpRequest& request) {
  const Result<Tokens> tokens = chat_tokens(backend, request);
  if (!tokens) return error_response(tokens.error());
  return ok({{"object", "response.input_tokens"}, {"input_tokens", length_of(*tokens)}});
}

HttpResponse apply_template(const Backend& backend, const HttpRequest& request) {
  auto chat = decode_chat_request(request.body, backend.defaults);
  if (!chat) return error_response(chat.error());
  const auto rendered = render_chat(backend, chat->input);
  if (!rendered) return error_response(rendered.error());
  return ok({{"prompt", rendered->prompt}});
}

namespace {

const char* page_note(PageState page) {
  switch (page) {
    case PageState::kShown: return "Open this address in a browser for the page with the chat. ";
    case PageState::kOff: return "The page for people is switched off (--no-ui). ";
    case PageState::kNotBuilt: break;
  }
  return "The page for people was not built, because npm could not install its packages: run make "
         "again where npm works. ";
}

}  // namespace

HttpResponse welcome_page(const BackendSlot& slot, PageState page) {
  const auto backend = slot.get();
  const std::string state = backend == nullptr
                                ? "The model is loading."
                                : "Serving <b>" + escaped_for_html(backend->model_name) + "</b>, " +
                                      std::to_string(backend->slots) + " slots of " +
                                      std::to_string(backend->context_tokens) + " tokens.";
  return {.content_type = "text/html; charset=utf-8",
          .body =
              "<!doctype html><meta charset=utf-8><title>Holdfast</title>"
              "<body style='font:16px system-ui;max-width:42rem;margin:4rem auto;padding:0 1rem'>"
              "<h1>Holdfast</h1><p>" +
              state + "</p><p>" + page_note(page) +
              "</p><p>Point an OpenAI client at <code>/v1</code> on this address, or run "
              "<code>holdfast chat</code> in a terminal. See also <a href=/v1/models>/v1/models"
              "</a>, <a href=/props>/props</a>, <a href=/health>/health</a>, "
              "<a href=/slots>/slots</a>.</p></body>"};
}

}  // namespace holdfast::api
