#include "cli/verify_exact.h"

#include <chrono>
#include <fstream>
#include <iostream>

#include "cli/chat_json.h"
#include "cli/exact_run.h"
#include "cli/exact_view.h"
#include "cli/text_parts.h"
#include "env/escaped_text.h"
#include "env/log.h"

namespace holdfast::cli {
namespace {

constexpr int kExitUnknown = 2;

int complain(const std::string& sentence) {
  std::cerr << "holdfast verify-exact: " << env::escaped_lines(sentence) << "\n";
  return kExitUnknown;
}

std::string what_of(const VerifyExactOptions& options, std::size_t lines) {
  const std::string seed = " of seed " + std::to_string(options.seed);
  if (options.needles) return "the ladder of needles" + seed;
  if (!options.conversations.empty())
    return with_commas(static_cast<std::int64_t>(lines)) + " requests of " + options.conversations;
  return with_commas(options.random) + " made-up requests" + seed;
}

// The third arm is left out where the server cannot be restarted.
void climb(ExactRun& run, const VerifyExactOptions& options, TokenPos context) {
  const TokenPos longest = std::min<TokenPos>(options.needle_tokens, context * 6 / 10);
  const auto ladder = needle_ladder(options.seed, longest);
  run.frozen(ladder, "cold arm");
  if (run.complete()) run.frozen(ladder, "warm arm");
  if (options.restarts == 0 || !run.complete()) return;
  run.restart();
  if (run.complete()) run.frozen(ladder, "restart arm");
}

Result<void> write_json(const std::string& path, const nlohmann::json& json) {
  const std::string text = dump_json(json, 2) + "\n";
  if (path == "-") {
    std::cout << text;
    return {};
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file.fail()) return Error{ErrorCode::kIo, "cannot write " + path, "--json"};
  return {};
}

int report(const VerifyExactOptions& options, const ExactBook& book, const ExactRunFacts& facts) {
  const ExactTotals totals = book.totals();
  if (options.json != "-") std::cout << exact_text(totals, facts);
  if (!options.json.empty()) {
    if (auto written = write_json(options.json, exact_json(totals, facts)); !written)
      return complain(written.error().message);
  }
  return exact_exit_code(totals, facts);
}

int verify(const VerifyExactOptions& options, const std::vector<FrozenRequest>& recorded,
           const std::string& folder) {
  auto servers = ServerPair::open({.running = options.server,
                                   .cold = options.cold,
                                   .key = options.key,
                                   .serve_options = options.serve_options,
                                   .restart_command = options.restart_command},
                                  folder);
  if (!servers) return complain(servers.error().message);
  ExactRunFacts facts{.what = what_of(options, recorded.size()),
                      .seed = options.seed,
                      .clients = options.clients,
                      .pause_s = options.pause_s,
                      .control = options.control};
  env::Log::info(facts.what);
  ExactBook book;
  ExactDesk desk(**servers, options.cold_clients, options.control);
  ExactRun run(desk, book, {options.clients, options.pause_s, options.restarts});
  const auto began = std::chrono::steady_clock::now();
  if (options.needles) {
    climb(run, options, desk.context());
  } else if (!recorded.empty()) {
    run.frozen(recorded, "recorded");
  } else {
    run.talks(options.seed, options.random);
  }
  facts.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  facts.restarts = run.restarts();
  facts.complete = run.complete();
  const int code = report(options, book, facts);
  (*servers)->stop();
  return code;
}

}  // namespace

int verify_exact_main(std::span<const std::string> args, const Environment& env) {
  const auto options = parse_verify_exact_options(args, env);
  if (!options) return complain(options.error().message + " Try 'holdfast verify-exact --help'.");
  if (options->show_help) {
    std::cout << verify_exact_help();
    return 0;
  }
  std::vector<FrozenRequest> recorded;
  if (!options->conversations.empty()) {
    auto read = read_conversations(options->conversations);
    if (!read) return complain(read.error().message);
    recorded = std::move(*read);
  }
  const NotedSignals signals;  // what is started here is ended here
  const auto folder = TempFolder::make(env);
  if (!folder) return complain(folder.error().message);
  return verify(*options, recorded, folder->path());
}

}  // namespace holdfast::cli
