#include "engine/llama/llama_rows.h"

#include <ggml-backend.h>
#include <llama-io.h>
#include <llama-memory.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "engine/llama/sequence_blob.h"

namespace holdfast::llama {

namespace {

std::uint32_t word_at(const std::byte* bytes) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

Error unknown_layout(const char* what) {
  return {ErrorCode::kUnsupported,
          std::string("The engine lays its state out unexpectedly: ") + what, ""};
}

}  // namespace

// Notes what the library writes for a state, without copying its tensors.
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
    if (size == sizeof(std::uint32_t)) largest = std::max(largest, word_at(bytes));
  }
  void write_tensor(ggml_tensor* tensor, std::size_t offset, std::size_t size) override {
    ranges.push_back({tensor, offset, size, meta.size()});
    tensor_bytes_ += size;
  }
  std::size_t n_bytes() override { return meta.size() + tensor_bytes_; }

  std::vector<std::byte> meta;
  std::vector<Range> ranges;
  std::uint32_t largest = 0;  // of the fields of four bytes

 private:
  std::size_t tensor_bytes_ = 0;
};

// Feeds a state to the library: the extents' meta is made here, the rest of the meta and its
// tensors come from the snapshot. Where the library wants the rows is noted, and they are moved
// later.
//
// The library reads a cell field by field, four times for each token. So cells are made some time
// before they are read, and reading a field costs a few instructions.
class LlamaRowMap::Feeder final : public llama_io_read_i {
 public:
  Feeder(const LlamaRowMap& map, const engine::RestorePoint& point)
      : map_(map), tokens_(map.has_extents_ ? point.tokens : TokenSpan{}) {
    if (point.snapshot) rest_ = point.snapshot->bytes.subspan(kSequenceBlobHead);
    if (!map.has_extents_) return;
    before_cells_ = map.meta_before_cells_;
    const auto count = static_cast<std::uint32_t>(tokens_.size());
    std::memcpy(before_cells_.data() + before_cells_.size() - sizeof count, &count, sizeof count);
    piece_ = before_cells_;
    after_ = map.meta_after_cells_;
  }

  void read(void* into, std::size_t size) override {
    const std::byte* const field = take(size);
    if (from_snapshot_ && size == sizeof(std::uint32_t) && word_at(field) > map_.largest_field_) {
      throw std::runtime_error("its snapshot is not of this engine");  // ROWMAP-3
    }
    switch (size) {  // a copy of constant size is one or two instructions
      case sizeof(std::int32_t): std::memcpy(into, field, sizeof(std::int32_t)); break;
      case kCellName: std::memcpy(into, field, kCellName); break;
      default: std::memcpy(into, field, size);
    }
  }

  void read_tensor(ggml_tensor* tensor, std::size_t offset, std::size_t size) override {
    if (wanted_.size() == map_.segments_.size()) {
      rest_pieces_.push_back({tensor, offset, size, take(size)});
      return;
    }
    const std::size_t cell_bytes = map_.segments_[wanted_.size()].cell_bytes;
    if (size != cell_bytes * tokens_.size()) {
      throw std::runtime_error("the cells are not in one piece");
    }
    wanted_.push_back({tensor, offset, cell_bytes});
    read_bytes_ += size;
  }

  std::size_t n_bytes() override { return read_bytes_; }

  // Where the library wants the tensors of the rest.
  [[nodiscard]] std::span<const PieceIn> rest_pieces() const { return rest_pieces_; }
  // Where the library wants the rows of cells 0 and up.
  [[nodiscard]] std::span<const Segment> wanted() const { return wanted_; }
  [[nodiscard]] bool used_up() const {
    return piece_.empty() && cells_made_ == tokens_.size() && after_.empty() && rest_.empty() &&
           wanted_.size() == map_.segments_.size();
  }

 private:
  static constexpr std::size_t kCellsAtOnce = 64;  // stay in the nearest cache

  // No field goes across the end of a piece.
  const std::byte* take(std::size_t size) {
    if (piece_.empty()) next_piece();
    if (piece_.size() < size) throw std::runtime_error("the state is too short");
    const std::byte* const taken = piece_.data();
    piece_ = piece_.subspan(size);
    read_bytes_ += size;
    return taken;
  }

  // A function of its own, so that reading a field that is there stays short.
  [[gnu::noinline]] void next_piece() {
    if (cells_made_ < tokens_.size()) {
      piece_ = next_cells();
    } else {
      from_snapshot_ = after_.empty();
      piece_ = std::exchange(from_snapshot_ ? rest_ : after_, {});
    }
  }

  std::span<const std::byte> next_cells() {
    const std::size_t count = std::min(kCellsAtOnce, tokens_.size() - cells_made_);
    const std::size_t size = map_.cell_meta_bytes();
    for (std::size_t i = 0; i < count; ++i, ++cells_made_) {
      const auto into = std::span(cells_).subspan(i * size / sizeof cells_[0]);
      map_.make_cell(static_cast<TokenPos>(cells_made_), tokens_[cells_made_],
                     into.first<kCellFields>());  // the next cell may begin before its end
    }
    return std::as_bytes(std::span(cells_)).first(count * size);
  }

