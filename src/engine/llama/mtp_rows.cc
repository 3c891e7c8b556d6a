#include "engine/llama/mtp_rows.h"

#include <algorithm>
#include <utility>

namespace holdfast::llama {

Result<MtpRows> MtpRows::record(SlotId slot, MtpContext& context, LlamaCopies& copies) {
  context.append(slot, 0, 0, nullptr, false);
  if (!context.run(MtpOutputs::kNone)) {
    return Error{ErrorCode::kEngine, "The MTP block could not be run.", ""};
  }
  llama_synchronize(context.library());
  auto map = LlamaRowMap::record(context.library(), slot, 1, /*has_rest=*/false);
  context.erase(slot);
  if (!map) return map.error();
  if ((*map)->row_bytes() == 0) {
    return Error{ErrorCode::kUnsupported, "The MTP block's state has no rows.", ""};
  }
  return MtpRows(slot, context, copies, std::move(*map));
}

void MtpRows::restart_at(TokenPos position) noexcept {
  context_->erase(slot_);
  begin_ = end_ = position;
}

bool MtpRows::truncate(TokenPos position) {
  if (!context_->trim(slot_, position)) return false;
  end_ = std::min(end_, position);
  return true;
}

// --- memory ----------------------------------------------------------------

const char* MtpRows::defect_of(const engine::CompanionPoint& point) const {
  const TokenPos length = length_of(point.tokens);
  TokenPos covered = 0;
  for (const engine::RowsView& rows : point.rows) {
    if (covered >= length) break;
    if (rows.begin != covered || rows.end <= rows.begin || rows.block_begin < 0 ||
        rows.begin < rows.block_begin || rows.end > rows.block_end) {
      return "a block of its rows is not kept";
    }
    const auto count = static_cast<std::size_t>(rows.block_end - rows.block_begin);
    if (rows.bytes.size() != row_bytes() * count) return "a block of its rows is not of this model";
    covered = rows.end;
  }
  return covered < length ? "its rows are not kept to the end" : nullptr;
}

const char* MtpRows::restore(const engine::CompanionPoint& point) {
  const TokenPos length = length_of(point.tokens);
  if (length == 0) return nullptr;
  if (context_->fails(MtpOperation::kRestore)) return "its rows could not be brought back";
  try {
    llama_synchronize(context_->library());
    map_->restore(context_->library(), slot_, {point.tokens, point.rows, {}}, *copies_, nullptr);
  } catch (...) {
    context_->erase(slot_);
    return "its rows could not be brought back";
  }
  if (context_->held(slot_) != TokenRange{0, length}) {
    context_->erase(slot_);
    return "its rows were brought back in part";
  }
  begin_ = 0;
  end_ = length;
  return nullptr;
}

// Cell i of the library's context holds the row of position begin + i.
void MtpRows::copy_out(std::span<const TokenRange> blocks, std::span<CheckedBytes> saved) const {
  std::vector<engine::ExtentRows> found;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const TokenRange& block = blocks[i];
    if (block.empty() || block.begin < begin_ || block.end > end_) continue;
    engine::ExtentRows& rows = found.emplace_back();
    rows.begin = block.begin - begin_;
    rows.end = block.end - begin_;
    rows.bytes.resize(row_bytes() * static_cast<std::size_t>(block.length()));
    which.push_back(i);
  }
  llama_synchronize(context_->library());
  map_->copy_out(found, *copies_);
  for (std::size_t i = 0; i < found.size(); ++i) {
    saved[which[i]] = {std::move(found[i].bytes), found[i].checksum};
  }
}

void MtpRows::check(std::vector<std::string>& violations) const {
  const TokenRange held = context_->held(slot_);
  const bool agrees = begin_ == end_ ? held.empty() : held == TokenRange{begin_, end_};
  if (0 <= begin_ && begin_ <= end_ && agrees) return;
  violations.push_back("MTPROWS-1: slot " + std::to_string(slot_.value) + " counts rows [" +
                       std::to_string(begin_) + ", " + std::to_string(end_) + "), the library [" +
                       std::to_string(held.begin) + ", " + std::to_string(held.end) + ")");
}

}  // namespace holdfast::llama
