// Ollama's requests for text: JSON text -> checked structs.
//
// What a decoded chat promises is what openai_request.h says (CHATREQ-1 to CHATREQ-6), verified by
// fuzz/fuzz_ollama_request.cc, and
//   OLLAMAREQ-1  there is one choice, and it is streamed unless "stream" is false
//
// "options" has the sampling under Ollama's names, which are llama.cpp's; what is not known there
// is ignored, as is "num_ctx": the context's size is the server's. "keep_alive" is accepted; the
// model stays where it is. Pure functions: no I/O, no exceptions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/infill.h"
#include "api/openai_request.h"
#include "base/result.h"

namespace holdfast::api {

[[nodiscard]] Result<ChatRequest> decode_ollama_chat(std::string_view json,
                                                     const ChatDefaults& defaults);

// A chat of one message; with "raw" the prompt as it is; with "suffix" what stands between.
using OllamaGenerate = std::variant<ChatRequest, TextRequest, InfillRequest>;
[[nodiscard]] Result<OllamaGenerate> decode_ollama_generate(std::string_view json,
                                                            const ChatDefaults& defaults);

// The body asks for no text, only that the model is there: no messages, no prompt. `field` is which
// of the two. Only for small bodies; others have one.
struct LoadRequest {
  std::string model;
  bool unload = false;  // "keep_alive": 0
};
[[nodiscard]] std::optional<LoadRequest> decode_load_request(std::string_view json,
                                                             std::string_view field);

}  // namespace holdfast::api
