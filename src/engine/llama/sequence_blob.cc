#include "engine/llama/sequence_blob.h"

#include <llama-io.h>
#include <llama-memory.h>

#include <cstring>
#include <stdexcept>
#include <vector>

namespace holdfast::llama {

namespace {

// Writes the meta of a state to its place, and notes where the tensors' bytes go.
class StateWriter final : public llama_io_write_i {
 public:
  explicit StateWriter(std::span<std::byte> into) : into_(into) {}

  void write(const void* source, std::size_t size) override {
    std::memcpy(take(size), source, size);
  }
  void write_tensor(ggml_tensor* tensor, std::size_t offset, std::size_t size) override {
    pieces_.push_back({tensor, offset, size, take(size)});
  }
  std::size_t n_bytes() override { return written_; }

  [[nodiscard]] std::span<const PieceOut> pieces() const { return pieces_; }

 private:
  std::byte* take(std::size_t size) {
    if (size > into_.size() - written_) throw std::runtime_error("the state grew meanwhile");
    std::byte* const taken = into_.data() + written_;
    written_ += size;
    return taken;
  }

  const std::span<std::byte> into_;
  std::size_t written_ = 0;
  std::vector<PieceOut> pieces_;
};

}  // namespace

std::size_t copy_state_out(llama_context* context, SlotId slot, llama_state_seq_flags flags,
                           std::span<std::byte> into, LlamaCopies& copies) {
  StateWriter writer(into);
  const llama_seq_id sequence = slot.value;
  writer.write(&kSequenceBlobMagic, sizeof kSequenceBlobMagic);
  writer.write(&sequence, sizeof sequence);
  llama_get_memory(context)->state_write(writer, sequence, flags);
  copies.out(writer.pieces());
  return writer.n_bytes();
}

}  // namespace holdfast::llama
