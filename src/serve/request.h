// What the API hands to the scheduler, and what comes back.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cache/receipt.h"
#include "cache/token_history.h"
#include "engine/engine.h"
#include "engine/sampling.h"
#include "serve/prepared_prompt.h"
#include "state/drafts.h"
#include "state/tokens.h"
#include "tree/types.h"

namespace holdfast::serve {

enum class FinishReason {
  kStopToken,   // the model ended its turn
  kStopString,  // a stop string of the request or the template appeared
  kMaxTokens,
  kContextFull,
  kBlankTail,  // nothing but white space followed a complete tool call
};

// Times as llama-server reports them, in milliseconds.
struct Timings {
  TokenPos cached_tokens = 0;  // prompt tokens not computed again
  TokenPos prompt_tokens = 0;  // prompt tokens computed
  double prompt_ms = 0.0;
  TokenPos predicted_tokens = 0;
  double predicted_ms = 0.0;
  double queued_ms = 0.0;
  std::uint64_t drafted_tokens = 0;
  std::uint64_t accepted_tokens = 0;  // of the drafted ones
};

// The request left the queue; `slot` works on it.
struct Started {
  SlotId slot;
  TokenPos prompt_tokens = 0;
  TokenPos cached_tokens = 0;
};

// The first comes before anything is read.
struct PromptProgress {
  TokenPos total = 0;
  TokenPos cached = 0;
  TokenPos processed = 0;  // cached ones included
  double ms = 0.0;

  [[nodiscard]] Timings timings() const {
    return {.cached_tokens = cached, .prompt_tokens = processed - cached, .prompt_ms = ms};
  }
};

// One generated token as a client sees it.
struct TokenReport {
  engine::Sampled sampled;
  std::string text;  // its bytes, which may be a part of a character
};

// More text: whole characters that no stop string can take back.
struct TextDelta {
  std::string text;
  std::vector<TokenReport> tokens;  // filled when want_tokens is set
  Timings timings;                  // so far
};

struct Finished {
  FinishReason reason = FinishReason::kStopToken;
  std::string stop_string;
  SlotId slot;
  TokenPos prompt_tokens = 0;
  Timings timings;
  std::shared_ptr<const cache::Receipt> receipt;  // what was reused, and why not more
};

struct Failed {
  Error error;
};

using Event = std::variant<Started, PromptProgress, TextDelta, Finished, Failed>;

// Receives the events of one request: Started, then PromptProgress and
// TextDelta, and at last exactly one Finished or Failed.
// Called on the scheduler's thread; must not block.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(Event event) = 0;
  // Whether this text of the answer ends with a complete tool call. Asked where the answer goes on
  // with white space alone (Decoding::kBlankTokensMax).
  [[nodiscard]] virtual bool ends_in_call(const std::string& /*text*/) const { return false; }
};

struct GenerateRequest {
  std::string id;
  std::string client;          // who asks, for fairness: an API key or an address
  std::string response;        // id of the answer that this is a part of
  std::string tenant;          // who may see its receipt
  std::string session;         // that its client says it belongs to; empty: none. Groups receipts
  bool agent_session = false;  // of one agent at work; false: it may be a user's, with many
                               // conversations. Decides what is a one-off (plan/one_offs.h)
  SpaceKey space;              // which states it may use and adds to: model, settings, tenant
  Tokens prompt;
  std::optional<PreparedPrompt> prepared;  // of `prompt`; nothing: submit() does it
  std::string prompt_field = "prompt";     // where the prompt came from, for errors
  std::vector<MessageSpan> spans;
  std::vector<cache::PromptSection>
      sections;                        // of the prompt, under the names that its client knows
  cache::RequestNotes notes;           // what its receipt says of the request
  std::optional<TokenPos> header_end;  // of the answer's header, where history goes on otherwise
  TokenPos history_tokens = 0;         // of the prompt, kept as they were once sampled
  cache::AnswerIdCounts answer_ids;    // of answers that the prompt quotes
  std::optional<cache::AnswerContext> answer_context;  // chats: where its answer will be remembered
  std::unique_ptr<engine::Sampler> sampler;
  TokenPos max_tokens = -1;  // -1: as many as the context holds
  DraftLimits draft;
  std::vector<std::string> stops;
  bool ignore_eos = false;
  bool want_tokens = false;  // report each token (logprobs, ids)
  bool want_progress = false;
  bool special_text = false;   // show control tokens as text
  bool reuse = true;           // cache_prompt
  std::optional<SlotId> slot;  // id_slot
  // How long it may take in all, queue included; zero: no limit.
  std::chrono::milliseconds timeout{0};
  std::shared_ptr<EventSink> sink;
};

}  // namespace holdfast::serve
