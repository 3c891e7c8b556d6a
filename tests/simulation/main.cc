// simulation [--seed=N] [--seeds=COUNT] [--first=N]
//
// Runs one seed, or many; prints what happened in all of them. A seed that fails is printed with
// the broken promise, and `simulation --seed=N` shows the same again. Every hundredth seed is run
// twice and must do the same.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <string_view>

#include "simulation.h"

namespace {

using holdfast::simulation::Counts;
using holdfast::simulation::Simulation;

std::uint64_t g_seed = 0;

// A CHECK has failed, or worse.
void on_signal(int) {
  std::fprintf(stderr, "SEED %llu FAILED: the program was stopped; again: --seed=%llu\n",
               static_cast<unsigned long long>(g_seed), static_cast<unsigned long long>(g_seed));
  std::_Exit(1);
}

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t seeds = 1000;
  bool told = false;  // print what happens
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    const auto number = [&](std::string_view flag) {
      return text.starts_with(flag) ? std::strtoull(argv[i] + flag.size(), nullptr, 10) : 0;
    };
    if (text.starts_with("--seed=")) arguments = {number("--seed="), 1, true};
    if (text.starts_with("--seeds=")) arguments.seeds = number("--seeds=");
    if (text.starts_with("--first=")) arguments.first = number("--first=");
  }
  return arguments;
}

// True: every promise was kept.
bool run_seed(std::uint64_t seed, bool told, Counts& sums) {
  g_seed = seed;
  Simulation simulation(seed);
  if (told) simulation.tell();
  try {
    simulation.run();
    if (seed % 100 == 0) {
      Simulation again(seed);
      again.run();
      if (again.counts().sums() != simulation.counts().sums()) {
        throw std::runtime_error("it did something else the second time");
      }
    }
  } catch (const std::exception& trouble) {
    std::printf("SEED %llu FAILED at step %llu: %s (%s); again: --seed=%llu\n",
                static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(simulation.steps()), trouble.what(),
                simulation.setting().c_str(), static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    return false;
  }
  sums.add(simulation.counts());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) std::signal(number, on_signal);
  Counts sums;
  std::uint64_t failed = 0;
  const std::clock_t began = std::clock();
  for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
    if (!run_seed(arguments.first + i, arguments.told, sums)) ++failed;
  }
  const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  std::printf("seeds %llu to %llu: %llu failed, %.1f s of one core\n",
              static_cast<unsigned long long>(arguments.first),
              static_cast<unsigned long long>(arguments.first + arguments.seeds - 1),
              static_cast<unsigned long long>(failed), seconds);
  for (const auto& [what, sum] : sums.sums()) {
    std::printf("  %-48s %llu\n", what.c_str(), static_cast<unsigned long long>(sum));
  }
  return failed == 0 ? 0 : 1;
}
