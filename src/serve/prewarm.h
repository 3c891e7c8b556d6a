// What the API hands to the Prewarmer (serve/prewarmer.h), and what came of it all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "serve/prepared_prompt.h"
#include "state/space.h"
#include "state/tokens.h"

namespace holdfast::serve {

// An answer that has ended, and whose conversation will probably go on.
struct PrewarmOffer {
  std::string request;  // GenerateRequest::id
  // Asks for the prompt, which comes by Scheduler::prewarm(), or not at all. Called once, when the
  // engine is idle; must not block.
  std::function<void()> prepare;
};

// What the next prompt of that conversation will begin with.
struct PrewarmPrompt {
  std::string request;  // whose answer it ends with
  SpaceKey space;
  Tokens prompt;
  PreparedPrompt prepared;         // of it
  std::vector<MessageSpan> spans;  // of it
};

struct PrewarmCounts {
  std::uint64_t read = 0;         // answers that were read to their end
  std::uint64_t interrupted = 0;  // times that a request came in between
  std::uint64_t needless = 0;     // nothing, or too little, would have had to be read
  std::uint64_t tokens = 0;       // read
  double seconds = 0.0;           // by the engine, for these
  std::uint64_t used_tokens = 0;  // that later requests began with
};

}  // namespace holdfast::serve
