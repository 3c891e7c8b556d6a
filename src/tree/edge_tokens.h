// EdgeTokens: the tokens of one edge, in memory that it shares with its neighbours.
//
//   stretch   [ s s s s s s u u u u a a a . . . . . )
//   edges       ----A------ ---B--- --C--   free
//
// A prompt is read checkpoint by checkpoint, so the edges of its path are made one
// after the other. Each is laid behind the one above it as long as there is room.
// A match then reads a few long stretches where it would jump between hundreds of
// small pieces of memory, and waits for each of them.
//
// Edges of one stretch never overlap. Splitting an edge, and joining two that lie
// behind each other, moves nothing. A stretch lives until its last edge goes; what
// lies at its end gives its room back.
//
// Cost: 4 bytes a token, and the free end of stretches: they grow with the path,
// from kStretchMin to kStretchMax tokens. Those of the largest size, which hold nearly
// all of a long path, come from a pool in huge pages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "state/tokens.h"
#include "tree/stretch_pool.h"

namespace holdfast::tree {

class EdgeTokens {
 public:
  static constexpr std::uint32_t kStretchMin = 64;
  static constexpr std::uint32_t kStretchMax = StretchPool::kTokens;

  EdgeTokens() = default;
  ~EdgeTokens() { release(); }
  EdgeTokens(EdgeTokens&& other) noexcept { swap(other); }
  EdgeTokens& operator=(EdgeTokens&& other) noexcept {
    EdgeTokens(std::move(other)).swap(*this);
    return *this;
  }
  EdgeTokens(const EdgeTokens&) = delete;
  EdgeTokens& operator=(const EdgeTokens&) = delete;

  // A copy of `tokens` behind those of `above`, or in a new stretch. The pool outlives
  // the edge.
  [[nodiscard]] static EdgeTokens below(const EdgeTokens& above, TokenSpan tokens,
                                        StretchPool& pool) {
    const auto count = static_cast<std::uint32_t>(tokens.size());
    EdgeTokens edge;
    if (above.room() >= count) {
      edge.lay_in(*above.stretch_, tokens);
      return edge;
    }
    const std::uint32_t grown = above.stretch_ ? 2 * above.stretch_->capacity : kStretchMin;
    edge.lay_in(*new Stretch(pool, std::max(count, std::min(grown, kStretchMax))), tokens);
    return edge;
  }

  operator TokenSpan() const { return {data_, size_}; }  // NOLINT: it is a span with an owner
  [[nodiscard]] const Token* begin() const { return data_; }
  [[nodiscard]] const Token* end() const { return data_ + size_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Token front() const { return *data_; }

  // REQUIRES: 0 < count < size().
  [[nodiscard]] EdgeTokens take_head(std::size_t count) {
    CHECK(0 < count && count < size_);
    EdgeTokens head;
    head.stretch_ = stretch_;
    ++stretch_->edges;
    head.data_ = std::exchange(data_, data_ + count);
    head.size_ = static_cast<std::uint32_t>(count);
    size_ -= head.size_;
    return head;
  }

  // `tail` becomes part of this edge. REQUIRES: not empty().
  void append(EdgeTokens tail) {
    CHECK(!empty());
    if (tail.stretch_ == stretch_ && tail.data_ == end()) {
      size_ += std::exchange(tail.size_, 0);
      return;
    }
    if (room() < tail.size_) move_to_larger(size_ + tail.size_);
    std::ranges::copy(tail, stretch_->take(tail.size_));
    size_ += tail.size_;
  }

 private:
  struct Stretch {
    Stretch(StretchPool& its_pool, std::uint32_t tokens_max)
        : pool(its_pool),
          capacity(tokens_max),
          tokens(tokens_max == kStretchMax ? pool.take() : new Token[tokens_max]) {}
    ~Stretch() {
      if (capacity == kStretchMax) {
        pool.give_back(tokens);
      } else {
        delete[] tokens;
      }
    }
    Stretch(const Stretch&) = delete;
    Stretch& operator=(const Stretch&) = delete;

    Token* take(std::uint32_t count) { return tokens + std::exchange(used, used + count); }

    StretchPool& pool;
    std::uint32_t edges = 0;
    std::uint32_t used = 0;
    const std::uint32_t capacity;
    Token* const tokens;
  };

  // How many tokens could follow without a gap.
  [[nodiscard]] std::uint32_t room() const {
    return at_end_of_stretch() ? stretch_->capacity - stretch_->used : 0;
  }
  [[nodiscard]] bool at_end_of_stretch() const {
    return stretch_ && end() == stretch_->tokens + stretch_->used;
  }

  void lay_in(Stretch& stretch, TokenSpan tokens) {
    stretch_ = &stretch;
    ++stretch.edges;
    size_ = static_cast<std::uint32_t>(tokens.size());
    Token* const copy = stretch.take(size_);
    std::ranges::copy(tokens, copy);
    data_ = copy;
  }

  // Grows by an eighth more than needed: appending stays cheap on average.
  void move_to_larger(std::uint32_t count) {
    EdgeTokens moved;
    moved.lay_in(*new Stretch(stretch_->pool, count + count / 8), *this);
    swap(moved);
  }

  void release() {
    if (!stretch_) return;
    if (at_end_of_stretch()) stretch_->used -= size_;
    if (--stretch_->edges == 0) delete stretch_;
  }

  void swap(EdgeTokens& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(stretch_, other.stretch_);
  }

  const Token* data_ = nullptr;
  Stretch* stretch_ = nullptr;
  std::uint32_t size_ = 0;
};

}  // namespace holdfast::tree
