// Ask: what one request of a simulated client says. What its answer must be follows from it alone.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "serve/request.h"
#include "state/slot_id.h"
#include "state/space.h"
#include "state/tokens.h"

namespace holdfast::simulation {

struct Ask {
  Tokens prompt;
  std::vector<MessageSpan> spans;
  TokenPos max_tokens = 20;
  std::vector<std::string> stops;
  bool ignore_eos = false;
  bool reuse = true;
  DraftLimits draft;
  SpaceKey space;
  std::string tenant;
  std::string session;
  std::optional<SlotId> slot;
  std::chrono::milliseconds timeout{0};
};

struct Expected {
  std::string text;
  serve::FinishReason reason = serve::FinishReason::kStopToken;
  // What the logits at the prompt's end say; none: that the answer is empty.
  std::optional<Token> first = std::nullopt;
};

}  // namespace holdfast::simulation
