#include "engine/llama/late_copies.h"

#include <ggml-alloc.h>
#include <ggml-cpu.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "engine/llama/llama_backends.h"

namespace holdfast::llama {
namespace {

constexpr std::size_t kTensorBytes = 5 << 20;  // more than crosses the bus at a time
constexpr int kTensors = 3;
constexpr std::size_t kHead = 24;
constexpr std::size_t kSize = kTensorBytes / 3;
constexpr ByteCount kOneState = kTensors * (kHead + kSize);

// Tensors in the processor's own memory, which is used as a card's is. It has no events: what it
// computes is done when the call returns.
class LateCopiesOnAProcessor : public testing::Test {
 protected:
  void SetUp() override {
    std::printf("seed %u\n", kSeed);
    ASSERT_TRUE(use_cpu_variant("").ok());  // the prebuilt engine has its processors' code apart
    context_.reset(ggml_init({kTensors * ggml_tensor_overhead(), nullptr, /*no_alloc=*/true}));
    for (int i = 0; i < kTensors; ++i) {
      tensors_.push_back(ggml_new_tensor_1d(context_.get(), GGML_TYPE_I8, kTensorBytes));
    }
    buffer_.reset(
        ggml_backend_alloc_ctx_tensors_from_buft(context_.get(), ggml_backend_cpu_buffer_type()));
    backend_.reset(
        ggml_backend_dev_init(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), nullptr));
  }

  LateCopies copies(ByteCount limit) { return {{backend_.get()}, LateCopying::kAlways, limit}; }

  // New contents of all tensors.
  void write() {
    std::vector<std::uint32_t> words(kTensorBytes / sizeof(std::uint32_t));
    for (ggml_tensor* tensor : tensors_) {
      for (std::uint32_t& word : words) word = random_();
      ggml_backend_tensor_set(tensor, words.data(), 0, kTensorBytes);
    }
  }

  // The tensors' middle thirds, in the order of a state: one behind the other, with some bytes
  // between them that are written at once.
  struct Wanted {
    LatePart part;
    ArrivingBytesPtr bytes;
    StateBytes expected;
  };
  Wanted want() {
    Wanted wanted;
    const auto& bytes = wanted.part.bytes.emplace_back(std::make_shared<ArrivingBytes>(kOneState));
    wanted.bytes = bytes;
    std::byte* at = bytes->room().data();
    for (ggml_tensor* tensor : tensors_) {
      at = std::fill_n(at, kHead, std::byte{0x5A});
      wanted.expected.insert(wanted.expected.end(), kHead, std::byte{0x5A});
      wanted.part.pieces.push_back({tensor, kSize, kSize, at});
      const auto* const now = static_cast<const std::byte*>(tensor->data) + kSize;
      wanted.expected.insert(wanted.expected.end(), now, now + kSize);
      at += kSize;
    }
    return wanted;
  }
  // Where those tensors lie in such bytes.
  std::vector<PieceIn> pieces_in(std::span<const std::byte> bytes) const {
    std::vector<PieceIn> pieces;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      pieces.push_back({tensors_[i], kSize, kSize, bytes.data() + i * (kHead + kSize) + kHead});
    }
    return pieces;
  }

  static void expect_arrived(const Wanted& wanted) {
    EXPECT_TRUE(std::ranges::equal(wanted.bytes->bytes(), wanted.expected));
    EXPECT_EQ(wanted.bytes->checksum(), hash_bytes(wanted.expected));
  }

  static constexpr unsigned kSeed = 20261118;
  std::mt19937 random_{kSeed};
  struct FreeContext {
    void operator()(ggml_context* context) const { ggml_free(context); }
  };
  struct FreeBackend {
    void operator()(ggml_backend_t backend) const { ggml_backend_free(backend); }
  };
  std::unique_ptr<ggml_context, FreeContext> context_;
  std::unique_ptr<ggml_backend_buffer, DeviceRoom::FreeBuffer> buffer_;
  std::unique_ptr<ggml_backend, FreeBackend> backend_;
  std::vector<ggml_tensor*> tensors_;
};

TEST_F(LateCopiesOnAProcessor, WhatArrivesIsWhatWasThereAtTheBeginning) {
  LateCopies late = copies(2 * kOneState);
  std::vector<Wanted> all;
  for (int round = 0; round < 8; ++round) {
    write();
    Wanted snapshot = want();
    ASSERT_TRUE(late.can_take(snapshot.part.pieces));
    ASSERT_TRUE(late.begin_snapshot(std::move(snapshot.part)));
    all.push_back(std::move(snapshot));
    Wanted rows = want();
    rows.part.slot = SlotId{round % 2};
    rows.part.rows_end = 64;
    std::vector<LatePart> parts;
    parts.push_back(std::move(rows.part));
    late.begin_rows(std::move(parts));
    all.push_back(std::move(rows));
    late.settle(SlotId{round % 2}, 63);
    // The snapshot may still be on its way; its tensors are written now.
  }
  write();
  for (const Wanted& wanted : all) expect_arrived(wanted);
}