  const LlamaRowMap& map_;
  const TokenSpan tokens_;  // one for each cell
  // Read in this order: before_cells_, the cells, after_, rest_.
  std::span<const std::byte> piece_;     // what is left of the current one
  std::vector<std::byte> before_cells_;  // with this state's number of cells
  std::array<std::int32_t, kCellsAtOnce * kCellFields> cells_{};
  std::size_t cells_made_ = 0;
  std::span<const std::byte> after_;
  std::span<const std::byte> rest_;  // of the snapshot
  bool from_snapshot_ = false;       // the current piece
  std::vector<Segment> wanted_;
  std::vector<PieceIn> rest_pieces_;
  std::size_t read_bytes_ = 0;
};

// Moves rows from their blocks into the library's tensors.
//
// If the processor reaches the tensors itself, a block is verified and copied while it is in the
// processor's cache. For a card, all blocks are verified first and then moved tensor by tensor.
class LlamaRowMap::RowWriter {
 public:
  RowWriter(std::span<const Segment> into, const engine::RestorePoint& point, LlamaCopies& copies)
      : into_(into), length_(length_of(point.tokens)), blocks_(point.rows), copies_(copies) {}

  void write() {
    if (blocks_.empty() || into_.empty()) return;
    const bool direct =
        std::ranges::all_of(into_, [](const Segment& segment) { return on_host(segment.tensor); });
    while (!blocks_.empty()) {
      const auto some = direct ? cacheful(blocks_) : blocks_;
      verify(some);
      write(some);
      blocks_ = blocks_.subspan(some.size());
    }
  }

 private:
  // A part of the second-level cache of any processor.
  static constexpr std::size_t kCachefulBytes = 256 << 10;

  static std::span<const engine::RowsView> cacheful(std::span<const engine::RowsView> blocks) {
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < blocks.size() && bytes < kCachefulBytes; ++count) {
      bytes += blocks[count].bytes.size();
    }
    return blocks.first(count);
  }

  void verify(std::span<const engine::RowsView> blocks) {
    std::atomic<bool> intact = true;
    copies_.each(into_.front().tensor, blocks.size(), [&](std::size_t i) {
      if (hash_bytes(blocks[i].bytes) != blocks[i].checksum) intact = false;
    });
    if (!intact) throw std::runtime_error("its bytes are damaged.");
  }

  // In a block of k rows the rows of one tensor lie together, after k times the
  // cell bytes of the tensors before it.
  void write(std::span<const engine::RowsView> blocks) {
    pieces_.clear();
    std::size_t bytes_before = 0;  // of each row, in the tensors before
    for (const Segment& segment : into_) {
      const std::size_t cell = segment.cell_bytes;
      for (const engine::RowsView& rows : blocks) {
        const TokenPos used = std::min(rows.end, length_) - rows.begin;
        if (used <= 0) break;
        const auto block_rows = static_cast<std::size_t>(rows.block_end - rows.block_begin);
        const auto skipped = static_cast<std::size_t>(rows.begin - rows.block_begin);
        pieces_.push_back({segment.tensor,
                           segment.offset + cell * static_cast<std::size_t>(rows.begin),
                           cell * static_cast<std::size_t>(used),
                           rows.bytes.data() + bytes_before * block_rows + skipped * cell});
      }
      bytes_before += cell;
    }
    copies_.in(pieces_);
  }

  const std::span<const Segment> into_;
  const TokenPos length_;
  std::span<const engine::RowsView> blocks_;  // that have not been written
  LlamaCopies& copies_;
  std::vector<PieceIn> pieces_;
};

Result<std::unique_ptr<LlamaRowMap>> LlamaRowMap::record(llama_context* context, SlotId slot,
                                                         TokenPos tokens_held, bool has_rest) {
  const llama_memory_t memory = llama_get_memory(context);
  Recorder whole;
  Recorder rest;
  memory->state_write(whole, slot.value, 0);
  if (has_rest) memory->state_write(rest, slot.value, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);

  auto map = std::make_unique<LlamaRowMap>();
  const llama_vocab* const vocabulary = llama_model_get_vocab(llama_get_model(context));
  map->largest_field_ = std::max({rest.largest, llama_n_ctx(context),
                                  static_cast<std::uint32_t>(llama_vocab_n_tokens(vocabulary))});
  const std::size_t meta_size = whole.meta.size() - rest.meta.size();
  map->has_extents_ = meta_size > 0;
  if (!map->has_extents_) return map;

  const auto count = static_cast<std::size_t>(tokens_held);
  const std::size_t extent_ranges = whole.ranges.size() - rest.ranges.size();
  if (!map->take_segments(whole, extent_ranges, count)) {
    return unknown_layout("a tensor range is not whole rows.");
  }
  // Before the cells: the number of streams, a zero for each earlier stream, the
  // number of cells. After them: two fields, then what describes each layer.
  const std::size_t cells_at = 4 + 4 * (static_cast<std::size_t>(slot.value) + 1);
  std::size_t cells_end =
      meta_size - 4 * (llama_n_seq_max(context) - 1 - static_cast<std::uint32_t>(slot.value)) - 8;
  if (extent_ranges > 0) cells_end = whole.ranges[0].meta_before - 8 - 12;
  const auto meta = std::span<const std::byte>(whole.meta).first(meta_size);
  if (!map->take_meta(meta, cells_at, cells_end, count)) {
    return unknown_layout("a cell of unknown size.");
  }
  const auto cells = meta.subspan(cells_at, map->cell_meta_bytes() * count);
  if (!map->makes_cells(cells, count)) return unknown_layout("a cell of unknown content.");
  return map;
}

