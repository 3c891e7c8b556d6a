#include "engine/llama/state_transfer.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "engine/llama/sequence_blob.h"

namespace holdfast::llama {

namespace {

llama_state_seq_flags flags_of(engine::SaveScope scope) {
  return scope == engine::SaveScope::kSnapshot ? LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY : 0;
}

// LLAMA-7: the library throws through its C interface when a blob begins otherwise.
bool begins_as_the_librarys(std::span<const std::byte> bytes) {
  std::uint32_t head = 0;
  if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
  return head == kSequenceBlobMagic;
}

Error engine_error(std::string message) {
  return Error{ErrorCode::kEngine, std::move(message), ""};
}

}  // namespace

StateTransfer::StateTransfer(llama_context* context, const StateShape& shape, int slots)
    : context_(context), shape_(shape), row_maps_(static_cast<std::size_t>(slots)) {}

bool StateTransfer::has_snapshots() const {
  return shape_.find(PartKind::kSnapshot) != nullptr || shape_.find(PartKind::kWindow) != nullptr;
}

// --- whole states and snapshots --------------------------------------------

Result<engine::SavedState> StateTransfer::save(SlotId slot, TokenPos length,
                                               engine::SaveScope scope) {
  engine::SavedState saved{.scope = scope, .length = length, .checksum = 0, .bytes = {}};
  const auto flags = flags_of(scope);
  saved.bytes.resize(llama_state_seq_get_size_ext(context_, slot.value, flags));
  llama_synchronize(context_);
  std::size_t written = 0;
  try {
    written = copy_state_out(context_, slot, flags, saved.bytes, copies_);
  } catch (const std::exception&) {
    written = 0;
  }
  if (written == 0 || written != saved.bytes.size()) {
    return engine_error("The state of a slot could not be copied out.");
  }
  saved.checksum = hash_bytes(saved.bytes);
  return saved;
}

std::string StateTransfer::defect_of(const engine::SavedStateView& saved, TokenPos held) const {
  const bool keeps_extents = saved.scope == engine::SaveScope::kSnapshot;
  if (keeps_extents && !has_snapshots()) return "this model takes no snapshots.";
  if (keeps_extents && shape_.find(PartKind::kExtent) && held < saved.length) {
    return "the slot holds fewer tokens than the snapshot.";
  }
  if (hash_bytes(saved.bytes) != saved.checksum) return "its bytes are damaged.";
  if (!begins_as_the_librarys(saved.bytes)) return "it is not of this engine.";
  return {};
}

Result<void> StateTransfer::load(SlotId slot, const engine::SavedStateView& saved) {
  std::size_t taken = 0;
  try {
    taken = llama_state_seq_set_data_ext(context_,
                                         reinterpret_cast<const std::uint8_t*>(saved.bytes.data()),
                                         saved.bytes.size(), slot.value, flags_of(saved.scope));
  } catch (const std::exception& failure) {
    return engine_error(failure.what());
  }
  if (taken != saved.bytes.size()) return engine_error("the library did not take all of it.");
  return {};
}

// --- extent rows -----------------------------------------------------------

Result<const LlamaRowMap*> StateTransfer::row_map(SlotId slot, TokenPos length) {
  auto& map = row_maps_[static_cast<std::size_t>(slot.value)];
  if (map == nullptr) {
    auto made = LlamaRowMap::record(context_, slot, length, has_snapshots());
    if (!made) return made.error();
    map = std::move(*made);
  }
  return map.get();
}

const LlamaRowMap* StateTransfer::any_row_map() const {
  const auto found =
      std::ranges::find_if(row_maps_, [](const auto& map) { return map != nullptr; });
  return found == row_maps_.end() ? nullptr : found->get();
}

bool StateTransfer::knows_rows() const { return any_row_map() != nullptr; }

Result<void> StateTransfer::learn_rows(SlotId slot, TokenPos length) {
  if (auto map = row_map(slot, length); !map) return map.error();
  return {};
}

Result<std::vector<engine::ExtentRows>> StateTransfer::save_rows(
    SlotId slot, TokenPos length, std::span<const TokenRange> blocks) {
  llama_synchronize(context_);
  auto map = row_map(slot, length);
  if (!map) return map.error();
  std::vector<engine::ExtentRows> all;
  for (const TokenRange& block : blocks) {
    engine::ExtentRows& rows = all.emplace_back(engine::ExtentRows{block.begin, block.end, 0, {}});
    rows.bytes.resize((*map)->row_bytes() * static_cast<std::size_t>(block.length()));
  }
  (*map)->copy_out(all, copies_);
  return all;
}

std::string StateTransfer::defect_of(const engine::RestorePoint& point) const {
  const TokenPos length = length_of(point.tokens);
  const std::size_t row_bytes = any_row_map()->row_bytes();
  TokenPos covered = 0;
  for (const engine::RowsView& rows : point.rows) {
    if (rows.begin != covered) return "it has a gap.";
    const auto count = static_cast<std::size_t>(rows.block_end - rows.block_begin);
    if (rows.bytes.size() != row_bytes * count) return "it is not of this engine.";
    covered = rows.end;
  }
  if (row_bytes > 0 && covered < length) return "it has a gap.";
  if (!has_snapshots()) return {};
  if (!point.snapshot || point.snapshot->length != length ||
      point.snapshot->scope != engine::SaveScope::kSnapshot) {
    return "its snapshot is missing or of another length.";
  }
  if (hash_bytes(point.snapshot->bytes) != point.snapshot->checksum ||
      !begins_as_the_librarys(point.snapshot->bytes)) {
    return "its snapshot is damaged or foreign.";
  }
  return {};
}

Result<void> StateTransfer::restore(SlotId slot, const engine::RestorePoint& point) {
  llama_synchronize(context_);
  try {
    any_row_map()->restore(context_, slot, point, copies_);
  } catch (const std::exception& failure) {
    return engine_error(failure.what());
  }
  return {};
}

}  // namespace holdfast::llama
