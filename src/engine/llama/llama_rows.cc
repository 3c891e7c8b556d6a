#include "engine/llama/llama_rows.h"

#include <ggml-backend.h>
#include <llama-io.h>
#include <llama-memory.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "base/check.h"

namespace holdfast {

namespace {

// The sequence blob's head, which memory itself does not write.
constexpr std::size_t kBlobHead = 8;

// Whether the processor can reach the tensor's bytes itself.
bool on_host(const ggml_tensor* tensor) {
  const ggml_tensor* owner = tensor->view_src != nullptr ? tensor->view_src : tensor;
  return ggml_backend_buffer_is_host(owner->buffer);
}

Error unknown_layout(const char* what) {
  return {ErrorCode::kUnsupported,
          std::string("The engine lays its state out unexpectedly: ") + what, ""};
}

}  // namespace

// Takes down a state without copying its tensors.
class LlamaRowMap::Recorder final : public llama_io_write_i {
 public:
  struct Range {
    ggml_tensor* tensor;
    std::size_t offset;
    std::size_t size;
    std::size_t meta_before;  // bytes of meta written before it
  };

  void write(const void* source, std::size_t size) override {
    const auto* bytes = static_cast<const std::byte*>(source);
    meta.insert(meta.end(), bytes, bytes + size);
  }
  void write_tensor(ggml_tensor* tensor, std::size_t offset, std::size_t size) override {
    ranges.push_back({tensor, offset, size, meta.size()});
    tensor_bytes_ += size;
  }
  std::size_t n_bytes() override { return meta.size() + tensor_bytes_; }

  std::vector<std::byte> meta;
  std::vector<Range> ranges;

 private:
  std::size_t tensor_bytes_ = 0;
};

// Feeds a state back: the extents' meta is made, the rest of the meta comes from the
// snapshot; rows from their blocks, other tensors from the snapshot.
//
// The library reads a cell field by field, four times for each token. So cells are made
// as they are read, and a field costs a few instructions.
class LlamaRowMap::Gatherer final : public llama_io_read_i {
 public:
  Gatherer(const LlamaRowMap& map, const RestorePoint& point)
      : map_(map), point_(point), cell_bytes_(map.cell_meta_bytes()), cell_at_(cell_bytes_) {
    if (point.snapshot) rest_ = point.snapshot->bytes.subspan(kBlobHead);
    if (!map.has_extents_) return;
    cells_left_ = point.tokens.size();
    before_cells_ = map.meta_before_cells_;
    const auto count = static_cast<std::uint32_t>(point.tokens.size());
    std::memcpy(before_cells_.data() + before_cells_.size() - sizeof count, &count, sizeof count);
    before_ = before_cells_;
    after_ = map.meta_after_cells_;
  }

  void read(void* into, std::size_t size) override {
    read_bytes_ += size;
    if (cell_at_ == cell_bytes_ && (!before_.empty() || cells_left_ == 0)) {
      auto& source = !before_.empty() ? before_ : !after_.empty() ? after_ : rest_;
      std::memcpy(into, take(source, size).data(), size);
      return;
    }
    if (cell_at_ == cell_bytes_) next_cell();
    if (cell_bytes_ - cell_at_ < size) throw std::runtime_error("the cells are read otherwise");
    const std::byte* const field = cell_.data() + cell_at_;
    cell_at_ += size;
    if (size == sizeof(std::uint32_t)) {  // nearly always; a copy of known size is one move
      std::memcpy(into, field, sizeof(std::uint32_t));
    } else {
      std::memcpy(into, field, size);
    }
  }

  void read_tensor(ggml_tensor* tensor, std::size_t offset, std::size_t size) override {
    read_bytes_ += size;
    if (segment_ == map_.segments_.size()) {
      ggml_backend_tensor_set(tensor, take(rest_, size).data(), offset, size);
      return;
    }
    const std::size_t cell_bytes = map_.segments_[segment_].cell_bytes;
    if (size != cell_bytes * point_.tokens.size()) {
      throw std::runtime_error("the cells are not in one piece");
    }
    gather(tensor, offset, cell_bytes);
    bytes_before_ += cell_bytes;
    ++segment_;
  }

  std::size_t n_bytes() override { return read_bytes_; }
  [[nodiscard]] bool used_up() const {
    return before_.empty() && cells_left_ == 0 && cell_at_ == cell_bytes_ && after_.empty() &&
           rest_.empty();
  }

 private:
  static std::span<const std::byte> take(std::span<const std::byte>& source, std::size_t size) {
    if (source.size() < size) throw std::runtime_error("the state is too short");
    const auto taken = source.first(size);
    source = source.subspan(size);
    return taken;
  }

  void next_cell() {
    const std::size_t index = point_.tokens.size() - cells_left_;
    cell_ = map_.make_cell(static_cast<TokenPos>(index), point_.tokens[index]);
    --cells_left_;
    cell_at_ = 0;
  }

  // In a block of k rows the rows of one tensor lie together, after k times the
  // cell bytes of the tensors before it. They go into a device's memory in one piece.
  void gather(ggml_tensor* tensor, std::size_t offset, std::size_t cell_bytes) {
    const auto length = static_cast<TokenPos>(point_.tokens.size());
    const bool direct = on_host(tensor);
    if (!direct) staged_.resize(cell_bytes * point_.tokens.size());
    std::byte* into = direct ? static_cast<std::byte*>(tensor->data) + offset : staged_.data();
    for (const RowsView& rows : point_.rows) {
      const TokenPos used = std::min(rows.end, length) - rows.begin;
      if (used <= 0) break;
      const auto block_rows = static_cast<std::size_t>(rows.block_end - rows.block_begin);
      const auto skipped = static_cast<std::size_t>(rows.begin - rows.block_begin);
      std::memcpy(into + static_cast<std::size_t>(rows.begin) * cell_bytes,
                  rows.bytes.data() + bytes_before_ * block_rows + skipped * cell_bytes,
                  static_cast<std::size_t>(used) * cell_bytes);
    }
    if (!direct) ggml_backend_tensor_set(tensor, staged_.data(), offset, staged_.size());
  }

