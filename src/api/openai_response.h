// Results -> JSON text in the shapes of OpenAI's API, with llama-server's
// additions (timings, prompt_progress, reasoning_content).
//
// A stream of chat chunks, each the payload of one server-sent event:
//   chat_role_chunk      once per choice, before its other chunks
//   chat_delta_chunk     one per ReplyDelta
//   chat_finish_chunk    once per choice, with the reason
//   usage_chunk          last, if the client asked for usage
// Text chunks are the same without the first. progress_chunk may come at any
// place before the first delta; timings belong to the very last chunk, and so does
// "cache_receipt", beside the choices, where OpenAI's clients keep what they do not
// know.
//
// Text that is not UTF-8 is repaired with U+FFFD; nothing throws. Pure
// functions: time, ids and names come in as arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
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

struct Usage {
  TokenPos prompt_tokens = 0;
  TokenPos completion_tokens = 0;
  TokenPos cached_tokens = 0;
};
[[nodiscard]] Usage usage_of(const serve::Finished& finished);

struct TokenChoice {
  Token token = 0;
  std::string text;  // the token's bytes
  float logprob = 0.0F;
};

struct TokenLogprobs {
  TokenChoice chosen;
  std::vector<TokenChoice> top;
};

// `piece` gives a token's bytes; see TextModel::piece.
[[nodiscard]] TokenLogprobs logprobs_of(const serve::TokenReport& report,
                                        const std::function<std::string(Token)>& piece);

// "stop", "length" or "tool_calls".
[[nodiscard]] std::string_view finish_reason_name(serve::FinishReason reason, bool has_tool_calls);

// --- Whole answers ------------------------------------------------------------

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

// --- Chunks of a stream -------------------------------------------------------

// The part that all chunks of one stream begin with, written once.
class ChunkHead {
 public:
  [[nodiscard]] static ChunkHead chat(const ReplyHead& head);
  [[nodiscard]] static ChunkHead text(const ReplyHead& head);
  [[nodiscard]] const std::string& json() const { return json_; }

 private:
  explicit ChunkHead(std::string json) : json_(std::move(json)) {}
  std::string json_;  // an object without its closing brace
};

// What a chunk may carry beside its text.
struct ChunkExtras {
  const std::vector<TokenLogprobs>* logprobs = nullptr;  // of the tokens in this chunk
  std::size_t text_offset = 0;  // text chunks: characters sent before; see text_characters
  const serve::Timings* timings = nullptr;  // timings_per_token, or the last chunk
};

[[nodiscard]] std::string chat_role_chunk(const ChunkHead& head, int index);
[[nodiscard]] std::string chat_delta_chunk(const ChunkHead& head, int index,
                                           const engine::ReplyDelta& delta,
                                           const ChunkExtras& extras = {});
[[nodiscard]] std::string chat_finish_chunk(const ChunkHead& head, int index,
                                            std::string_view finish_reason,
                                            const serve::Timings* timings,
                                            std::string_view cache_receipt = {});
[[nodiscard]] std::string text_delta_chunk(const ChunkHead& head, int index, std::string_view text,
                                           const ChunkExtras& extras = {});
[[nodiscard]] std::string text_finish_chunk(const ChunkHead& head, int index,
                                            std::string_view finish_reason,
                                            const serve::Timings* timings,
                                            std::string_view cache_receipt = {});
// Chat or text: `choices` is empty.
[[nodiscard]] std::string usage_chunk(const ChunkHead& head, const Usage& usage,
                                      const serve::Timings* timings,
                                      std::string_view cache_receipt = {});
[[nodiscard]] std::string chat_progress_chunk(const ChunkHead& head, int index,
                                              const serve::PromptProgress& progress);
[[nodiscard]] std::string text_progress_chunk(const ChunkHead& head, int index,
                                              const serve::PromptProgress& progress);

// Characters, as text_offset counts them.
[[nodiscard]] std::size_t text_characters(std::string_view text);

// --- Errors -------------------------------------------------------------------

// Numbers that a client needs in order to shorten its prompt.
struct ContextOverflow {
  TokenPos prompt_tokens = 0;
  TokenPos context_tokens = 0;
};

[[nodiscard]] int http_status(ErrorCode code);
// {"error":{"message","type","param","code"}}. `code` is OpenAI's word for the
// error or null, never a number: typed clients expect a string. `overflow`
// belongs to kContextExceeded.
[[nodiscard]] std::string error_json(const Error& error,
                                     const std::optional<ContextOverflow>& overflow = std::nullopt);
// For failures of HTTP itself, which have a status and no ErrorCode.
[[nodiscard]] std::string http_error_json(int status, std::string_view message);

}  // namespace holdfast::api
