// The file of API keys (--api-key-file), one key on each line:
//
//   # llama-server's form: a key alone. Its name in the log is "line 2".
//   sk-0123456789
//   alice: sk-alice                       a name, a colon and a blank before the key
//   grafana: sk-graf: metrics             and what it may do
//   bob: sk-bob: user requests=2 queue=4 rate=60
//
// Roles:
//   user      uses the model. Of states, slots and receipts it sees and drops its own
//   metrics   reads what describes the server and all who use it; cannot use the model
//   admin     everything, of everybody
// A key without a role is a user; the only key of a server is its admin, unless it says otherwise.
//
// Limits, each at least 1; without one there is none:
//   requests   answered at a time, those that wait included
//   queue      that wait for a slot
//   rate       begun in a minute
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::api {

enum class KeyRole { kUser, kMetrics, kAdmin };

// 0: no limit.
struct KeyLimits {
  int requests = 0;
  int queue = 0;
  int rate = 0;
  bool operator==(const KeyLimits&) const = default;
};

struct ApiKey {
  std::string name;  // for the log
  std::string key;
  std::optional<KeyRole> role;
  KeyLimits limits;
};

// An Error says what is wrong in which line. It never quotes a key.
[[nodiscard]] Result<std::vector<ApiKey>> parse_key_file(std::string_view text);

}  // namespace holdfast::api
