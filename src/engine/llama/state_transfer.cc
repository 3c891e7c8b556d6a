#include "engine/llama/state_transfer.h"

#include <llama-context.h>

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

// Those that the context computes with.
std::vector<ggml_backend_t> backends_of(llama_context* context) {
  ggml_backend_sched_t scheduler = context->get_sched();
  std::vector<ggml_backend_t> backends;
  for (int i = 0; i < ggml_backend_sched_get_n_backends(scheduler); ++i) {
    backends.push_back(ggml_backend_sched_get_backend(scheduler, i));
  }
  return backends;
}

// Rows are copied out by several threads, some blocks each.
constexpr std::size_t kPartBytes = 8 << 20;

// Makes room for the blocks, and appends what will arrive there to `all`.
std::vector<LatePart> parts_of(const LlamaRowMap& map, SlotId slot,
                               std::span<const TokenRange> blocks,
                               std::vector<ArrivingBytesPtr>& all) {
  std::vector<LatePart> parts;
  while (!blocks.empty()) {
    LatePart& part = parts.emplace_back();
    std::vector<std::byte*> room;
    for (std::size_t bytes = 0; room.size() < blocks.size() && bytes < kPartBytes;) {
      const auto rows = static_cast<std::size_t>(blocks[room.size()].length());
      const auto block = std::make_shared<ArrivingBytes>(map.row_bytes() * rows);
      room.push_back(block->room().data());
      bytes += block->size();
      part.bytes.push_back(block);
      all.push_back(block);
    }
    part.pieces = map.pieces_of(blocks.first(room.size()), room);
    part.slot = slot;
    part.rows_end = blocks[room.size() - 1].end;
    blocks = blocks.subspan(room.size());
  }
  return parts;
}

}  // namespace

StateTransfer::StateTransfer(llama_context* context, const StateShape& shape,
                             const TransferOptions& options)
    : context_(context),
      shape_(shape),
      row_maps_(static_cast<std::size_t>(options.slots)),
      late_(backends_of(context), options.late, options.late_room) {}

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
  try {
    copy_state_out(context_, slot, flags, saved.bytes, copies_);
  } catch (const std::exception&) {
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
  if (!intact(saved.bytes, saved.checksum)) return "its bytes are damaged.";
  if (!begins_as_the_librarys(saved.bytes)) return "it is not of this engine.";
  return {};
}

Result<void> StateTransfer::load(SlotId slot, const engine::SavedStateView& saved) {
  llama_synchronize(context_);
  try {
    const auto pieces = read_all_but_tensors(context_, slot, flags_of(saved.scope), saved.bytes);
    if (!late_.bring_back(saved.bytes, pieces)) copies_.in(pieces);
  } catch (const std::exception& failure) {
    return engine_error(failure.what());
  }
  return {};
}

// Of what a card still holds, the tensors are not brought from here.
bool StateTransfer::intact(std::span<const std::byte> bytes, std::uint64_t checksum) const {
  return late_.holds(bytes) || hash_bytes(bytes) == checksum;
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

// --- later -----------------------------------------------------------------

Result<engine::SavedLater> StateTransfer::save_later(SlotId slot, TokenPos length,
                                                     std::span<const TokenRange> blocks,
                                                     bool snapshot) {
  saves_later_ = true;  // unless a part of this state shows that it is not so
  engine::SavedLater saved;
  if (!blocks.empty()) {
    auto rows = begin_rows(slot, length, blocks);
    if (!rows) return rows.error();
    saved.rows = std::move(*rows);
  }
  if (!snapshot) return saved;
  auto state = begin_snapshot(slot, length);
  if (!state) return state.error();
  saved.snapshot = std::move(*state);
  return saved;
}

Result<std::vector<ArrivingBytesPtr>> StateTransfer::begin_rows(
    SlotId slot, TokenPos length, std::span<const TokenRange> blocks) {
  auto map = row_map(slot, length);
  if (!map) return map.error();
  std::vector<ArrivingBytesPtr> all;
  if (late_.can_take((*map)->pieces_of({{{0, 1}}}, {{nullptr}}))) {
    late_.begin_rows(parts_of(**map, slot, blocks, all));
    return all;
  }
  saves_later_ = false;
  auto rows = save_rows(slot, length, blocks);
  if (!rows) return rows.error();
  for (engine::ExtentRows& block : *rows) {
    all.push_back(std::make_shared<const ArrivingBytes>(std::move(block.bytes), block.checksum));
  }
  return all;
}

// Where the card has no room for it, it is copied at once.
Result<ArrivingBytesPtr> StateTransfer::begin_snapshot(SlotId slot, TokenPos length) {
  const auto flags = flags_of(engine::SaveScope::kSnapshot);
  LatePart part;
  const auto& bytes = part.bytes.emplace_back(
      std::make_shared<ArrivingBytes>(llama_state_seq_get_size_ext(context_, slot.value, flags)));
  try {
    part.pieces = write_all_but_tensors(context_, slot, flags, bytes->room());
  } catch (const std::exception&) {
    return engine_error("The state of a slot could not be copied out.");
  }
  ArrivingBytesPtr state = bytes;
  if (late_.can_take(part.pieces) && late_.begin_snapshot(std::move(part))) return state;
  saves_later_ = false;
  auto saved = save(slot, length, engine::SaveScope::kSnapshot);
  if (!saved) return saved.error();
  return std::make_shared<const ArrivingBytes>(std::move(saved->bytes), saved->checksum);
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
  if (!intact(point.snapshot->bytes, point.snapshot->checksum) ||
      !begins_as_the_librarys(point.snapshot->bytes)) {
    return "its snapshot is damaged or foreign.";
  }
  return {};
}

Result<void> StateTransfer::restore(SlotId slot, const engine::RestorePoint& point) {
  llama_synchronize(context_);
  try {
    any_row_map()->restore(context_, slot, point, copies_, &late_);
  } catch (const std::exception& failure) {
    return engine_error(failure.what());
  }
  return {};
}

}  // namespace holdfast::llama
