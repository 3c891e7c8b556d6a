// Who may ask: API keys, their roles, and the tenants that they make.
//
// Keys come from --api-key, and from a file that may be read again while the server runs
// (reload()). A file that cannot be used changes nothing: the keys stay as they were.
//
// Invariants, verified by the tests of the same numbers (access_test.cc):
//   KEYS-1  keys are compared in constant time: neither how much of a key was right nor which key
//           was near can be learnt from how long the answer takes
//   KEYS-2  a server that asks for keys goes on asking: no reload leaves it without one
//   KEYS-3  no key appears in the log
//
// Any thread.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http_server.h"
#include "api/key_file.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_annotations.h"

namespace holdfast::api {

// Somebody who may ask. Without keys that is everybody, and everybody is an admin.
struct Asker {
  std::string name = "-";  // for the log
  KeyRole role = KeyRole::kAdmin;
  KeyLimits limits;
  // A name for fairness that reveals no key: from the key, else the address. Without keys to
  // compare with, a header proves nothing and the address counts.
  std::string client;
  // A name of the key that does not reveal it and is the same in each run; empty without keys.
  std::string key_name;

  [[nodiscard]] bool sees_all() const { return role != KeyRole::kUser; }
};

class ApiKeys {
 public:
  // `given` have no names of their own. `file` may be empty: then there is none, and no reload.
  ApiKeys(const std::vector<std::string>& given, std::vector<ApiKey> from_file, std::string file);

  [[nodiscard]] bool required() const;
  // Looks at `Authorization: Bearer KEY` and `x-api-key: KEY`. Nothing: the key is missing or
  // wrong.
  [[nodiscard]] std::optional<Asker> who(const HttpRequest& request) const;

  [[nodiscard]] const std::string& file() const { return file_; }
  // Reads the file again, and says in the log which names came and went.
  Result<void> reload();

 private:
  struct Known;  // a key, digested
  using Set = std::vector<Known>;

  [[nodiscard]] std::shared_ptr<const Set> set() const;
  [[nodiscard]] std::shared_ptr<const Set> set_with(const std::vector<ApiKey>& from_file) const;

  const std::vector<ApiKey> given_;
  const std::string file_;
  mutable Mutex mutex_;
  std::shared_ptr<const Set> set_ GUARDED_BY(mutex_);
};

// Who shares states and receipts: those with the same key and the same salt.
// Neither can be read from the name. Empty when both are.
[[nodiscard]] std::string tenant_name(std::string_view key_name, std::string_view salt);

}  // namespace holdfast::api
