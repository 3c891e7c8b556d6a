// `holdfast verify-exact`: are answers that reuse what was computed those of a cold server?
//
//   holdfast verify-exact -m my.gguf            starts two servers, and compares them
//   holdfast verify-exact --server A --cold B   compares two that run
//
// It needs no knowledge of how exact the servers mean to be. It asks both the same, the running
// one as part of talks and the cold one without reuse, and compares what the receipts say of the
// prompts (prompt_hash), the tokens' logprobs and the texts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_syntax.h"
#include "cli/options.h"
#include "state/tokens.h"

namespace holdfast::cli {

struct VerifyExactOptions {
  std::string server;  // addresses; empty: both servers are started
  std::string cold;
  std::string key;
  std::string conversations;  // a file
  int random = 0;             // how many requests; 0: not asked for
  bool needles = false;
  TokenPos needle_tokens = 8192;
  std::uint64_t seed = 1;
  int clients = 1;
  int cold_clients = 0;  // 0: one, or as many as clients in a control
  double pause_s = 0.0;
  int restarts = -1;  // -1: one, where the server can be restarted
  std::string restart_command;
  bool control = false;
  std::string json;  // a file
  bool show_help = false;
  std::vector<std::string> serve_options = {};  // of the servers that are started
};

[[nodiscard]] Result<VerifyExactOptions> parse_verify_exact_options(
    std::span<const std::string> args, const Environment& env);
[[nodiscard]] CommandSyntax verify_exact_syntax(VerifyExactOptions& o);
[[nodiscard]] std::string verify_exact_help(int width = 80);

// Exit code: 0 no prompt differs, 1 some do, 2 it could not be found out.
[[nodiscard]] int verify_exact_main(std::span<const std::string> args, const Environment& env);

}  // namespace holdfast::cli
