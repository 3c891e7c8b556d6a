#include "engine/llama/sequence_blob.h"

#include <llama-io.h>
#include <llama-memory.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>
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

// The reverse.
class StateReader final : public llama_io_read_i {
 public:
  explicit StateReader(std::span<const std::byte> from) : from_(from) {}

  void read(void* into, std::size_t size) override { std::memcpy(into, take(size), size); }
  void read_tensor(ggml_tensor* tensor, std::size_t offset, std::size_t size) override {
    pieces_.push_back({tensor, offset, size, take(size)});
  }
  std::size_t n_bytes() override { return read_; }

  [[nodiscard]] std::vector<PieceIn> pieces() && { return std::move(pieces_); }

 private:
  const std::byte* take(std::size_t size) {
    if (size > from_.size() - read_) throw std::runtime_error("the state is too short");
    const std::byte* const taken = from_.data() + read_;
    read_ += size;
    return taken;
  }

  const std::span<const std::byte> from_;
  std::size_t read_ = 0;
  std::vector<PieceIn> pieces_;
};

}  // namespace

std::vector<PieceOut> write_all_but_tensors(llama_context* context, SlotId slot,
                                            llama_state_seq_flags flags,
                                            std::span<std::byte> into) {
  StateWriter writer(into);
  const llama_seq_id sequence = slot.value;
  writer.write(&kSequenceBlobMagic, sizeof kSequenceBlobMagic);
  writer.write(&sequence, sizeof sequence);
  llama_get_memory(context)->state_write(writer, sequence, flags);
  if (writer.n_bytes() != into.size()) throw std::runtime_error("the state shrank meanwhile");
  return {writer.pieces().begin(), writer.pieces().end()};
}

void copy_state_out(llama_context* context, SlotId slot, llama_state_seq_flags flags,
                    std::span<std::byte> into, LlamaCopies& copies) {
  copies.out(write_all_but_tensors(context, slot, flags, into));
}

std::vector<PieceIn> read_all_but_tensors(llama_context* context, SlotId slot,
                                          llama_state_seq_flags flags,
                                          std::span<const std::byte> blob) {
  StateReader reader(blob);
  std::array<std::byte, kSequenceBlobHead> head{};
  reader.read(head.data(), head.size());
  llama_get_memory(context)->state_read(reader, slot.value, flags);
  if (reader.n_bytes() != blob.size()) {
    throw std::runtime_error("the library did not take all of it.");
  }
  return std::move(reader).pieces();
}

}  // namespace holdfast::llama
