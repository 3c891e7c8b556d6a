// Random operations against a brute-force oracle.
//
//   HOLDFAST_MODEL_SEED=n    only this run; failures inside a CHECK shrink too
//   HOLDFAST_MODEL_RUNS=n    more runs than usual
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tree/testing/shrink.h"
#include "tree/testing/tree_world.h"

namespace holdfast::tree {
namespace {

struct Scenario {
  std::uint32_t seed = 0;
  StateNeeds needs;
  TokenPos tail_max = 0;
  std::vector<SeededOp> ops;
};

Scenario make_scenario(std::uint32_t seed) {
  constexpr StateNeeds kKinds[] = {{.blocks = true, .snapshot = true},    // hybrid
                                   {.blocks = true, .snapshot = false},   // attention
                                   {.blocks = false, .snapshot = true}};  // recurrent
  std::mt19937 random(seed);
  Scenario run{.seed = seed, .needs = kKinds[random() % 3], .tail_max = 6, .ops = {}};
  if (random() % 5 == 0) run.tail_max = 90;  // beyond one block
  run.ops.resize(10 + random() % 50);
  for (SeededOp& op : run.ops) {
    op = {.kind = static_cast<int>(random() % TreeWorld::kKinds),
          .seed = static_cast<std::uint32_t>(random())};
  }
  return run;
}

// What went wrong, and what was done until then; empty if all is well.
std::string play(const Scenario& run, const std::vector<SeededOp>& ops) {
  TreeWorld world(run.needs, run.tail_max);
  for (const SeededOp& op : ops) {
    const std::string failure = world.apply(op);
    if (!failure.empty()) return world.log() + "=> " + failure;
  }
  return {};
}

// In a process of its own, so that a failed CHECK is a failure and not the end.
bool fails_apart(const Scenario& run, const std::vector<SeededOp>& ops) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(2);
    _exit(play(run, ops).empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0;
}

std::string shrunk(const Scenario& run) {
  const auto small =
      shrink(run.ops, [&](const std::vector<SeededOp>& ops) { return fails_apart(run, ops); });
  std::string text = "shrunk to " + std::to_string(small.size()) + " operations";
  for (const SeededOp& op : small) {
    text += " {" + std::to_string(op.kind) + ", " + std::to_string(op.seed) + "}";
  }
  std::fprintf(stderr, "%s\n", text.c_str());
  return text + "\n" + play(run, small);
}

std::uint32_t from_environment(const char* name, std::uint32_t otherwise) {
  const char* value = std::getenv(name);
  return value ? static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10)) : otherwise;
}

std::uint32_t playing_seed = 0;
void say_seed(int) {
  std::fprintf(stderr, "in model run %u; HOLDFAST_MODEL_SEED=%u shrinks it\n", playing_seed,
               playing_seed);
}

TEST(TokenTreeModel, AgreesWithTheOracle) {
  if (std::getenv("HOLDFAST_MODEL_SEED")) {
    const Scenario run = make_scenario(from_environment("HOLDFAST_MODEL_SEED", 0));
    if (fails_apart(run, run.ops)) FAIL() << shrunk(run);
    return;
  }
  const std::uint32_t first = 20260801;
  const std::uint32_t runs = from_environment("HOLDFAST_MODEL_RUNS", 2000);
  const auto before = std::signal(SIGABRT, say_seed);
  for (std::uint32_t seed = first; seed < first + runs; ++seed) {
    playing_seed = seed;
    const Scenario run = make_scenario(seed);
    if (!play(run, run.ops).empty()) FAIL() << "seed " << seed << ", " << shrunk(run);
  }
  std::signal(SIGABRT, before);
}

// The shrinker finds the two operations that matter among a hundred.
TEST(Shrink, LeavesOutWhatDoesNotMatter) {
  std::mt19937 random(7);
  std::vector<SeededOp> ops(100);
  for (SeededOp& op : ops) op = {.kind = static_cast<int>(random() % 5), .seed = 100};
  ops[20] = {.kind = 8, .seed = 500};
  ops[70] = {.kind = 9, .seed = 500};
  const auto small = shrink(ops, [](const std::vector<SeededOp>& list) {
    const auto eight = std::ranges::find(list, 8, &SeededOp::kind);
    return std::ranges::find(eight, list.end(), 9, &SeededOp::kind) != list.end();
  });
  EXPECT_EQ(small, (std::vector<SeededOp>{{8, 0}, {9, 0}}));
}

}  // namespace
}  // namespace holdfast::tree