// ROWMAP-1
bool LlamaRowMap::take_segments(const Recorder& whole, std::size_t ranges, std::size_t tokens) {
  for (std::size_t i = 0; i < ranges; ++i) {
    const Recorder::Range& range = whole.ranges[i];
    if (range.size % tokens != 0) return false;
    segments_.push_back({range.tensor, range.offset, range.size / tokens});
    row_bytes_ += range.size / tokens;
  }
  return true;
}

bool LlamaRowMap::take_meta(std::span<const std::byte> meta, std::size_t cells_at,
                            std::size_t cells_end, std::size_t tokens) {
  const std::size_t cell = (cells_end - cells_at) / tokens;
  if (cell != kPlainCell && cell != kNamedCell) return false;
  cells_name_tokens_ = cell == kNamedCell;
  const auto before = meta.first(cells_at);
  const auto after = meta.subspan(cells_at + cell * tokens);
  meta_before_cells_.assign(before.begin(), before.end());
  meta_after_cells_.assign(after.begin(), after.end());
  return true;
}

// ROWMAP-2, for everything that the map itself knows: all but the tokens.
bool LlamaRowMap::makes_cells(std::span<const std::byte> cells, std::size_t tokens) const {
  const std::size_t cell = cell_meta_bytes();
  for (std::size_t i = 0; i < tokens; ++i) {
    Token token = 0;
    const auto written = cells.subspan(cell * i, cell);
    if (cell == kNamedCell) std::memcpy(&token, written.data() + 16, sizeof token);
    std::array<std::int32_t, kCellFields> made{};
    make_cell(static_cast<TokenPos>(i), token, made);
    const auto known = std::as_bytes(std::span(made)).first(cell - 4);
    if (!std::ranges::equal(known, written.first(cell - 4))) return false;
  }
  return true;
}

// The sequence comes last, and the library replaces it when it reads. Fields are written one by one
// to their final place: copying a finished cell in wider steps would stall on its fresh fields.
void LlamaRowMap::make_cell(TokenPos position, Token token, CellSpan into) const {
  into[0] = position;
  into[1] = 1;
  into[2] = cells_name_tokens_ ? position : 0;
  into[3] = cells_name_tokens_ ? position : 0;
  into[4] = cells_name_tokens_ ? token : 0;
  into[5] = 0;
}

std::vector<PieceOut> LlamaRowMap::pieces_of(std::span<const TokenRange> blocks,
                                             std::span<std::byte* const> room) const {
  std::vector<PieceOut> pieces;
  pieces.reserve(blocks.size() * segments_.size());
  std::size_t bytes_before = 0;  // of each row, in the tensors before
  for (const Segment& segment : segments_) {
    const std::size_t cell = segment.cell_bytes;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto rows = static_cast<std::size_t>(blocks[i].length());
      pieces.push_back({segment.tensor,
                        segment.offset + cell * static_cast<std::size_t>(blocks[i].begin),
                        cell * rows, room[i] + bytes_before * rows});
    }
    bytes_before += cell;
  }
  return pieces;
}

void LlamaRowMap::copy_out(std::span<engine::ExtentRows> blocks, LlamaCopies& copies) const {
  if (blocks.empty() || segments_.empty()) return;
  std::vector<TokenRange> ranges;
  std::vector<std::byte*> room;
  for (engine::ExtentRows& block : blocks) {
    ranges.push_back({block.begin, block.end});
    room.push_back(block.bytes.data());
  }
  copies.out(pieces_of(ranges, room));
  copies.each(segments_.front().tensor, blocks.size(),
              [&](std::size_t i) { blocks[i].checksum = hash_bytes(blocks[i].bytes); });
}

void LlamaRowMap::restore(llama_context* context, SlotId slot, const engine::RestorePoint& point,
                          LlamaCopies& copies, LateCopies* late) const {
  Feeder feeder(*this, point);
  llama_get_memory(context)->state_read(feeder, slot.value, 0);
  if (!feeder.used_up()) throw std::runtime_error("the library did not take all of it");
  const bool on_card = late != nullptr && point.snapshot &&
                       late->bring_back(point.snapshot->bytes, feeder.rest_pieces());
  if (!on_card) copies.in(feeder.rest_pieces());
  RowWriter(feeder.wanted(), point, copies).write();
}

}  // namespace holdfast::llama