  const LlamaRowMap& map_;
  const RestorePoint& point_;
  // What is still to be read, in this order: before_, the cells, after_, rest_.
  std::vector<std::byte> before_cells_;  // with this state's number of cells
  std::span<const std::byte> before_;
  std::size_t cells_left_ = 0;  // that have not been made
  const std::size_t cell_bytes_;
  std::size_t cell_at_;  // in the current one
  Cell cell_{};
  std::span<const std::byte> after_;
  std::span<const std::byte> rest_;  // of the snapshot
  StateBytes staged_;                // one tensor's rows, where they go to a device
  std::size_t segment_ = 0;
  std::size_t bytes_before_ = 0;
  std::size_t read_bytes_ = 0;
};

Result<std::unique_ptr<LlamaRowMap>> LlamaRowMap::record(llama_context* context, SlotId slot,
                                                         TokenPos tokens_held, bool has_rest) {
  const llama_memory_t memory = llama_get_memory(context);
  Recorder whole;
  Recorder rest;
  memory->state_write(whole, slot.value, 0);
  if (has_rest) memory->state_write(rest, slot.value, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);

  auto map = std::make_unique<LlamaRowMap>();
  const std::size_t meta_size = whole.meta.size() - rest.meta.size();
  map->has_extents_ = meta_size > 0;
  if (!map->has_extents_) return map;

  const auto count = static_cast<std::size_t>(tokens_held);
  const std::size_t extent_ranges = whole.ranges.size() - rest.ranges.size();
  for (std::size_t i = 0; i < extent_ranges; ++i) {
    const Recorder::Range& range = whole.ranges[i];
    if (range.size % count != 0) return unknown_layout("a tensor range is not whole rows.");  // R1
    map->segments_.push_back({range.tensor, range.offset, range.size / count});
    map->row_bytes_ += range.size / count;
  }

  // Before the cells: the number of streams, a zero for each earlier stream, the
  // number of cells. After them: two fields, then what describes each layer.
  const std::size_t cells_at = 4 + 4 * (static_cast<std::size_t>(slot.value) + 1);
  std::size_t cells_end =
      meta_size - 4 * (llama_n_seq_max(context) - 1 - static_cast<std::uint32_t>(slot.value)) - 8;
  if (extent_ranges > 0) cells_end = whole.ranges[0].meta_before - 8 - 12;
  const std::size_t cell = (cells_end - cells_at) / count;
  if (cell != kPlainCell && cell != kNamedCell) return unknown_layout("a cell of unknown size.");
  map->cells_name_tokens_ = cell == kNamedCell;
  const auto meta = std::span(whole.meta).first(meta_size);
  const auto before = meta.first(cells_at);
  const auto cells = meta.subspan(cells_at, cell * count);
  const auto after = meta.subspan(cells_at + cell * count);
  map->meta_before_cells_.assign(before.begin(), before.end());
  map->meta_after_cells_.assign(after.begin(), after.end());

  // R2, for what the map itself knows: all but the tokens.
  for (TokenPos i = 0; i < tokens_held; ++i) {
    Token token = 0;
    const auto written = cells.subspan(cell * static_cast<std::size_t>(i), cell);
    if (cell == kNamedCell) std::memcpy(&token, written.data() + 16, sizeof token);
    const Cell made = map->make_cell(i, token);
    const bool same = std::ranges::equal(std::span(made).first(cell - 4), written.first(cell - 4));
    if (!same) return unknown_layout("a cell of unknown content.");
  }
  return map;
}

LlamaRowMap::Cell LlamaRowMap::make_cell(TokenPos position, Token token) const {
  // The sequence comes last; the reader puts its own in its place.
  const std::array<std::int32_t, 6> named = {position, 1, position, position, token, 0};
  const std::array<std::int32_t, 6> plain = {position, 1, 0, 0, 0, 0};
  return std::bit_cast<Cell>(cells_name_tokens_ ? named : plain);
}

void LlamaRowMap::copy_out(std::span<ExtentRows> blocks) const {
  if (blocks.empty()) return;
  const TokenPos begin = blocks.front().begin;
  const auto all = static_cast<std::size_t>(blocks.back().end - begin);
  StateBytes staged;
  std::size_t bytes_before = 0;  // of each row, in the tensors before
  for (const Segment& segment : segments_) {
    const std::size_t cell = segment.cell_bytes;
    const std::size_t offset = segment.offset + cell * static_cast<std::size_t>(begin);
    const std::byte* source = nullptr;
    if (on_host(segment.tensor)) {
      source = static_cast<const std::byte*>(segment.tensor->data) + offset;
    } else {
      staged.resize(cell * all);
      ggml_backend_tensor_get(segment.tensor, staged.data(), offset, staged.size());
      source = staged.data();
    }
    for (ExtentRows& block : blocks) {
      const auto rows = static_cast<std::size_t>(block.end - block.begin);
      std::memcpy(block.bytes.data() + bytes_before * rows,
                  source + cell * static_cast<std::size_t>(block.begin - begin), cell * rows);
    }
    bytes_before += cell;
  }
}

void LlamaRowMap::restore(llama_context* context, SlotId slot, const RestorePoint& point) const {
  Gatherer gatherer(*this, point);
  llama_get_memory(context)->state_read(gatherer, slot.value, 0);
  if (!gatherer.used_up()) throw std::runtime_error("the library did not take all of it");
}

}  // namespace holdfast
