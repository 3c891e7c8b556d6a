// holdfast-bench-cost: what the cache itself costs, measured without a server.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cost_report.h"
#include "cost_state.h"
#include "cost_tree.h"

namespace {

using namespace holdfast::bench;

constexpr const char* kHelp =
    "holdfast-bench-cost WHAT [options]\n"
    "Prints a JSON object for each measurement on stdout and a table on stderr.\n"
    "Exits with 1 when a goal is missed.\n\n"
    "  tree      match + plan and eviction in a large tree; needs no model\n"
    "  prefill   what checkpoints add to reading a prompt; needs --model\n"
    "  second    time to first token of a prompt that is known; needs --model\n\n"
    "  --model FILE     a GGUF file, such as holdfast-genmodel writes\n"
    "  --tokens N       of the prompt (default: 8192; tree: 100000)\n"
    "  --rounds N       how often it is measured (default: 5)\n"
    "  --threads N      of the engine (default: one per core)\n"
    "  --thread-time    measure what one engine thread has run instead of what has passed,\n"
    "                   for machines that others use too\n"
    "  --grid N         tokens between cuts (default: 256)\n"
    "  --nodes N        of the tree (default: 100000)\n"
    "  --samples N      of the tree's measurements (default: 1000)\n"
    "  --seed N         another number, other prompts (default: 1)\n";

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "holdfast-bench-cost: %s\n--help lists what can be measured.\n",
               what.c_str());
  std::exit(2);
}

int number(const std::string& name, const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    fail(name + " needs a whole number, not '" + text + "'.");
  }
  return value;
}

struct Wish {
  std::string what;
  TreeSetting tree;
  StateSetting state;
};

Wish parse(const std::vector<std::string>& args) {
  Wish wish;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& name = args[i];
    if (name == "--help" || name == "-h") {
      std::printf("%s", kHelp);
      std::exit(0);
    }
    if (name == "--thread-time") {
      wish.state.thread_time = true;
      continue;
    }
    if (!name.starts_with("--")) {
      wish.what = name;
      continue;
    }
    if (i + 1 == args.size()) fail(name + " needs a value.");
    const std::string& value = args[++i];
    if (name == "--model") {
      wish.state.model = value;
    } else if (name == "--tokens") {
      wish.state.tokens = wish.tree.prompt_tokens = number(name, value);
    } else if (name == "--rounds") {
      wish.state.rounds = number(name, value);
    } else if (name == "--threads") {
      wish.state.threads = number(name, value);
    } else if (name == "--grid") {
      wish.state.grid_step = number(name, value);
    } else if (name == "--nodes") {
      wish.tree.nodes = static_cast<std::size_t>(number(name, value));
    } else if (name == "--samples") {
      wish.tree.samples = number(name, value);
    } else if (name == "--seed") {
      wish.state.seed = wish.tree.seed = static_cast<unsigned>(number(name, value));
    } else {
      fail("there is no option " + name + ".");
    }
  }
  return wish;
}

}  // namespace

int main(int argc, char** argv) {
  const Wish wish = parse({argv + 1, argv + argc});
  Report report;
  if (wish.what == "tree") {
    measure_tree(wish.tree, report);
  } else if (wish.what == "prefill" || wish.what == "second") {
    if (wish.state.model.empty()) fail(wish.what + " needs --model FILE.");
    const auto measure = wish.what == "prefill" ? measure_prefill : measure_second_query;
    if (const auto done = measure(wish.state, report); !done.ok()) fail(done.error().message);
  } else {
    fail(wish.what.empty() ? "say what to measure." : "'" + wish.what + "' cannot be measured.");
  }
  report.print_table();
  return report.goals_met() ? 0 : 1;
}
