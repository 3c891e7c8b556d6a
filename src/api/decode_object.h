// A body that must be a JSON object, read once.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "api/json_fields.h"
#include "base/result.h"

namespace holdfast::api {

// `read` turns the fields into a Request and notes mistakes in them; the first is the Error.
template <typename Request, typename Read>
Result<Request> decode_object(std::string_view json, Read read) {
  const Result<Json> body = parse_json(json);
  if (!body.ok()) return body.error();
  if (!body->is_object()) return invalid_argument("", "the request must be a JSON object");
  FirstError error;
  Request request = read(JsonFields(*body, "", error));
  if (!error.empty()) return error.get();
  return request;
}

}  // namespace holdfast::api
