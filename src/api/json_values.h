// Values of JSON fields that several pages write alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/json_fields.h"

namespace holdfast::api {

inline void append_boolean(ObjectWriter& object, std::string_view name, bool value) {
  object.raw(name, value ? "true" : "false");
}

inline void append_text_or_null(ObjectWriter& object, std::string_view name,
                                std::string_view value) {
  if (value.empty()) {
    object.raw(name, "null");
  } else {
    object.text(name, value);
  }
}

inline void append_count(ObjectWriter& object, std::string_view name, std::uint64_t value) {
  object.integer(name, static_cast<std::int64_t>(value));
}

// a / b, or null where there is no b.
template <typename Number>
void append_share(ObjectWriter& object, std::string_view name, Number a, Number b) {
  if (b <= 0) {
    object.raw(name, "null");
  } else {
    object.real(name, static_cast<double>(a) / static_cast<double>(b));
  }
}

}  // namespace holdfast::api
