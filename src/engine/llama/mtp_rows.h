// MtpRows: the attention rows that one slot has in the MTP block's context.
//
//   positions   0 ............. begin ############# end
//                  never made            held
//
// The rows of tokens before `begin` cannot be made any more, because the hidden rows that they are
// read with are gone; restore() brings them back from memory. While a draft is being computed the
// library also holds rows from `end` on. truncate() removes them.
//
// Invariant, verified by check() while no draft is being computed:
//   MTPROWS-1  0 <= begin <= end, and the library holds exactly the positions [begin, end)
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/companion.h"
#include "engine/llama/llama_copies.h"
#include "engine/llama/llama_rows.h"
#include "engine/llama/mtp_context.h"

namespace holdfast::llama {

class MtpRows {
 public:
  // Computes one token in the slot to learn where its rows lie, and erases it again.
  // REQUIRES: the slot is empty; context and copies outlive what is made.
  [[nodiscard]] static Result<MtpRows> record(SlotId slot, MtpContext& context,
                                              LlamaCopies& copies);

  [[nodiscard]] TokenPos begin() const { return begin_; }
  [[nodiscard]] TokenPos end() const { return end_; }
  [[nodiscard]] std::size_t row_bytes() const { return map_->row_bytes(); }

  // Erases all rows; the next one to be made is that of `position`.
  void restart_at(TokenPos position) noexcept;
  // A batch has made the rows up to `end`.
  void note_made(TokenPos end) { end_ = end; }
  // Removes the rows from `position` on. False: they are still there.
  [[nodiscard]] bool truncate(TokenPos position);

  // Why the point's rows do not cover its tokens; null: they do.
  [[nodiscard]] const char* defect_of(const engine::CompanionPoint& point) const;
  // Holds the rows of all the point's tokens; then null. Otherwise why not, and nothing is held.
  // REQUIRES: !defect_of(point), and restart_at() the point's length.
  [[nodiscard]] const char* restore(const engine::CompanionPoint& point);

  // Copies those of the blocks that are held whole into their places in `saved`.
  void copy_out(std::span<const TokenRange> blocks, std::span<CheckedBytes> saved) const;

  // Appends violations of MTPROWS-1.
  void check(std::vector<std::string>& violations) const;

 private:
  MtpRows(SlotId slot, MtpContext& context, LlamaCopies& copies, std::unique_ptr<LlamaRowMap> map)
      : slot_(slot), context_(&context), copies_(&copies), map_(std::move(map)) {}

  SlotId slot_;
  MtpContext* context_;
  LlamaCopies* copies_;
  std::unique_ptr<LlamaRowMap> map_;
  TokenPos begin_ = 0;
  TokenPos end_ = 0;
};

}  // namespace holdfast::llama
