#include "api/anthropic_errors.h"

#include "api/generation.h"
#include "api/json_fields.h"

namespace holdfast::api {
namespace {

struct ErrorShape {
  int status;
  const char* type;
};

ErrorShape shape_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return {400, "invalid_request_error"};
    case ErrorCode::kNotFound: return {404, "not_found_error"};
    case ErrorCode::kUnauthorized: return {401, "authentication_error"};
    case ErrorCode::kTooLarge: return {413, "request_too_large"};
    case ErrorCode::kContextExceeded: return {400, "invalid_request_error"};
    case ErrorCode::kUnavailable: return {529, "overloaded_error"};
    case ErrorCode::kTimeout: return {504, "timeout_error"};
    case ErrorCode::kUnsupported: return {400, "invalid_request_error"};
    case ErrorCode::kCancelled: return {499, "api_error"};
    case ErrorCode::kIo: return {500, "api_error"};
    case ErrorCode::kEngine: return {500, "api_error"};
  }
  return {500, "api_error"};
}

const char* type_of_status(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

std::string error_text(const Error& error, const std::optional<ContextOverflow>& overflow) {
  if (error.code != ErrorCode::kContextExceeded || !overflow) return error.message;
  return std::string("prompt is too long: ") + (overflow->at_least ? "at least " : "") +
         std::to_string(overflow->prompt_tokens) + " tokens > " +
         std::to_string(overflow->context_tokens) + " maximum";
}

// JSON text; empty: none.
std::string_view details_of(const Error& error) {
  if (error.param != kThreadField) return {};
  return R"({"error_code":"thread_unsupported_request","unsupported":["thread"]})";
}

struct Told {
  std::string_view type;
  std::string_view message;
  std::string_view details;
};

std::string envelope(const Told& told, std::string_view request_id) {
  std::string out;
  {
    ObjectWriter object(out);
    object.text("type", "error");
    {
      ObjectWriter inner(object.key("error"));
      inner.text("type", told.type);
      inner.text("message", told.message);
      if (!told.details.empty()) inner.raw("details", told.details);
    }
    if (!request_id.empty()) object.text("request_id", request_id);
  }
  return out;
}

HttpResponse response(int status, const Told& told) {
  const std::string request_id = new_id("req_");
  return {.status = status,
          .headers = {{"request-id", request_id}},
          .body = envelope(told, request_id)};
}

}  // namespace

std::string anthropic_error_json(const Error& error, const std::optional<ContextOverflow>& overflow,
                                 std::string_view request_id) {
  const std::string text = error_text(error, overflow);
  return envelope({shape_of(error.code).type, text, details_of(error)}, request_id);
}

HttpResponse anthropic_error_response(const Error& error,
                                      const std::optional<ContextOverflow>& overflow) {
  const ErrorShape shape = shape_of(error.code);
  const std::string text = error_text(error, overflow);
  HttpResponse refusal = response(shape.status, {shape.type, text, details_of(error)});
  if (error.code == ErrorCode::kUnavailable) refusal.headers.emplace_back("Retry-After", "5");
  return refusal;
}

HttpResponse anthropic_http_error(int status, std::string_view message) {
  return response(status, {type_of_status(status), message, {}});
}

}  // namespace holdfast::api
