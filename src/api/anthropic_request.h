// Anthropic's Messages requests: JSON text -> the same ChatRequest that OpenAI's
// become, so that templates, tools, grammars, history and cache are shared.
//
// A decoded request keeps the promises CHATREQ-1 to CHATREQ-6 of openai_request.h; verified by
// fuzz/fuzz_messages_request.cc. Beyond Anthropic's fields those of llama-server
// and ours are read (`seed`, `cache_salt`, `cache_receipt`, ...). What we do not know
// is ignored: betas, `context_management`. `cache_control` decides nothing, because all is cached;
// it is only told apart in the usage (anthropic_caching.h). `thread` is refused: the rest of such a
// conversation would have to be held here. Pure functions: no I/O, no exceptions, any thread.
#pragma once

#include <string_view>

#include "api/openai_request.h"
#include "base/result.h"

namespace holdfast::api {

// `options.model` is what the client calls the model; answers repeat it.
// `input.enable_thinking` is nullopt when neither the request nor the server's values for
// the template say anything.
[[nodiscard]] Result<ChatRequest> decode_messages_request(std::string_view json,
                                                          const ChatDefaults& defaults);

}  // namespace holdfast::api
