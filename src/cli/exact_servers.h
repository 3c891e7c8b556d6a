// ServerPair: the running server and the cold one, found or started.
//
// Those that are started have the same options, but for what they keep: the running one has a
// cache folder of its own, empty at first, the cold one keeps nothing. Requests to the cold one say
// `cache_prompt: false`, so that a server which somebody else has started is as good.
//
// The thread that opens it also restarts it and ends it. ask() may be called by any thread, but not
// during a restart of the server that it asks.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/child_process.h"
#include "cli/http_client.h"
#include "cli/launch_server.h"

namespace holdfast::cli {

struct ServerPairOptions {
  std::string running;  // addresses; empty: they are started
  std::string cold;
  std::string key;
  std::vector<std::string> serve_options;  // of those that are started
  std::string restart_command;             // of the running server; empty: there is none
};

enum class Side { kRunning, kCold };

class ServerPair {
 public:
  // `folder` is for what started servers keep and log.
  [[nodiscard]] static Result<std::unique_ptr<ServerPair>> open(ServerPairOptions options,
                                                                const std::string& folder);

  // The body of a good answer. `stop` ends it early.
  [[nodiscard]] Result<std::string> ask(Side side, const nlohmann::json& request,
                                        const std::function<bool()>& stop) const;

  [[nodiscard]] TokenPos context() const { return context_; }  // of the smaller one
  [[nodiscard]] bool can_restart() const;
  // Ends the running server as SIGTERM does and starts it again, on what it has kept.
  [[nodiscard]] Result<void> restart();
  // Of those that were started. Their logs are gone with the folder.
  void stop();

 private:
  ServerPair(ServerPairOptions options, std::string folder)
      : options_(std::move(options)), folder_(std::move(folder)) {}

  struct Place {
    std::string name;  // in messages
    std::string url;
    std::string log;
    std::vector<std::string> arguments;  // of a server that is started
    std::unique_ptr<BackgroundChild> child;
  };

  [[nodiscard]] Result<void> find();
  [[nodiscard]] Result<void> start_both();
  [[nodiscard]] Result<void> start(Place& place) const;
  // Until it is ready: its context.
  [[nodiscard]] Result<TokenPos> wait_for(const Place& place) const;

  const ServerPairOptions options_;
  const std::string folder_;
  Place running_;
  Place cold_;
  TokenPos context_ = 0;
};

}  // namespace holdfast::cli
