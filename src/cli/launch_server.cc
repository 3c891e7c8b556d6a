#include "cli/launch_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/chat_json.h"
#include "cli/chat_view.h"
#include "cli/http_client.h"
#include "cli/text_parts.h"
#include "env/log.h"
#include "env/program_path.h"

namespace holdfast::cli {
namespace {

using State = ServerAnswer::State;

constexpr std::chrono::milliseconds kAskAgain{100};
constexpr std::chrono::milliseconds kLookAgain{20};
// A server that ends later than this is spoken of.
constexpr std::chrono::seconds kQuietStop{2};
constexpr std::size_t kLastLines = 5;

ServerAnswer other(std::string said) { return {.state = State::kOther, .said = std::move(said)}; }

}  // namespace

// --- parts of starting one ----------------------------------------------------------

std::string last_lines(const std::string& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(harmless(line));
  const auto from = lines.end() - std::min<std::ptrdiff_t>(kLastLines, std::ssize(lines));
  return join({from, lines.end()}, "\n");
}

std::uint16_t free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool known = bind(probe, any, size) == 0 && getsockname(probe, any, &size) == 0;
  close(probe);
  return known ? ntohs(address.sin_port) : 0;
}

Result<std::string> own_program() {
  std::string path = env::program_path();
  if (path.empty()) return Error{ErrorCode::kIo, "cannot find holdfast itself", ""};
  return path;
}

// --- asking -----------------------------------------------------------------------

ServerAnswer read_models_answer(int status, const std::string& body, const std::string& url,
                                const std::string& key) {
  const nlohmann::json json = lenient_json(body);
  if (status == 503 && !child_of(json, "progress").is_null())
    return {.state = State::kLoading, .progress = number_at(json, "progress")};
  if (status == 401 || status == 403)
    return other("The server at " + url + " asks for a key: pass it with --api-key.");
  const nlohmann::json& data = child_of(json, "data");
  const bool list = status == 200 && data.is_array() && !data.empty();
  const nlohmann::json first = list ? data.front() : nlohmann::json();
  const auto context = static_cast<TokenPos>(number_at(child_of(first, "meta"), "n_ctx"));
  const std::string model = text_at(first, "id");
  if (model.empty() || context <= 0)
    return other("What answers at " + url +
                 " does not say which model it serves with which context; is it Holdfast? Another "
                 "--port starts a server of its own.");
  return {.state = State::kReady,
          .facts = {.url = url, .model = model, .context = context, .key = key}};
}

ServerAnswer ask_server(const std::string& url, const std::string& key) {
  const auto parsed = parse_url(url);
  if (!parsed) return other(parsed.error().message);
  ClientRequest request{.target = "/v1/models"};
  if (!key.empty()) request.headers.emplace_back("Authorization", "Bearer " + key);
  std::string body;
  const auto answer =
      HttpClient(*parsed, {.stop = &NotedSignals::any}).fetch(request, [&](std::string_view piece) {
        body.append(piece);
      });
  if (!answer && answer.error().code == ErrorCode::kUnavailable) return {};
  if (!answer)
    return {.state = State::kBrokenOff,
            .said = "The server at " + url + ": " + answer.error().message};
  return read_models_answer(answer->status, body.empty() ? answer->body : body, url, key);
}

Result<std::string> base_url(std::string text) {
  const auto cut_slashes = [&] {
    while (text.ends_with('/')) text.pop_back();
  };
  cut_slashes();
  if (text.ends_with("/v1")) text.resize(text.size() - 3);
  cut_slashes();
  const auto parsed = parse_url(text);
  if (!parsed) return parsed.error();
  return parsed->text();
}

// --- files ------------------------------------------------------------------------

