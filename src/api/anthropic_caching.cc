#include "api/anthropic_caching.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace holdfast::api {
namespace {

bool is_marked(const Json& object) {
  if (!object.is_object()) return false;
  const auto mark = object.find("cache_control");
  return mark != object.end() && !mark->is_null();
}

const Json* content_of(const Json& object) {
  if (!object.is_object()) return nullptr;
  const auto content = object.find("content");
  return content != object.end() ? &*content : nullptr;
}

// `depth`: how far a block's own content is looked into.
bool any_marked(const Json* blocks, int depth) {
  if (blocks == nullptr || !blocks->is_array()) return false;
  return std::ranges::any_of(*blocks, [&](const Json& block) {
    return is_marked(block) || (depth > 0 && any_marked(content_of(block), depth - 1));
  });
}

}  // namespace

bool marks_caching(const JsonFields& body) {
  constexpr int kBlocks = 1;        // messages hold blocks,
  constexpr int kInsideBlocks = 2;  // and results of tools hold some in their turn
  return body.has("cache_control") || any_marked(body.find("tools"), 0) ||
         any_marked(body.find("system"), kBlocks) ||
         any_marked(body.find("messages"), kInsideBlocks);
}

}  // namespace holdfast::api
