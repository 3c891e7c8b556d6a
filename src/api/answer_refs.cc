#include "api/answer_refs.h"

#include "cache/answer_ids.h"

namespace holdfast::api {

namespace {

constexpr std::string_view kCall = "call_";

}  // namespace

std::string call_id_of(std::string_view answer_id, std::size_t index) {
  std::string id(kCall);
  ((id += answer_id) += '_') += std::to_string(index);
  return id;
}

std::string_view answer_id_in(std::string_view call_id) {
  if (!call_id.starts_with(kCall)) return {};
  const std::string_view id = call_id.substr(kCall.size());
  if (!id.starts_with(cache::AnswerIds::kPrefix)) return {};
  return id.substr(0, cache::AnswerIds::kLength);
}

}  // namespace holdfast::api
