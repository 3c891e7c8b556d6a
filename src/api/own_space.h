// own_space: whose states a request about the cache is about.
#pragma once

#include <optional>

#include "api/access.h"
#include "api/answer_context.h"
#include "api/http_server.h"
#include "state/space.h"

namespace holdfast::api {

// The asker's, with the salt of ?cache_salt=...; nothing: the asker sees all.
[[nodiscard]] inline std::optional<SpaceKey> own_space(const AnswerContext& context,
                                                       const HttpRequest& request) {
  if (context.sees_all) return std::nullopt;
  return context.backend->space_of(
      tenant_name(context.key_name, request.query_value("cache_salt")));
}

}  // namespace holdfast::api
