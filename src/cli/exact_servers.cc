#include "cli/exact_servers.h"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "cli/chat_json.h"
#include "cli/chat_view.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;
using State = ServerAnswer::State;

constexpr std::chrono::milliseconds kAskAgain{100};
constexpr std::chrono::seconds kStopPatience{60};
constexpr std::chrono::minutes kRestartPatience{10};

Error interrupted() { return {ErrorCode::kCancelled, "interrupted", ""}; }

Error refused(const std::string& name, int status, const std::string& body) {
  const std::string said = text_at(child_of(lenient_json(body), "error"), "message");
  return {status == 503 ? ErrorCode::kUnavailable : ErrorCode::kInvalidArgument,
          name + " answered " + std::to_string(status) + (said.empty() ? "" : ": " + said), ""};
}

}  // namespace

Result<std::unique_ptr<ServerPair>> ServerPair::open(ServerPairOptions options,
                                                     const std::string& folder) {
  std::unique_ptr<ServerPair> pair(new ServerPair(std::move(options), folder));
  pair->running_.name = "the running server";
  pair->cold_.name = "the cold server";
  const bool found = !pair->options_.running.empty();
  if (auto ready = found ? pair->find() : pair->start_both(); !ready) return ready.error();
  for (const Place* place : {&pair->running_, &pair->cold_}) {
    const auto context = pair->wait_for(*place);
    if (!context) return context.error();
    pair->context_ = pair->context_ == 0 ? *context : std::min(pair->context_, *context);
  }
  return pair;
}

// --- finding and starting ---------------------------------------------------------

Result<void> ServerPair::find() {
  for (const auto& [place, url] :
       {std::pair(&running_, options_.running), std::pair(&cold_, options_.cold)}) {
    auto base = base_url(url);
    if (!base) return base.error();
    place->url = *base;
    if (ask_server(place->url, options_.key).state == State::kNobody)
      return Error{ErrorCode::kUnavailable, "No server answers at " + place->url + ".", ""};
  }
  return {};
}

// Where an option is named twice, the later one counts.
Result<void> ServerPair::start_both() {
  const auto prepare = [&](Place& place, const std::string& name, std::vector<std::string> more) {
    const std::string port = std::to_string(free_port());
    place.url = "http://127.0.0.1:" + port;
    place.log = folder_ + "/" + name + ".log";
    place.arguments = {"serve"};
    place.arguments.insert(place.arguments.end(), options_.serve_options.begin(),
                           options_.serve_options.end());
    more.insert(more.end(), {"--host", "127.0.0.1", "--port", port});
    place.arguments.insert(place.arguments.end(), more.begin(), more.end());
    return start(place);
  };
  if (auto started = prepare(running_, "running", {"--cache-dir", folder_ + "/states"}); !started)
    return started;
  return prepare(cold_, "cold", {"--cache-dir", "off", "--cache-ram", "0", "--prewarm", "off"});
}

Result<void> ServerPair::start(Place& place) const {
  const auto program = own_program();
  if (!program) return program.error();
  auto child =
      BackgroundChild::start({.program = *program, .arguments = place.arguments}, place.log);
  if (!child) return child.error();
  place.child = std::make_unique<BackgroundChild>(std::move(*child));
  return {};
}

Result<TokenPos> ServerPair::wait_for(const Place& place) const {
  const auto until = std::chrono::steady_clock::now() + kRestartPatience;
  for (;;) {
    if (NotedSignals::any()) return interrupted();
    if (place.child && !place.child->running())
      return Error{ErrorCode::kEngine, place.name + " has ended:\n" + last_lines(place.log), ""};
    const ServerAnswer answer = ask_server(place.url, options_.key);
    if (answer.state == State::kReady) return answer.facts.context;
    if (answer.state == State::kOther) return Error{ErrorCode::kUnavailable, answer.said, ""};
    if (std::chrono::steady_clock::now() > until)
      return Error{ErrorCode::kTimeout, place.name + " at " + place.url + " is not ready", ""};
    std::this_thread::sleep_for(kAskAgain);
  }
}

// --- asking -----------------------------------------------------------------------

Result<std::string> ServerPair::ask(Side side, const Json& request,
                                    const std::function<bool()>& stop) const {
  const Place& place = side == Side::kRunning ? running_ : cold_;
  const auto url = parse_url(place.url);
  if (!url) return url.error();
  ClientRequest sent{.method = "POST",
                     .target = "/v1/chat/completions",
                     .headers = {{"Content-Type", "application/json"}},
                     .body = dump_json(request)};
  if (!options_.key.empty()) sent.headers.emplace_back("Authorization", "Bearer " + options_.key);
  std::string body;
  const auto answer = HttpClient(*url, {.stop = stop}).fetch(sent, [&](std::string_view piece) {
    body.append(piece);
  });
  if (!answer) return Error{answer.error().code, place.name + ": " + answer.error().message, ""};
  if (answer->status / 100 != 2) return refused(place.name, answer->status, answer->body);
  return body;
}

// --- restarting and ending --------------------------------------------------------

bool ServerPair::can_restart() const {
  return running_.child != nullptr || !options_.restart_command.empty();
}

Result<void> ServerPair::restart() {
  if (running_.child) {
    running_.child->stop(kStopPatience);
    if (auto started = start(running_); !started) return started;
  } else {
    const int status = std::system(options_.restart_command.c_str());
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      return Error{ErrorCode::kIo, "the command that restarts the server failed", ""};
  }
  if (auto ready = wait_for(running_); !ready) return ready.error();
  return {};
}

void ServerPair::stop() {
  for (Place* place : {&running_, &cold_}) {
    if (place->child) place->child->stop(kStopPatience);
  }
}

}  // namespace holdfast::cli
