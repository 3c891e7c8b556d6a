#include "api/openai_errors.h"

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

struct ErrorShape {
  int status;
  const char* type;
  const char* code;  // nullptr: null
};

ErrorShape shape_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return {400, "invalid_request_error", nullptr};
    case ErrorCode::kNotFound: return {404, "not_found_error", "not_found"};
    case ErrorCode::kUnauthorized: return {401, "authentication_error", "invalid_api_key"};
    case ErrorCode::kTooLarge: return {413, "invalid_request_error", "request_too_large"};
    case ErrorCode::kContextExceeded:
      return {400, "exceed_context_size_error", "context_length_exceeded"};
    case ErrorCode::kUnavailable: return {503, "unavailable_error", "unavailable"};
    case ErrorCode::kTimeout: return {504, "timeout_error", "timeout"};
    case ErrorCode::kCancelled: return {499, "cancelled_error", "cancelled"};
    case ErrorCode::kUnsupported: return {501, "not_supported_error", "not_supported"};
    case ErrorCode::kIo: return {500, "server_error", nullptr};
    case ErrorCode::kEngine: return {500, "server_error", nullptr};
  }
  return {500, "server_error", nullptr};
}

const char* type_of_status(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 429: return "rate_limit_error";
    case 501: return "not_supported_error";
    case 503: return "unavailable_error";
    default: return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

void append_nullable(ObjectWriter& object, std::string_view name, std::string_view value) {
  if (value.empty())
    object.raw(name, "null");
  else
    object.text(name, value);
}

void append_error(std::string& out, const Error& error,
                  const std::optional<ContextOverflow>& overflow) {
  const ErrorShape shape = shape_of(error.code);
  ObjectWriter object(out);
  object.text("message", error.message);
  object.text("type", shape.type);
  append_nullable(object, "param", error.param);
  append_nullable(object, "code", shape.code == nullptr ? "" : shape.code);
  if (!overflow) return;
  object.integer("n_prompt_tokens", overflow->prompt_tokens);
  object.integer("n_ctx", overflow->context_tokens);
}

}  // namespace

int http_status(ErrorCode code) { return shape_of(code).status; }

std::string error_json(const Error& error, const std::optional<ContextOverflow>& overflow) {
  std::string out = "{\"error\":";
  append_error(out, error, overflow);
  return out + '}';
}

std::string http_error_json(int status, std::string_view message) {
  std::string out = "{\"error\":";
  {
    ObjectWriter object(out);
    object.text("message", message);
    object.text("type", type_of_status(status));
    object.raw("param", "null");
    object.raw("code", "null");
  }
  return out + '}';
}

HttpResponse error_response(const Error& error, const std::optional<ContextOverflow>& overflow) {
  const bool too_long = error.code == ErrorCode::kContextExceeded;
  HttpResponse response{.status = http_status(error.code),
                        .body = error_json(error, too_long ? overflow : std::nullopt)};
  if (error.code == ErrorCode::kUnavailable) response.headers.emplace_back("Retry-After", "5");
  return response;
}

}  // namespace holdfast::api
