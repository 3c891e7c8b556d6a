// StackOpener: what stacks become without reading anything. A rule on top of a stack gives way to
// its alternatives, until a set of characters or a token is on top, or nothing is left.
//
// It owns the stacks, and counts every move that is made with them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/stack_arena.h"

namespace holdfast::engine {

class StackOpener {
 public:
  using StackId = StackArena::Id;

  StackOpener(std::shared_ptr<const Grammar> grammar, std::size_t moves_max)
      : grammar_(std::move(grammar)), moves_max_(moves_max) {}

  // A new set of stacks, to be filled by the next two and taken by take().
  void begin() { ++number_; }
  // Adds what `stack` becomes.
  void open(StackId stack);
  // `stack` has read its top, and goes on at `after`.
  void pass(StackId stack, Grammar::Position after);
  // In order, each once. Not complete if over_budget().
  [[nodiscard]] std::vector<StackId> take();

  void spend(std::size_t moves) { moves_ += moves; }
  void count_from_zero() { moves_ = 0; }
  [[nodiscard]] std::size_t moves() const { return moves_; }
  [[nodiscard]] bool over_budget() const { return moves_ > moves_max_; }

  [[nodiscard]] const Grammar& grammar() const { return *grammar_; }
  [[nodiscard]] StackArena& arena() { return arena_; }
  [[nodiscard]] const StackArena& arena() const { return arena_; }
  // Forgets all stacks but these.
  void keep_only(std::vector<StackId>& stacks);

 private:
  void open_rule(StackId stack);

  std::shared_ptr<const Grammar> grammar_;
  StackArena arena_;
  std::size_t moves_max_;
  std::size_t moves_ = 0;
  std::vector<StackId> todo_;
  std::vector<StackId> found_;
  std::vector<std::uint32_t> seen_;  // by stack: the number of the set that has it
  std::uint32_t number_ = 0;
};

}  // namespace holdfast::engine
