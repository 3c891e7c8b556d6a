// Exactness: which of a server's numbers follow from the request alone, bit for bit.
//
//            the state and the logits at a prompt's end      the tokens after it
//   off      decoded answers and chunks of other prompts     share their steps with other slots,
//            are reused: rounding                            and with drafts: rounding
//   prompt   those of a cold server with the same flags      as with off
//   all      those of a cold server                          those of a cold server
//
// What it costs, and how to check it: docs/exact.md.
#pragma once

namespace holdfast {

enum class Exactness { kOff, kPrompt, kAll };

// As in --exact.
[[nodiscard]] constexpr const char* exactness_name(Exactness exactness) {
  switch (exactness) {
    case Exactness::kOff: return "off";
    case Exactness::kPrompt: return "prompt";
    case Exactness::kAll: return "all";
  }
  return "?";
}

// Whether nothing is reused in a prompt but what was read, chunk by chunk of the grid.
[[nodiscard]] constexpr bool prompts_are_exact(Exactness exactness) {
  return exactness != Exactness::kOff;
}

}  // namespace holdfast
