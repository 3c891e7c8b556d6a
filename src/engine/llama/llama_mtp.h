// LlamaMtp: the MTP block of a model as a Companion.
//
//   LlamaMtp      answers the scheduler; never fails loudly
//   MtpSlot       what the block has read for one slot (mtp_slot.h has the picture)
//     MtpRows       its attention rows, in the library and in memory
//     MtpHiddenRows the model's hidden rows that it reads next
//   MtpDrafts     computes drafts for several slots at once
//   MtpContext    the library's context, with its traps
//
// Same thread as the primary, which outlives it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/companion.h"
#include "engine/llama/llama_config.h"
#include "engine/llama/llama_copies.h"
#include "engine/llama/mtp_context.h"
#include "engine/llama/mtp_drafts.h"
#include "engine/llama/mtp_slot.h"

namespace holdfast::llama {

class LlamaEngine;

class LlamaMtp final : public engine::Companion {
 public:
  // `config` is the one that the model was loaded with. kUnsupported when the model
  // has no MTP block or one that is used in another way; kEngine when its context
  // cannot be made. The server then runs without.
  [[nodiscard]] static Result<std::unique_ptr<LlamaMtp>> create(std::shared_ptr<llama_model> model,
                                                                LlamaEngine& primary,
                                                                const LlamaConfig& config);

  [[nodiscard]] std::string_view name() const noexcept override { return "mtp"; }
  [[nodiscard]] engine::CompanionShape shape() const noexcept override { return shape_; }

  [[nodiscard]] engine::Followed follow(SlotId slot,
                                        const engine::CompanionPoint& point) noexcept override;
  void advance(SlotId slot, TokenSpan kept, TokenPos first_row) noexcept override;
  void draft(std::span<engine::DraftWish> wishes) noexcept override { drafts_->draft(wishes); }
  // With no memory left it may answer with fewer rows than blocks.
  [[nodiscard]] engine::CompanionSaved save(SlotId slot, std::span<const TokenRange> blocks,
                                            TokenPos length) noexcept override;

  // Asked before each operation; true: it fails.
  void set_fault(std::function<bool(MtpOperation)> fault) { context_->fault = std::move(fault); }

  // Violations of the invariants of each slot (mtp_slot.h); empty when they hold.
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  explicit LlamaMtp(std::unique_ptr<MtpContext> context) : context_(std::move(context)) {}
  [[nodiscard]] Result<void> add_slots(const LlamaEngine& primary);
  // Null: there is no such slot.
  [[nodiscard]] MtpSlot* find(SlotId slot) noexcept;

  std::unique_ptr<MtpContext> context_;
  LlamaCopies copies_;
  std::vector<MtpSlot> slots_;
  std::unique_ptr<MtpDrafts> drafts_;  // made when the slots are
  engine::CompanionShape shape_;
};

}  // namespace holdfast::llama
