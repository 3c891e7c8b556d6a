#include "api/access.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>

#include "env/log.h"

namespace holdfast::api {

namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

std::string_view key_of(const HttpRequest& request) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view authorization = request.header("Authorization");
  if (authorization.size() > kBearer.size() &&
      std::ranges::equal(
          authorization.substr(0, kBearer.size()), kBearer,
          [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); })) {
    return authorization.substr(kBearer.size());
  }
  return request.header("x-api-key");
}

Digest digest_of(std::string_view text) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

// SHA-256 in hexadecimal.
std::string hex_digest(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest_of(text)) {
    hex += kHex[byte >> 4U];
    hex += kHex[byte & 15U];
  }
  return hex;
}

std::string address_of(const HttpRequest& request) {
  return request.peer.substr(0, request.peer.rfind(':'));
}

std::vector<ApiKey> numbered(const std::vector<std::string>& keys) {
  std::vector<ApiKey> named;
  for (const std::string& key : keys) {
    named.push_back({"key " + std::to_string(named.size() + 1), key, std::nullopt, {}});
  }
  return named;
}

Result<std::string> text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad() || !file.is_open()) return Error{ErrorCode::kIo, "it cannot be read", ""};
  return text;
}

}  // namespace

struct ApiKeys::Known {
  Digest digest;
  Asker asker;
};

ApiKeys::ApiKeys(const std::vector<std::string>& given, std::vector<ApiKey> from_file,
                 std::string file)
    : given_(numbered(given)), file_(std::move(file)), set_(set_with(from_file)) {}

// The one key of a server is its owner's.
std::shared_ptr<const ApiKeys::Set> ApiKeys::set_with(const std::vector<ApiKey>& from_file) const {
  auto known = std::make_shared<Set>();
  const bool alone = given_.size() + from_file.size() == 1;
  for (const auto* keys : {&given_, &from_file}) {
    for (const ApiKey& key : *keys) {
      const Digest digest = digest_of(key.key);
      Asker asker{.name = key.name,
                  .role = key.role.value_or(alone ? KeyRole::kAdmin : KeyRole::kUser),
                  .limits = key.limits,
                  .client = {digest.begin(), digest.begin() + 8},
                  .key_name = hex_digest("holdfast key " + key.key)};
      known->push_back({digest, std::move(asker)});
    }
  }
  return known;
}

std::shared_ptr<const ApiKeys::Set> ApiKeys::set() const {
  const MutexLock lock(mutex_);
  return set_;
}

bool ApiKeys::required() const { return !set()->empty(); }

// KEYS-1: all keys are looked at, whichever fits.
std::optional<Asker> ApiKeys::who(const HttpRequest& request) const {
  const auto known = set();
  if (known->empty()) return Asker{.client = address_of(request)};
  const Digest given = digest_of(key_of(request));
  const Known* found = nullptr;
  for (const Known& one : *known) {
    if (CRYPTO_memcmp(given.data(), one.digest.data(), given.size()) == 0) found = &one;
  }
  return found == nullptr ? std::nullopt : std::optional(found->asker);
}

namespace {

// "alice, bob" of those in `these` whose name is not in `others`.
template <typename Set>
std::string names_only_in(const Set& these, const Set& others) {
  std::string names;
  for (const auto& one : these) {
    const auto same = [&](const auto& other) { return other.asker.name == one.asker.name; };
    if (std::ranges::none_of(others, same)) (names += names.empty() ? "" : ", ") += one.asker.name;
  }
  return names.empty() ? "-" : names;
}

}  // namespace

Result<void> ApiKeys::reload() {
  if (file_.empty()) return {};
  const auto text = text_of(file_);
  const auto keys = text ? parse_key_file(*text) : Result<std::vector<ApiKey>>(text.error());
  if (!keys) {
    env::Log::error("the file of API keys was not taken: " + keys.error().message +
                        "; the keys stay as they were",
                    {{"file", file_}});
    return keys.error();
  }
  const auto fresh = set_with(*keys);
  const auto before = set();
  {
    const MutexLock lock(mutex_);
    set_ = fresh;
  }
  env::Log::info("audit", {{"action", "reload keys"},
                           {"keys", static_cast<int>(fresh->size())},
                           {"came", names_only_in(*fresh, *before)},
                           {"went", names_only_in(*before, *fresh)}});
  return {};
}

// A key's name has a fixed length, so that no pair of key and salt reads as another.
std::string tenant_name(std::string_view key_name, std::string_view salt) {
  if (key_name.empty() && salt.empty()) return "";
  std::string parts = key_name.empty() ? "no key" : std::string(key_name);
  parts += " salted ";
  return hex_digest(parts.append(salt));
}

}  // namespace holdfast::api
