#include "engine/draft_shadow.h"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

void ShadowTokens::tell(TokenSpan more) {
  told.insert(told.end(), more.begin(), more.end());
  const TokenPos right = common_prefix(ahead, more);
  held += right;
  if (right == length_of(more)) {
    ahead.erase(ahead.begin(), ahead.begin() + right);
  } else {
    keep_at_most(held);
  }
}

void ShadowTokens::keep_at_most(TokenPos length) {
  held = std::min(held, length);
  ahead.clear();
  if (way_back && way_back->length > held) way_back.reset();
}

void DraftShadow::tell_all(TokenSpan tokens) {
  const TokenPos common = common_prefix(now_.told, tokens);
  if (common < length_of(now_.told)) {
    now_.keep_at_most(common);
    now_.told.resize(static_cast<std::size_t>(common));
  }
  now_.tell(tokens.subspan(static_cast<std::size_t>(common)));
}

void DraftShadow::forget() noexcept {
  now_.held = 0;
  now_.ahead.clear();
  now_.way_back.reset();
  try {
    engine_->clear(slot_);
  } catch (...) {
    ++*failures_;
  }
}

void DraftShadow::fail() noexcept {
  ++*failures_;
  forget();
  resting_ = true;
}

// --- going back and forth ----------------------------------------------------------

TokenPos DraftShadow::held_after_settling() const {
  if (engine_->can_truncate(slot_, now_.held)) return now_.held;
  return now_.way_back && now_.way_back->length <= now_.held ? now_.way_back->length : 0;
}

void DraftShadow::settle() {
  now_.keep_at_most(now_.held);
  if (engine_->length(slot_) == now_.held) return;
  if (engine_->truncate(slot_, now_.held) == TruncateAnswer::kDone) return;
  if (!now_.way_back) return forget();
  now_.held = now_.way_back->length;
  if (!engine_->load(slot_, *now_.way_back)) fail();
}

bool DraftShadow::read_to(TokenPos end) {
  if (end > engine_->context_tokens()) return false;
  while (now_.held < end) {
    const TokenPos count = std::min(end - now_.held, engine_->chunk_tokens_max());
    const TokenSpan chunk = TokenSpan(now_.told).subspan(static_cast<std::size_t>(now_.held),
                                                         static_cast<std::size_t>(count));
    if (!engine_->prefill(slot_, chunk, LogitsOf::kNone)) {
      fail();
      return false;
    }
    now_.held += count;
  }
  return true;
}

bool DraftShadow::restore(const RestorePoint& point) {
  forget();
  if (!engine_->restore(slot_, point)) {
    ++*failures_;
    forget();
    return false;
  }
  now_.held = length_of(point.tokens);
  return true;
}

void DraftShadow::note_computed_ahead(Token token) {
  now_.ahead.push_back(token);
  now_.held = length_of(now_.told);
}

// Asked before the first guess is computed. That the primary keeps the token that it has sampled is
// as good as certain, so the way back leads to the position after that token.
bool DraftShadow::has_way_back() {
  const StateShape& parts = engine_->shape();
  const bool truncates = parts.truncates_anywhere() ||
                         (parts.find(PartKind::kSnapshot) == nullptr && engine_->can_take_back(1));
  if (truncates || now_.ahead.size() > 1) return true;
  auto saved = engine_->save(slot_, SaveScope::kSnapshot);
  if (!saved) {
    ++*failures_;
    return false;
  }
  now_.way_back = std::move(*saved);
  return true;
}

void DraftShadow::check(std::vector<std::string>& violations) const {
  const TokenPos length = engine_->length(slot_);
  const TokenPos ahead = length_of(now_.ahead);
  const std::string name = "slot " + std::to_string(slot_.value);
  if (now_.held < 0 || now_.behind() < 0 || now_.held > length) {
    violations.push_back("SHADOW-1: " + name + " holds another number of tokens");
  }
  if (ahead > 0 && (now_.behind() != 0 || length != now_.held + ahead)) {
    violations.push_back("SHADOW-2: " + name + " is not ahead");
  }
  if (now_.way_back && now_.way_back->length > now_.held + ahead) {
    violations.push_back("SHADOW-3: " + name + " has a way back to nowhere");
  }
}

}  // namespace holdfast::engine
