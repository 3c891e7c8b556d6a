// `holdfast doctor`: what a maintainer would ask for in a bug report, on one page.
//
//   holdfast doctor           this machine, with the pocket model
//   holdfast doctor -m FILE   the same with a model, and with the options that will serve it
//
// It takes every option of `holdfast serve`, so that what is checked is what will serve. What the
// check finds is remembered: the next start of the server need not check again.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command_syntax.h"
#include "cli/options.h"
#include "engine/conformance.h"
#include "engine/engine_standing.h"
#include "engine/llama/llama_backends.h"
#include "state/parts.h"

namespace holdfast::cli {

struct MachineFacts {
  std::string system;     // "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"
  std::string processor;  // its name
  unsigned cores = 0;
  std::string usable_cores;  // "2 of 16 CPUs (quota 2)"
  ByteCount memory = 0;
  ByteCount memory_free = 0;
};

struct DiskFacts {
  std::string folder;       // the cache folder; empty: there is to be none
  ByteCount free = 0;       // on its volume
  double write_mb_s = 0.0;  // 0: was not measured
  double read_mb_s = 0.0;
  std::string trouble;  // empty: none
};

struct ModelFacts {
  std::string path;
  std::string name;
  std::string architecture;
  std::string type;
  std::uint64_t parameters = 0;
  ByteCount size = 0;
  std::string digest;
  int slots = 0;
  TokenPos context = 0;
  TokenPos trained = 0;
  StateShape shape;
  ByteCount slot_bytes = 0;  // of all slots, full
  ByteCount free_after = 0;  // memory, with all of it loaded
  bool on_gpu = false;
  std::string companion;  // what drafts; empty: nothing
  double load_seconds = 0.0;
};

// What of the cache folder this engine can use.
struct UsableStates {
  ByteCount usable = 0;
  ByteCount all = 0;
  std::vector<std::string> others;  // a line for each kind of the rest
};

struct DoctorReport {
  std::string program;  // "holdfast 0.2.0 (0d818f7a41c2)"
  std::string engine;   // the library, with the processor features that it uses
  std::string engine_folder;
  MachineFacts machine;
  std::vector<llama::CpuVariant> variants;
  std::string variant;  // in use
  std::vector<llama::EngineDevice> devices;
  DiskFacts disk;
  std::optional<ModelFacts> model;
  std::optional<engine::EngineStanding> standing;
  engine::ConformanceReport check;
  std::optional<UsableStates> states;
  // What is wrong, and what to do about it; empty: nothing.
  std::vector<std::string> problems;
};

[[nodiscard]] std::string doctor_text(const DoctorReport& report);
[[nodiscard]] std::string doctor_json(const DoctorReport& report);

// What it has besides the options of `holdfast serve`.
struct DoctorFlags {
  bool json = false;
  bool show_help = false;
};
[[nodiscard]] CommandSyntax doctor_syntax(DoctorFlags& flags);
[[nodiscard]] std::string doctor_help(int width = 80);

// `args` are those after `holdfast doctor`. Returns the exit code: 1 where there are problems.
[[nodiscard]] int doctor_main(std::vector<std::string> args, const Environment& env);

}  // namespace holdfast::cli
