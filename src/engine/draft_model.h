// DraftModel: a small model, on an engine of its own, that drafts for the primary.
//
//   DraftModel    answers the scheduler, and computes drafts for several slots at once
//   DraftShadow   what the engine holds of one slot, and how it gets to what it should hold
//
// It reads what the primary read, late and in whole chunks: missing tokens are computed when a
// draft is asked for, up to a limit for each call.
//
// None of this can fail for the primary: when the engine returns an Error or throws, the slot is
// emptied, the failure is counted, and the slot rests until it is asked to follow again.
//
// Invariants, verified by check(): those of every shadow (draft_shadow.h) and of the engine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/companion.h"
#include "engine/draft_shadow.h"
#include "engine/engine.h"

namespace holdfast::engine {

struct DraftModelOptions {
  // Tokens that a slot may read before it drafts. A slot that is further behind reads that many and
  // does not draft this time.
  TokenPos catch_up_tokens = 512;
};

class DraftModel final : public Companion {
 public:
  // The engine has the primary's slots and vocabulary, and outlives this.
  explicit DraftModel(Engine& engine, DraftModelOptions options = {});
  DraftModel(const DraftModel&) = delete;  // its shadows count into it
  DraftModel& operator=(const DraftModel&) = delete;

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
  // A wish that is being answered.
  struct Drafting {
    DraftWish* wish = nullptr;
    Tokens pass;  // tokens of the coming pass: what was missing and `next`, then one guess
    bool done = false;
  };

  [[nodiscard]] DraftShadow& shadow(SlotId slot);
  [[nodiscard]] std::vector<Drafting> begin_drafts(std::span<DraftWish> wishes);
  [[nodiscard]] bool catch_up(DraftWish& wish);
  void first_passes(std::span<Drafting> drafts);
  void prefill_pass(Drafting& draft);
  void decode_pass(std::span<Drafting* const> drafts);
  void take_guess(Drafting& draft, TokenPos row);
  [[nodiscard]] std::vector<CheckedBytes> saved_rows(SlotId slot,
                                                     std::span<const TokenRange> blocks);
  [[nodiscard]] CheckedBytes saved_place(SlotId slot, TokenPos length);

  Engine& engine_;
  const DraftModelOptions options_;
  const CompanionShape shape_;
  std::uint64_t failures_ = 0;
  std::vector<DraftShadow> shadows_;  // one for each slot
};

}  // namespace holdfast::engine
