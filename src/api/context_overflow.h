// ContextOverflow: by how much a prompt is too long.
#pragma once

#include "state/tokens.h"

namespace holdfast::api {

// Numbers that a client needs in order to shorten its prompt.
struct ContextOverflow {
  TokenPos prompt_tokens = 0;
  TokenPos context_tokens = 0;
  bool at_least = false;  // the prompt has this many tokens or more; it was not read to the end
};

}  // namespace holdfast::api
