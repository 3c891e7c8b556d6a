// StretchPool: memory for stretches of tokens, in huge pages.
//
// A match reads every token of a path, from memory that nobody has touched for a
// while: a hundred small pages for 100,000 tokens, and a search through cold page
// tables for each of them. In huge pages that search falls away, which is a fifth of
// the time of a match (docs/costs.md).
//
// All stretches of the pool have one size, so a piece that was given back serves
// whoever comes next, and a slab of which nothing is used goes back as a whole. Where
// the system has no huge pages to give, all is the same but for the time.
//
// Invariants:
//   a piece is taken once; slabs are in the order of their addresses; no slab is
//   empty but the one that is taken from
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <vector>

#include "base/check.h"
#include "state/state_bytes.h"
#include "state/tokens.h"

namespace holdfast::tree {

class StretchPool {
 public:
  static constexpr std::uint32_t kTokens = 4096;  // 16 KiB: few stretches, little waste

  StretchPool() = default;
  ~StretchPool() { CHECK(taken_ == 0); }
  StretchPool(const StretchPool&) = delete;
  StretchPool& operator=(const StretchPool&) = delete;

  // Room for kTokens tokens.
  [[nodiscard]] Token* take() {
    if (current_ == nullptr || current_->taken.all()) current_ = &slab_with_room();
    std::size_t piece = 0;
    while (current_->taken[piece]) ++piece;
    current_->taken.set(piece);
    ++taken_;
    return current_->memory.data() + piece * kTokens;
  }

  void give_back(Token* piece_begin) {
    const auto slab = std::prev(slabs_.upper_bound(piece_begin));
    const auto piece = static_cast<std::size_t>(piece_begin - slab->first) / kTokens;
    CHECK(slab->second.taken[piece]);
    slab->second.taken.reset(piece);
    --taken_;
    if (slab->second.taken.none() && &slab->second != current_) slabs_.erase(slab);
  }

  [[nodiscard]] std::size_t slab_count() const { return slabs_.size(); }

 private:
  static constexpr std::size_t kPieces = (2 << 20) / (kTokens * sizeof(Token));  // of a huge page
  struct Slab {
    std::bitset<kPieces> taken;
    std::vector<Token, BulkAllocator<Token>> memory =
        std::vector<Token, BulkAllocator<Token>>(kPieces * kTokens);
  };

  Slab& slab_with_room() {
    for (auto& [begin, slab] : slabs_) {
      if (!slab.taken.all()) return slab;
    }
    Slab made;
    const Token* const begin = made.memory.data();
    return slabs_.emplace(begin, std::move(made)).first->second;
  }

  std::map<const Token*, Slab> slabs_;  // by where they begin
  Slab* current_ = nullptr;             // taken from until it is full
  std::size_t taken_ = 0;
};

}  // namespace holdfast::tree
