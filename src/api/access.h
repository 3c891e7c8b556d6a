// Who may ask: API keys, and the tenants that they make.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "api/http_server.h"

namespace holdfast::api {

// Compares keys in constant time: neither how much of a key was right nor which
// key was near can be learnt from how long the answer takes.
class ApiKeys {
 public:
  explicit ApiKeys(const std::vector<std::string>& keys);

  [[nodiscard]] bool required() const { return !digests_.empty(); }
  // Looks at `Authorization: Bearer KEY` and `x-api-key: KEY`.
  [[nodiscard]] bool admit(const HttpRequest& request) const;
  // A name for the asker that reveals no key: from its key, else its address.
  // Without keys to compare with, a header proves nothing and the address counts.
  [[nodiscard]] std::string client_of(const HttpRequest& request) const;
  // A name of the asker's key that does not reveal it and is the same in each run;
  // empty without keys. REQUIRES: admit(request).
  [[nodiscard]] std::string name_of(const HttpRequest& request) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  [[nodiscard]] static Digest digest_of(std::string_view key);

  std::vector<Digest> digests_;
};

// Who shares states and receipts: those with the same key and the same salt.
// Neither can be read from the name. Empty when both are.
[[nodiscard]] std::string tenant_name(std::string_view key_name, std::string_view salt);

}  // namespace holdfast::api
