// The chunks of OpenAI's streams, each the payload of one server-sent event.
//
// A chat:
//   chat_role_chunk      once per choice, before its other chunks
//   chat_delta_chunk     one per ReplyDelta
//   chat_finish_chunk    once per choice, with the reason
//   usage_chunk          last, if the client asked for usage
// Text chunks are the same without the first. progress_chunk may come at any
// place before the first delta; timings belong to the very last chunk, and so does
// "cache_receipt", beside the choices, where OpenAI's clients keep what they do not
// know.
//
// Text that is not UTF-8 is repaired with U+FFFD; nothing throws. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/openai_logprobs.h"
#include "api/openai_response.h"
#include "engine/text.h"
#include "serve/request.h"

namespace holdfast::api {

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
                                              const serve::PromptProgress& progress,
                                              bool with_timings = false);
[[nodiscard]] std::string text_progress_chunk(const ChunkHead& head, int index,
                                              const serve::PromptProgress& progress,
                                              bool with_timings = false);

}  // namespace holdfast::api
