// llama-server: live slots with checkpoints, and a list of whole prompts behind them.
//
//   slot    [ tokens .................. )   checkpoints at *
//                  *8192    *16384   * *    the last two near the end of the prompt
//   list    [ ... )  [ ..... )  [ ... )     oldest first; nothing is shared
//
//   - A prompt takes the slot that it has most in common with, if that is more than a
//     tenth of the prompt; else the slot that was used longest ago.
//   - If less than half of what the slot holds is kept, that is put into the list first
//     (unless an entry there contains it; entries that it contains go), and the list is
//     searched: the entry of which at least a quarter would be kept, and of which more of
//     the prompt and of itself agrees than of the slot's, is moved into the slot.
//   - A recurrent state cannot be truncated: where the prompt does not go on from the slot's
//     very end, the deepest checkpoint before the difference is loaded, and those behind go.
//   - The oldest entries go when slots and list weigh more than the budget.
#pragma once

#include "policy/policy.h"

namespace holdfast::policy {

struct LlamaOptions {
  int slots = 1;
  std::size_t checkpoints_max = 32;
  TokenPos checkpoint_every = 8192;
  TokenPos ubatch = 512;
};

[[nodiscard]] PolicyPtr make_llama(const PolicySetup& setup, const LlamaOptions& options = {});

}  // namespace holdfast::policy
