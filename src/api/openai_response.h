// Whole answers -> JSON text in the shapes of OpenAI's API, with llama-server's
// additions (timings, reasoning_content). Streams: openai_chunks.h.
//
// Text that is not UTF-8 is repaired with U+FFFD; nothing throws. Pure
// functions: time, ids and names come in as arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer_under_way.h"
#include "api/openai_logprobs.h"
#include "engine/text.h"
#include "serve/request.h"

namespace holdfast::api {

// What every object of one response repeats.
struct ReplyHead {
  std::string id;            // "chatcmpl-..." or "cmpl-..."
  std::int64_t created = 0;  // Unix time in seconds
  std::string model;
  std::string system_fingerprint;  // our build
};

// "stop", "length" or "tool_calls".
[[nodiscard]] std::string_view finish_reason_name(serve::FinishReason reason, bool has_tool_calls);

struct ChatChoice {
  int index = 0;
  engine::Reply reply;
  serve::FinishReason reason = serve::FinishReason::kStopToken;
  std::optional<std::vector<TokenLogprobs>> logprobs;
};

struct TextChoice {
  int index = 0;
  std::string text;
  std::size_t echoed = 0;  // characters of the prompt that `text` begins with
  serve::FinishReason reason = serve::FinishReason::kStopToken;
  std::optional<std::vector<TokenLogprobs>> logprobs;
};

// `cache_receipt`, here and below, is JSON text; empty where it is not wanted.
[[nodiscard]] std::string chat_completion(const ReplyHead& head,
                                          const std::vector<ChatChoice>& choices,
                                          const Usage& usage, const serve::Timings& timings,
                                          std::string_view cache_receipt = {});
[[nodiscard]] std::string text_completion(const ReplyHead& head,
                                          const std::vector<TextChoice>& choices,
                                          const Usage& usage, const serve::Timings& timings,
                                          std::string_view cache_receipt = {});

}  // namespace holdfast::api
