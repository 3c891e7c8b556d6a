// What a reply must match: a grammar, or a JSON schema.
#pragma once

#include <string>

#include "api/json_fields.h"

namespace holdfast::api {

// At most one of the two is set.
struct Constraint {
  std::string grammar;
  std::string json_schema;
};

// From `grammar`, `json_schema` and `response_format`.
[[nodiscard]] Constraint read_constraint(const JsonFields& body);

}  // namespace holdfast::api
