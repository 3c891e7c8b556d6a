// LlamaRowMap: where the extent rows of a slot lie in the library's tensors, and how they have to
// be described to the library when they are restored.
//
// The library writes a sequence's state as [extents][the rest], each a stream of
// small fields ("meta") and tensor ranges. Recorded once on a slot that holds n
// tokens, that stream tells for every tensor how many bytes belong to one token:
//
//   tensor 0   | row 0 | row 1 | ... | row n-1 |      cell bytes = range / n
//   meta       n_stream, count, n x cell, types and row sizes of the layers
//
// From then on rows [a, b) are copied without asking the library again, and a
// restore feeds it the same stream for any number of tokens, gathering the rows
// from wherever they are kept.
//
// Invariants, verified when the map is made:
//   ROWMAP-1  every extent tensor's range begins at cell 0 and is one piece
//   ROWMAP-2  the cells that make_cell() makes equal those that the library wrote
// and when a state is restored:
//   ROWMAP-3  no field of a snapshot is larger than any that the library could have written: the
//             library allocates as many cells as a field says before it looks at them
//             (EveryArchitecture.AForgedSnapshotNeitherCrashesNorTakesMemory)
#pragma once

#include <llama.h>

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/llama/late_copies.h"
#include "engine/llama/llama_copies.h"

namespace holdfast::llama {

class LlamaRowMap {
 public:
  // `tokens_held` is the slot's length, at least 1. `has_rest` tells whether the
  // model has parts other than extents. An Error when the library's stream is
  // not as ROWMAP-1 and ROWMAP-2 say.
  [[nodiscard]] static Result<std::unique_ptr<LlamaRowMap>> record(llama_context* context,
                                                                   SlotId slot,
                                                                   TokenPos tokens_held,
                                                                   bool has_rest);

  [[nodiscard]] std::size_t row_bytes() const { return row_bytes_; }

  // Where the rows of these blocks' tokens lie, tensor by tensor, and where they go: `room` has the
  // memory of each block. The blocks ascend.
  [[nodiscard]] std::vector<PieceOut> pieces_of(std::span<const TokenRange> blocks,
                                                std::span<std::byte* const> room) const;
  // Copies the rows of the blocks' tokens out, tensor by tensor, and sets their checksums. The
  // blocks ascend, and their bytes have their final size.
  void copy_out(std::span<engine::ExtentRows> blocks, LlamaCopies& copies) const;

  // Brings `slot` to the point; its snapshot comes out of a berth of `late`, where that still has
  // it. Throws what the library throws, and when a block is damaged; the slot then holds no usable
  // state.
  // REQUIRES: the point's blocks have row_bytes() for each of their tokens.
  void restore(llama_context* context, SlotId slot, const engine::RestorePoint& point,
               LlamaCopies& copies, LateCopies* late) const;

 private:
  struct Segment {
    ggml_tensor* tensor = nullptr;
    std::size_t offset = 0;  // of cell 0
    std::size_t cell_bytes = 0;
  };
  class Recorder;
  class Feeder;
  class RowWriter;

  // What the library writes for one cell: position, count of sequences (1), with
  // M-RoPE {x, y, token}, and the sequence.
  static constexpr std::size_t kPlainCell = 12;
  static constexpr std::size_t kNamedCell = 24;
  static constexpr std::size_t kCellName = 12;  // {x, y, token}
  static constexpr std::size_t kCellFields = kNamedCell / sizeof(std::int32_t);
  using CellSpan = std::span<std::int32_t, kCellFields>;  // cell_meta_bytes() of it are used

  // Parts of record(); false: the library's stream is not as expected.
  // Takes the first `ranges` tensor ranges, which are the extents'.
  [[nodiscard]] bool take_segments(const Recorder& whole, std::size_t ranges, std::size_t tokens);
  // Takes the extents' meta, in which the cells lie from byte `cells_at` to `cells_end`.
  [[nodiscard]] bool take_meta(std::span<const std::byte> meta, std::size_t cells_at,
                               std::size_t cells_end, std::size_t tokens);
  // Whether make_cell() makes the cells that the library wrote.
  [[nodiscard]] bool makes_cells(std::span<const std::byte> cells, std::size_t tokens) const;

  void make_cell(TokenPos position, Token token, CellSpan into) const;
  [[nodiscard]] std::size_t cell_meta_bytes() const {
    return cells_name_tokens_ ? kNamedCell : kPlainCell;
  }

  std::vector<Segment> segments_;
  std::uint32_t largest_field_ = 0;  // ROWMAP-3
  std::size_t row_bytes_ = 0;
  bool has_extents_ = false;
  bool cells_name_tokens_ = false;            // M-RoPE: a cell also holds 2-D position and token
  std::vector<std::byte> meta_before_cells_;  // its last field is the number of cells
  std::vector<std::byte> meta_after_cells_;
};

}  // namespace holdfast::llama
