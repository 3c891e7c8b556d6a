#include "serve/draft_room.h"

#include <algorithm>

namespace holdfast::serve {

TokenPos DraftRoom::taken_back_freely(TokenPos most) const {
  while (most > 0 && !engine_.can_take_back(most)) --most;
  return most;
}

TokenPos DraftRoom::room(const Slot& slot) const {
  const TokenPos most =
      std::min(engine_.decode_tokens_max(), engine_.context_tokens() - engine_.length(slot.id));
  return std::max(most - length_of(slot.job->answer.uncomputed), 0);
}

TokenPos DraftRoom::limit(const Slot& slot) const {
  const Job& job = *slot.job;
  TokenPos most = room(slot);
  if (fixed_ > 0) return std::clamp(1 + fixed_ - length_of(job.answer.uncomputed), 0, most);
  most = std::min(most, job.input.draft.max);
  if (job.input.max_tokens > 0) {
    most = std::min(most, job.input.max_tokens - job.timings.predicted_tokens - 1);
  }
  return std::max(most, 0);
}

void DraftRoom::make_sound(Job& job, TokenPos most) const {
  Tokens& draft = job.draft.tokens;
  if (length_of(draft) > most) draft.resize(static_cast<std::size_t>(most));
  const auto known = [&](Token token) { return token >= 0 && token < vocabulary_; };
  draft.erase(std::ranges::find_if_not(draft, known), draft.end());
  if (length_of(draft) < job.input.draft.min) draft.clear();
  job.draft.proposed = length_of(draft);
  if (fixed_ > 0) {
    draft.resize(static_cast<std::size_t>(most), job.answer.uncomputed.back());
  }
}

}  // namespace holdfast::serve
