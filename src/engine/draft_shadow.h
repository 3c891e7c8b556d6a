// DraftShadow: what a draft model's engine holds of one slot of the primary.
//
//   told     |------------- what the primary's slot holds -------------|
//   engine   |------------------ held ------------------|~~~ more ~~~|
//                                                         computed for a draft, or of
//                                                         a past that was left
//
// The engine may hold more than the primary's tokens. What is computed ahead for a draft stays
// there, because tokens that are accepted need not be computed again. The rest is removed by
// settle(), when the slot is used next: by truncation where the engine can do that, otherwise with
// the way back, a snapshot that was taken before the first guessed token.
//
// When the engine returns an Error, the slot is emptied, the failure is counted, and the slot rests
// until it is woken.
//
// Invariants, verified by check():
//   SHADOW-1  held tokens are at most those told, and the engine holds at least the held ones
//   SHADOW-2  `ahead` are the engine's tokens after all that were told; where there are any, the
//             engine holds nothing else beyond `held`
//   SHADOW-3  the way back lies within the tokens that are held or ahead
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace holdfast::engine {

// What is known of the tokens, and nothing of the engine.
struct ShadowTokens {
  Tokens told;                         // those of the primary's slot
  TokenPos held = 0;                   // how many of them the engine holds
  Tokens ahead;                        // computed for a draft after all that were told
  std::optional<SavedState> way_back;  // a snapshot to return to

  [[nodiscard]] TokenPos behind() const { return length_of(told) - held; }
  // The primary has more tokens. Those that were computed ahead and are among them are held now.
  void tell(TokenSpan more);
  // Only the first `length` tokens can be trusted to be held.
  void keep_at_most(TokenPos length);
};

class DraftShadow {
 public:
  // Failures of the engine are added to `failures`. REQUIRES: both outlive it.
  DraftShadow(Engine& engine, SlotId slot, std::uint64_t& failures)
      : engine_(&engine), slot_(slot), failures_(&failures) {}

  [[nodiscard]] const ShadowTokens& tokens() const { return now_; }
  [[nodiscard]] bool resting() const { return resting_; }
  void wake() { resting_ = false; }

  // The primary's slot has these tokens more, or exactly these.
  void tell(TokenSpan more) { now_.tell(more); }
  void tell_all(TokenSpan tokens);

  // How many of the held tokens settle() would leave.
  [[nodiscard]] TokenPos held_after_settling() const;
  // Leaves the engine with nothing but held tokens.
  void settle();
  // Reads tokens that were told, up to `end`. False: the slot was emptied, or its context is too
  // small. REQUIRES: a settled slot.
  bool read_to(TokenPos end);
  // Replaces what the engine holds. False: it was refused, and nothing is held. A failure that does
  // not make the slot rest.
  bool restore(const RestorePoint& point);

  // The engine computed what was told and not held, and `token` after it.
  void note_computed_ahead(Token token);
  // Makes sure that tokens which are computed from now on can be removed. False: they cannot.
  bool has_way_back();

  // The engine failed: the slot is emptied, and rests.
  void fail() noexcept;

  // Appends violations of SHADOW-1..3.
  void check(std::vector<std::string>& violations) const;

 private:
  void forget() noexcept;

  Engine* engine_;
  SlotId slot_;
  std::uint64_t* failures_;
  ShadowTokens now_;
  bool resting_ = false;
};

}  // namespace holdfast::engine
