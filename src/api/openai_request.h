// OpenAI's chat and completion requests: JSON text -> checked structs.
//
// What a decoded request promises, verified by fuzz/fuzz_openai_request.cc:
//   CHATREQ-1  every number lies in the range that its reader states, and is finite
//   CHATREQ-2  1 <= n <= n_max, and no stop string is empty
//   CHATREQ-3  token ids (prompts, logit_bias) are in [0, vocabulary)
//   CHATREQ-4  messages_json is a non-empty array in the one shape described at
//              ChatRequest; decoding it again gives the same text
//   CHATREQ-5  tools_json is empty or a non-empty array of functions
//   CHATREQ-6  each message has at least one source, and the sources are in their order
//
// Fields that we do not know are ignored, null counts as absent, and the fields
// of llama-server are read beside OpenAI's. An Error has the JSON path of the
// field in `param`. Pure functions: no I/O, no exceptions, any thread.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/answer_refs.h"
#include "api/message_sources.h"
#include "api/skipped_kinds.h"
#include "base/result.h"
#include "engine/sampling.h"
#include "engine/text.h"
#include "state/drafts.h"
#include "state/tokens.h"

namespace holdfast::api {

// What the server decides where a request is silent, and the limits it sets.
struct ChatDefaults {
  engine::SamplingParams sampling;
  std::string reasoning_format = "auto";
  std::map<std::string, std::string> template_kwargs;  // name -> JSON text
  TokenPos max_tokens = -1;
  DraftLimits draft;                     // a request may only ask for shorter ones
  std::string companion;                 // its name; empty: there is none
  std::chrono::milliseconds timeout{0};  // a request may only ask for less; zero: none
  int n_max = 8;
  std::size_t prompts_max = 64;  // prompts in one completion request
  Token vocabulary = 0;          // tokens that exist; zero: not known, not checked
  // Whether the line that Claude Code puts before its system prompt
  // ("x-anthropic-billing-header: ...") is shown to the model. It differs from session to
  // session, so that none could share another's prompt.
  bool keep_attribution = false;
  bool verbose = false;  // CompletionOptions::verbose
  // Whether a final assistant message is continued where a request does not say.
  bool prefill_assistant = true;
};

// The part that chat and plain completions share.
struct CompletionOptions {
  std::string model;  // as the client wrote it; may be empty
  engine::SamplingParams sampling;
  int n = 1;
  TokenPos max_tokens = -1;  // -1: no limit; 0: only read the prompt
  DraftLimits draft;
  std::vector<std::string> stops;
  bool stream = false;
  bool include_usage = false;  // stream_options.include_usage
  bool return_progress = false;
  bool timings_per_token = false;
  bool reuse = true;           // cache_prompt
  bool cache_receipt = false;  // the answer says what was reused, and why not more
  bool return_tokens = false;  // the answer says the ids of its tokens
  bool verbose = false;        // and shows itself in llama-server's own shape, with the prompt
  std::string cache_salt;      // 1 to 256 bytes, or absent: who shares states (as in vLLM)
  std::string session;         // that the body names (session_id.h); headers go before it
  bool marks_caching = false;  // Messages: it has a cache_control somewhere
  std::optional<int> id_slot;  // >= 0; whether it exists is the caller's to check
  std::chrono::milliseconds timeout{0};

  [[nodiscard]] bool logprobs() const { return sampling.top_logprobs.has_value(); }
  [[nodiscard]] bool reports_tokens() const { return logprobs() || return_tokens; }
  [[nodiscard]] bool ignore_eos() const { return sampling.ignore_eos; }
};

// `input.messages_json` is normalised. Each message has
//   role               system | user | assistant | tool ("developer" is system,
//                      the legacy "function" is tool)
//   content            a string, or two or more {"type":"text","text":...};
//                      never null, never a single part
//   name               as given
//   reasoning_content  assistant only; also taken from "reasoning" and from
//                      parts of type "thinking"
//   tool_calls         assistant only; `arguments` is the text of a JSON object
//   tool_call_id       tool only
// Grammar and JSON schema are in `input`, never in `options.sampling`.
struct ChatRequest {
  CompletionOptions options;
  engine::ChatInput input;
  AnswerRefs answer_refs;  // in the order of their messages
  MessageSources sources;
  SkippedKinds skipped;              // tools and items that are not shown to the model
  bool attribution_removed = false;  // ChatDefaults::keep_attribution
  // Whether clients of this protocol send an answer's thoughts back.
  bool protocol_returns_thoughts = false;
};

// Texts and ids in their order; at least one of each.
using MixedPrompt = std::vector<std::variant<std::string, Tokens>>;
using TextPrompt = std::variant<std::string, Tokens, MixedPrompt>;

// Grammar and JSON schema are in `options.sampling`.
struct TextRequest {
  CompletionOptions options;
  std::vector<TextPrompt> prompts;  // at least one; a Tokens prompt is not empty
  bool echo = false;
};

[[nodiscard]] Result<ChatRequest> decode_chat_request(std::string_view json,
                                                      const ChatDefaults& defaults);
[[nodiscard]] Result<TextRequest> decode_text_request(std::string_view json,
                                                      const ChatDefaults& defaults);
// All but the prompts, of a body that has been parsed; mistakes are noted in `body`.
class JsonFields;
[[nodiscard]] TextRequest read_text_settings(const JsonFields& body, const ChatDefaults& defaults);

}  // namespace holdfast::api
