// TemplateMeter: ends the work of a chat template that takes too long.
//
// The library's interpreter has no limits and no hook. All of its nodes are executed through one
// function, which is defined here a second time: the program's own definition goes before a shared
// library's, and counts before it calls the library's.
//
//   for_statement -> statement::execute (ours: count, or throw) -> statement::execute (theirs)
//
// The interpreter passes exceptions on at each step, but callers of it may swallow one. So once the
// limit is passed every further step throws, and the caller asks exceeded() in any case.
//
// Verified by template_meter_test.cc:
//   TMETER-1  every node that is executed while a meter lives on this thread is counted
//   TMETER-2  no node is executed beyond the limit of steps
#pragma once

#include <chrono>
#include <cstddef>

namespace holdfast::llama {

class TemplateMeter {
 public:
  struct Limits {
    std::size_t steps = 0;
    std::chrono::nanoseconds time{0};  // CPU time of this thread
  };

  // Counts the work of this thread while it lives. One at a time.
  explicit TemplateMeter(Limits limits);
  ~TemplateMeter();
  TemplateMeter(const TemplateMeter&) = delete;
  TemplateMeter& operator=(const TemplateMeter&) = delete;

  [[nodiscard]] std::size_t steps() const { return steps_; }
  [[nodiscard]] bool exceeded() const { return exceeded_; }

  // The interpreter is about to execute a node. Throws beyond the limits.
  static void count_step();

 private:
  void add_step();

  const Limits limits_;
  const std::chrono::nanoseconds begun_;
  std::size_t steps_ = 0;
  bool exceeded_ = false;
};

}  // namespace holdfast::llama
