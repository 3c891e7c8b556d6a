#include "api/native_request.h"

#include "api/decode_object.h"
#include "api/openai_prompts.h"

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

NativeRequest read_native_settings(const JsonFields& body, const ChatDefaults& defaults) {
  NativeRequest request{read_text_settings(body, defaults), {}};
  read_token_fields(body, request.text.options);
  request.text.echo = true;  // the answer shows its prompt
  request.response_fields =
      body.texts("response_fields", kResponseFieldsMax, kResponseFieldBytesMax)
          .value_or(std::vector<std::string>{});
  return request;
}

Result<NativeRequest> decode_native_request(std::string_view json, const ChatDefaults& defaults) {
  return decode_object<NativeRequest>(json, [&](const JsonFields& body) {
    NativeRequest request = read_native_settings(body, defaults);
    request.text.prompts = read_prompts(body, "prompt", defaults.prompts_max, defaults);
    return request;
  });
}

}  // namespace holdfast::api