Result<TempFolder> TempFolder::make(const Environment& env) {
  const auto set = env.find("TMPDIR");
  const bool usable = set != env.end() && set->second.starts_with('/');
  std::string path = (usable ? set->second : "/tmp") + "/holdfast-launch-XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return Error{ErrorCode::kIo, "cannot make a folder like " + path, ""};
  return TempFolder(path);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<void> TempFolder::write(const AgentFile& file) const {
  const std::string path = path_ + "/" + file.name;
  std::ofstream stream(path, std::ios::binary);
  stream << file.content;
  stream.close();
  if (stream.fail()) return Error{ErrorCode::kIo, "cannot write " + path, ""};
  return {};
}

// --- a server ---------------------------------------------------------------------

namespace {

// One of the keys that the server would ask for; empty: it asks for none.
std::string own_key(const ServerOptions& server) {
  if (!server.api_keys.empty()) return server.api_keys.front();
  return server.file_keys.empty() ? "" : server.file_keys.front().key;
}

}  // namespace

Result<LaunchServer> LaunchServer::open(const LaunchOptions& options, const std::string& folder) {
  LaunchServer server;
  const auto url = base_url(options.url.empty() ? url_of(options.serve.server) : options.url);
  if (!url) return url.error();
  server.url_ = *url;
  server.key_ = own_key(options.serve.server);
  server.log_ = folder + "/server.log";
  const bool any_port = options.url.empty() && options.serve.server.port == 0;
  const ServerAnswer first = any_port ? ServerAnswer{} : ask_server(server.url_, server.key_);
  const bool nobody = first.state == State::kNobody;
  if (nobody && !options.url.empty())
    return Error{ErrorCode::kUnavailable, "No server answers at " + server.url_ + ".", "--url"};
  if (nobody && options.print)
    return Error{ErrorCode::kUnavailable,
                 "No server answers at " + server.url_ +
                     ", and --print starts none. Start one with `holdfast serve`.",
                 ""};
  if (nobody) {
    if (auto started = server.start(options); !started) return started.error();
  } else if (!options.serve_options.empty() && options.serve.model.path.size() > 0) {
    env::Log::warn("a server runs at " + server.url_ + " already, so -m " +
                   options.serve.model.path + " is not used; another --port starts a new one");
  }
  server.facts_ = first.facts;
  if (first.state == State::kReady) return server;
  if (auto ready = server.wait_until_ready(nobody ? "starting a server" : "waiting for the server");
      !ready) {
    return ready.error();
  }
  return server;
}

Result<void> LaunchServer::start(const LaunchOptions& options) {
  const auto program = own_program();
  if (!program) return program.error();
  ChildPlan plan{.program = *program, .arguments = {"serve"}};
  plan.arguments.insert(plan.arguments.end(), options.serve_options.begin(),
                        options.serve_options.end());
  if (ServerOptions place = options.serve.server; place.port == 0) {
    place.port = free_port();
    url_ = url_of(place);
    plan.arguments.insert(plan.arguments.end(), {"--port", std::to_string(place.port)});
  }
  auto child = BackgroundChild::start(plan, log_);
  if (!child) return child.error();
  child_.emplace(std::move(*child));
  return {};
}

Error LaunchServer::ended_early() const {
  return {ErrorCode::kEngine, "the server has ended:\n" + last_lines(log_), ""};
}

Result<void> LaunchServer::wait_until_ready(const std::string& what) {
  env::ProgressLine bar(env::Log::logger(), what + " at " + url_);
  for (;;) {
    if (NotedSignals::any()) {
      bar.abandon();
      return Error{ErrorCode::kCancelled, "interrupted", ""};
    }
    if (child_ && !child_->running()) {
      bar.abandon();
      return ended_early();
    }
    const ServerAnswer answer = ask_server(url_, key_);
    if (NotedSignals::any()) continue;
    if (answer.state == State::kReady) {
      facts_ = answer.facts;
      return {};
    }
    // A server of ours that fails closes connections before it ends; then its log says why.
    const bool gone = answer.state == State::kNobody && !child_;
    const bool lost = answer.state == State::kBrokenOff && !child_;
    if (gone || lost || answer.state == State::kOther) {
      bar.abandon();
      return Error{ErrorCode::kUnavailable,
                   gone ? "The server at " + url_ + " has ended." : answer.said, ""};
    }
    bar.update(answer.state == State::kLoading ? answer.progress : -1.0);
    std::this_thread::sleep_for(kAskAgain);
  }
}

std::string LaunchServer::stop() {
  if (!child_) return "";
  if (!child_->running()) return ended_early().message;
  child_->ask_to_end();
  const auto asked = std::chrono::steady_clock::now();
  for (bool told = false; child_->running();) {
    std::this_thread::sleep_for(kLookAgain);
    if (NotedSignals::take()) child_->ask_to_end();
    if (told || std::chrono::steady_clock::now() - asked < kQuietStop) continue;
    env::Log::info("the server writes what it has read to its cache folder; Ctrl-C cuts it short");
    told = true;
  }
  return "";
}

}  // namespace holdfast::cli
