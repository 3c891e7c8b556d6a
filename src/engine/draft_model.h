// DraftModel: a small model, on an engine of its own, that drafts for the primary.
//
//   told     |------------- what the primary's slot holds -------------|
//   engine   |------------------ held ------------------|~~~ more ~~~|
//                                                         computed for a draft, or of
//                                                         a past that was left
//
// It reads what the primary read, whole chunks at a time and late: what is missing is
// computed when a draft is asked for, up to a limit for each call. A draft leaves its
// tokens in the engine, because those that are accepted need not be computed again. The
// rest is taken back when the slot is used next: by a cut where the engine can, and
// else with the way back, a snapshot taken before the first token that was a guess.
//
// Nothing of this can fail for the primary: when the engine returns an Error or throws,
// the slot is emptied, the failure is counted, and the slot rests until it is asked to
// follow again.
//
// Invariants, verified by check():
//   M1  held tokens are at most those told, and the engine holds at least these
//   M2  `ahead` are the engine's tokens after all that were told; where there are any,
//       the engine holds nothing else beyond `held`
//   M3  the way back lies within what the engine holds and is known to hold
//   M4  the engine's own invariants hold
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/companion.h"
#include "engine/engine.h"

namespace holdfast::engine {

struct DraftModelOptions {
  // Tokens that a slot may read before it drafts. One that is further behind reads as
  // many and does not draft this time.
  TokenPos catch_up_tokens = 512;
};

class DraftModel final : public Companion {
 public:
  // The engine has the primary's slots and vocabulary, and outlives this.
  explicit DraftModel(Engine& engine, DraftModelOptions options = {});

  [[nodiscard]] std::string_view name() const noexcept override { return "draft"; }
  [[nodiscard]] CompanionShape shape() const noexcept override { return shape_; }
  [[nodiscard]] Followed follow(SlotId slot, const CompanionPoint& point) noexcept override;
  void advance(SlotId slot, TokenSpan kept, TokenPos first_row) noexcept override;
  void draft(std::span<DraftWish> wishes) noexcept override;
  [[nodiscard]] CompanionSaved save(SlotId slot, std::span<const TokenRange> blocks,
                                    TokenPos length) noexcept override;

  // Errors and exceptions of the engine since the start.
  [[nodiscard]] std::uint64_t failures() const { return failures_; }
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  struct Shadow {
    Tokens told;
    TokenPos held = 0;
    Tokens ahead;
    std::optional<SavedState> way_back;
    bool resting = false;

    [[nodiscard]] TokenPos behind() const { return length_of(told) - held; }
    void tell(TokenSpan more);
    void keep_at_most(TokenPos length);
  };
  // A wish that is being granted.
  struct Drafting {
    DraftWish* wish = nullptr;
    Tokens pass;  // tokens of the coming pass: what was missing and `next`, then one guess
    bool done = false;
  };
  // What of a point in memory can be restored.
  struct Restorable {
    TokenPos length = 0;
    std::size_t rows = 0;  // how many of the views
  };

  [[nodiscard]] Shadow& shadow(SlotId slot);
  void forget(SlotId slot) noexcept;
  void fail(SlotId slot) noexcept;
  [[nodiscard]] TokenPos held_after_settling(SlotId slot);
  void settle(SlotId slot);
  bool read_to(SlotId slot, TokenPos end);
  [[nodiscard]] Restorable restorable(const CompanionPoint& point) const;
  bool restore(SlotId slot, const CompanionPoint& point, const Restorable& from);
  [[nodiscard]] const char* why_missing(SlotId slot, const CompanionPoint& point) const;

  [[nodiscard]] std::vector<Drafting> begin_drafts(std::span<DraftWish> wishes);
  [[nodiscard]] bool catch_up(DraftWish& wish);
  void first_passes(std::span<Drafting> drafts);
  void prefill_pass(Drafting& draft);
  void decode_pass(std::span<Drafting* const> drafts);
  void take_guess(Drafting& draft, TokenPos row);
  [[nodiscard]] bool has_way_back(SlotId slot);
  [[nodiscard]] std::vector<CheckedBytes> saved_rows(SlotId slot,
                                                     std::span<const TokenRange> blocks);
  [[nodiscard]] CheckedBytes saved_place(SlotId slot, TokenPos length);

  Engine& engine_;
  const DraftModelOptions options_;
  const CompanionShape shape_;
  std::vector<Shadow> shadows_;
  std::uint64_t failures_ = 0;
};

}  // namespace holdfast::engine
