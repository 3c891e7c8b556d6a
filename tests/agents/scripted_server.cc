// scripted_server serve --script FILE [options of `holdfast serve`]
//
// The program's own server, with everything of it from HTTP to the cache folder, around a model
// that says what a script tells it (script.h): for tests that need a model to call tools, or to be
// slow, when told. Vocabulary and template are the pocket model's.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "api/api_server.h"
#include "cli/options.h"
#include "cli/served_model.h"
#include "cli/server_settings.h"
#include "cli/stop_signals.h"
#include "env/log.h"
#include "scripted_engine.h"

namespace holdfast {
namespace {

int complain(const std::string& why) {
  std::fprintf(stderr, "scripted_server: %s\n", why.c_str());
  return cli::kExitUsage;
}

// Takes `--script FILE` out of the arguments; empty if it is not there.
std::string take_script(std::vector<std::string>& args) {
  const auto name = std::ranges::find(args, "--script");
  if (name == args.end() || name + 1 == args.end()) return "";
  std::string path = *(name + 1);
  args.erase(name, name + 2);
  return path;
}

engine::FakeOptions fake_like(const engine::Engine& real) {
  engine::FakeOptions fake;
  fake.kind = engine::FakeKind::kHybrid;
  fake.slots = real.slot_count();
  fake.context_tokens = real.context_tokens();
  fake.chunk_tokens_max = real.chunk_tokens_max();
  fake.decode_tokens_max = 1;
  return fake;
}

Result<cli::CheckedModel> scripted_model(const cli::ServeOptions& options, Script script) {
  auto checked =
      cli::load_checked_model(options, cli::CheckExtent::kOff, cli::CheckMemory(options.reuse.dir),
                              [](float) { return true; });
  if (!checked) return checked;
  auto scripted = std::make_unique<ScriptedEngine>(fake_like(*checked->model.engine),
                                                   *checked->model.text, std::move(script));
  checked->model.companion.reset();
  checked->model.engine = std::move(scripted);
  return checked;
}

int serve(const cli::ServeOptions& options, Script script) {
  cli::take_over_signals();
  auto api = api::ApiServer::listen(cli::api_options(options));
  if (!api) return complain(api.error().message);
  (*api)->start();
  auto checked = scripted_model(options, std::move(script));
  if (!checked) return complain(checked.error().message);
  cli::ServedModel served(options, std::move(*checked), [] { cli::stop_by_itself(); });
  served.start(nullptr);
  (*api)->backend().set(served.backend(nullptr));
  env::Log::info("ready at http://127.0.0.1:" + std::to_string((*api)->port()));
  static_cast<void>(cli::wait_for_stop());
  (*api)->drain();
  served.stop([] { return false; });
  (*api)->stop();
  return 0;
}

int run(std::vector<std::string> args, const cli::Environment& env) {
  if (args.empty() || args.front() != "serve") return complain("the first word is 'serve'.");
  args.erase(args.begin());
  const std::string path = take_script(args);
  if (path.empty()) return complain("--script FILE is missing.");
  auto script = Script::read(path);
  if (!script) return complain(script.error().message);
  auto parsed = cli::parse_serve_options(args, env);
  if (!parsed) return complain(parsed.error().message);
  if (parsed->options.reuse.dir.empty()) parsed->options.reuse.dir = "off";
  parsed->options.compute.check_engine = cli::CheckEngine::kOff;  // what it computes is made up
  return serve(parsed->options, std::move(*script));
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv, char** envp) {
  return holdfast::run({argv + 1, argv + argc}, holdfast::cli::environment_of(envp));
}