TEST_F(LateCopiesOnAProcessor, ASlotIsSettledWhereItsRowsAreCopied) {
  LateCopies late = copies(0);
  write();
  Wanted rows = want();
  rows.part.slot = SlotId{1};
  rows.part.rows_end = 64;
  std::vector<LatePart> parts;
  parts.push_back(std::move(rows.part));
  late.begin_rows(std::move(parts));
  late.settle(SlotId{1}, 64);  // behind them
  late.settle(SlotId{0}, 0);   // another slot
  late.settle(SlotId{1}, 63);
  EXPECT_TRUE(rows.bytes->here());
  expect_arrived(rows);
}

TEST_F(LateCopiesOnAProcessor, BerthsStayWithinTheirLimit) {
  LateCopies late = copies(2 * kOneState + 1);
  std::vector<Wanted> all;
  for (int round = 0; round < 12; ++round) {
    write();
    Wanted snapshot = want();
    ASSERT_TRUE(late.begin_snapshot(std::move(snapshot.part)));
    EXPECT_LE(late.room_on(ggml_backend_get_device(backend_.get())), 2 * kOneState);
    all.push_back(std::move(snapshot));
  }
  for (const Wanted& wanted : all) expect_arrived(wanted);
}

TEST_F(LateCopiesOnAProcessor, WhatFindsNoRoomIsNotBegun) {
  LateCopies late = copies(kOneState - 1);
  write();
  Wanted snapshot = want();
  EXPECT_FALSE(late.begin_snapshot(std::move(snapshot.part)));
  EXPECT_FALSE(snapshot.bytes->here());
}

TEST_F(LateCopiesOnAProcessor, NothingIsTakenThatTheBackendsDoNotComputeOn) {
  Wanted wanted = want();
  LateCopies other({}, LateCopying::kAlways, kOneState);
  EXPECT_FALSE(other.can_take(wanted.part.pieces));
  LateCopies never({backend_.get()}, LateCopying::kNever, kOneState);
  EXPECT_FALSE(never.can_take(wanted.part.pieces));
  // The processor reaches its memory itself.
  LateCopies where_it_helps({backend_.get()}, LateCopying::kWhereItHelps, kOneState);
  EXPECT_FALSE(where_it_helps.can_take(wanted.part.pieces));
}

TEST_F(LateCopiesOnAProcessor, EverythingArrivesBeforeTheEnd) {
  std::vector<Wanted> all;
  {
    LateCopies late = copies(8 * kOneState);
    write();
    for (int i = 0; i < 8; ++i) {
      Wanted& snapshot = all.emplace_back(want());
      ASSERT_TRUE(late.begin_snapshot(std::move(snapshot.part)));
    }
  }
  for (const Wanted& wanted : all) {
    EXPECT_TRUE(wanted.bytes->here());
    expect_arrived(wanted);
  }
}

TEST_F(LateCopiesOnAProcessor, WhatABerthHoldsComesBackFromThere) {
  LateCopies late = copies(2 * kOneState);
  std::vector<Wanted> all;
  for (int i = 0; i < 3; ++i) {
    write();
    Wanted& snapshot = all.emplace_back(want());
    ASSERT_TRUE(late.begin_snapshot(std::move(snapshot.part)));
  }
  late.settle_all();
  EXPECT_FALSE(late.holds(all[0].bytes->bytes()));  // its berth was used again
  for (const Wanted& snapshot : {all[1], all[2], all[1]}) {
    const auto bytes = snapshot.bytes->bytes();
    write();
    EXPECT_TRUE(late.holds(bytes));
    ASSERT_TRUE(late.bring_back(bytes, pieces_in(bytes)));
    EXPECT_TRUE(std::ranges::equal(want().expected, snapshot.expected));
  }
  // Bytes of the head come from memory, so they have to be intact there.
  const_cast<std::byte&>(all[1].bytes->bytes()[kHead / 2]) ^= std::byte{1};
  EXPECT_FALSE(late.holds(all[1].bytes->bytes()));
  EXPECT_TRUE(late.holds(all[2].bytes->bytes()));
}

// Nobody else holds the bytes, so their berth is free for the next.
TEST_F(LateCopiesOnAProcessor, WhatNobodyWantsIsLetGo) {
  LateCopies late = copies(kOneState);
  write();
  std::weak_ptr<ArrivingBytes> dropped;
  {
    Wanted unwanted = want();
    dropped = unwanted.part.bytes.front();
    unwanted.bytes.reset();
    ASSERT_TRUE(late.begin_snapshot(std::move(unwanted.part)));
  }
  late.settle_all();
  EXPECT_TRUE(dropped.expired());
  Wanted snapshot = want();
  ASSERT_TRUE(late.begin_snapshot(std::move(snapshot.part)));
  expect_arrived(snapshot);
}

}  // namespace
}  // namespace holdfast::llama
