#include "engine/llama/llama_copies.h"

#include <ggml-alloc.h>
#include <ggml.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <vector>

namespace holdfast::llama {
namespace {

// Tensors in the processor's own memory. With threads for everything, they are moved as a card's
// are; the page-locked memory is what the device gives.
class Copies : public testing::TestWithParam<LlamaCopies::Threads> {
 protected:
  static constexpr std::size_t kTensorBytes = 5 << 20;  // more than crosses the bus at a time

  void SetUp() override {
    std::printf("seed %u\n", kSeed);
    context_.reset(ggml_init({3 * ggml_tensor_overhead(), nullptr, /*no_alloc=*/true}));
    for (int i = 0; i < 2; ++i) {
      tensors_.push_back(ggml_new_tensor_1d(context_.get(), GGML_TYPE_I8, kTensorBytes));
    }
    buffer_.reset(
        ggml_backend_alloc_ctx_tensors_from_buft(context_.get(), ggml_backend_cpu_buffer_type()));
    std::mt19937 random(kSeed);
    for (ggml_tensor* tensor : tensors_) {
      std::vector<std::byte>& bytes = contents_.emplace_back(kTensorBytes);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
    }
  }

  // Pieces of any size that cover both tensors but for some gaps, each with its place in `memory`.
  template <typename Byte>
  std::vector<TensorPiece<Byte>> pieces(Byte* memory, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<TensorPiece<Byte>> all;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      for (std::size_t offset = 0; offset < kTensorBytes;) {
        const std::size_t most = random() % 8 == 0 ? 4 << 20 : 100'000;
        const std::size_t size = std::min<std::size_t>(1 + random() % most, kTensorBytes - offset);
        if (random() % 5 != 0) {
          all.push_back({tensors_[t], offset, size, memory + t * kTensorBytes + offset});
        }
        offset += size;
      }
    }
    return all;
  }

  static constexpr unsigned kSeed = 20261116;
  struct FreeContext {
    void operator()(ggml_context* context) const { ggml_free(context); }
  };
  struct FreeBuffer {
    void operator()(ggml_backend_buffer_t buffer) const { ggml_backend_buffer_free(buffer); }
  };
  std::unique_ptr<ggml_context, FreeContext> context_;
  std::unique_ptr<ggml_backend_buffer, FreeBuffer> buffer_;
  std::vector<ggml_tensor*> tensors_;
  std::vector<std::vector<std::byte>> contents_;
};

TEST_P(Copies, EveryPieceComesOutAndNothingElseIsTouched) {
  LlamaCopies copies(GetParam());
  for (unsigned round = 0; round < 20; ++round) {
    std::vector<std::byte> memory(2 * kTensorBytes, std::byte{0xEE});
    std::vector<std::byte> expected = memory;
    const auto wanted = pieces(memory.data(), kSeed + round);
    for (const PieceOut& piece : wanted) {
      const std::size_t tensor = piece.tensor == tensors_[0] ? 0 : 1;
      std::copy_n(contents_[tensor].begin() + static_cast<std::ptrdiff_t>(piece.offset), piece.size,
                  expected.begin() + (piece.memory - memory.data()));
    }
    copies.out(wanted);
    ASSERT_TRUE(memory == expected) << "round " << round;
  }
}

TEST_P(Copies, EveryPieceGoesInAndNothingElseIsTouched) {
  LlamaCopies copies(GetParam());
  std::vector<std::byte> memory(2 * kTensorBytes, std::byte{0x11});
  for (unsigned round = 0; round < 20; ++round) {
    std::ranges::fill(memory, static_cast<std::byte>(round));
    const auto given = pieces<const std::byte>(memory.data(), kSeed + round);
    for (const PieceIn& piece : given) {
      const std::size_t tensor = piece.tensor == tensors_[0] ? 0 : 1;
      std::fill_n(contents_[tensor].begin() + static_cast<std::ptrdiff_t>(piece.offset), piece.size,
                  static_cast<std::byte>(round));
    }
    copies.in(given);
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      std::vector<std::byte> found(kTensorBytes);
      ggml_backend_tensor_get(tensors_[t], found.data(), 0, found.size());
      ASSERT_TRUE(found == contents_[t]) << "round " << round << ", tensor " << t;
    }
  }
}

TEST_P(Copies, WorkIsDoneOnceForEachIndex) {
  LlamaCopies copies(GetParam());
  for (const std::size_t count : {0, 1, 2, 3, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    copies.each(tensors_[0], count, [&](std::size_t i) { ++calls[i]; });
    for (const auto& each : calls) EXPECT_EQ(each, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Copies,
                         testing::Values(LlamaCopies::Threads::kWhereTheyHelp,
                                         LlamaCopies::Threads::kAlways));

}  // namespace
}  // namespace holdfast::llama
