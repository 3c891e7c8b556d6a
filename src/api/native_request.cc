#include "api/native_request.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

constexpr std::size_t kResponseFieldsMax = 64;
constexpr std::size_t kResponseFieldBytesMax = 256;

// llama-server names each token of a stream, asked for or not.
void read_token_fields(const JsonFields& body, CompletionOptions& options) {
  options.return_tokens = body.boolean("return_tokens").value_or(false) || options.stream;
  const bool wanted = body.boolean("post_sampling_probs").value_or(false);
  options.sampling.post_sampling_probs = wanted && options.logprobs();
}

}  // namespace

Result<NativeRequest> decode_native_request(std::string_view json, const ChatDefaults& defaults) {
  auto text = decode_text_request(json, defaults);
  if (!text) return text.error();
  const Result<Json> body = parse_json(json);
  if (!body) return body.error();
  FirstError error;
  const JsonFields fields(*body, "", error);
  NativeRequest request{std::move(*text), {}};
  read_token_fields(fields, request.text.options);
  request.text.echo = true;  // the answer shows its prompt
  request.response_fields =
      fields.texts("response_fields", kResponseFieldsMax, kResponseFieldBytesMax)
          .value_or(std::vector<std::string>{});
  if (!error.empty()) return error.get();
  return request;
}

}  // namespace holdfast::api
