// holdfast-policy: cache policies compared on traces of requests, without a model.
#include <cstdio>
#include <string>
#include <vector>

#include "cli/explain_view.h"
#include "cli/options.h"
#include "policy/comparison.h"

namespace holdfast::policy {

namespace {

constexpr int kExitFailed = 1;

int complain(const Error& error, int code) {
  std::fprintf(stderr, "holdfast-policy: %s\n", error.message.c_str());
  return code;
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int run(const std::vector<std::string>& args, const cli::Environment& env) {
  const auto options = parse_options(args);
  if (!options) return complain(options.error(), cli::kExitUsage);
  if (options->show_help) return print(help_text());
  const auto text = compare(*options, cli::explain_style(env).blocks, true);
  return text ? print(*text) : complain(text.error(), kExitFailed);
}

}  // namespace

}  // namespace holdfast::policy

int main(int argc, char** argv, char** envp) {
  return holdfast::policy::run({argv + 1, argv + argc}, holdfast::cli::environment_of(envp));
}
