#include "api/access.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cctype>

namespace holdfast::api {

namespace {

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

// SHA-256 in hexadecimal.
std::string hex_digest(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kHex[byte >> 4U];
    hex += kHex[byte & 15U];
  }
  return hex;
}

}  // namespace

ApiKeys::Digest ApiKeys::digest_of(std::string_view key) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

ApiKeys::ApiKeys(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) digests_.push_back(digest_of(key));
}

bool ApiKeys::admit(const HttpRequest& request) const {
  if (!required()) return true;
  const Digest given = digest_of(key_of(request));
  int matches = 0;
  for (const Digest& known : digests_) {
    matches += CRYPTO_memcmp(given.data(), known.data(), known.size()) == 0 ? 1 : 0;
  }
  return matches > 0;
}

std::string ApiKeys::client_of(const HttpRequest& request) const {
  const std::string_view key = key_of(request);
  if (!required() || key.empty()) return request.peer.substr(0, request.peer.rfind(':'));
  const Digest digest = digest_of(key);
  return {digest.begin(), digest.begin() + 8};
}

std::string ApiKeys::name_of(const HttpRequest& request) const {
  if (!required()) return "";
  return hex_digest("holdfast key " + std::string(key_of(request)));
}

// A key's name has a fixed length, so that no pair of key and salt reads as another.
std::string tenant_name(std::string_view key_name, std::string_view salt) {
  if (key_name.empty() && salt.empty()) return "";
  std::string parts = key_name.empty() ? "no key" : std::string(key_name);
  parts += " salted ";
  return hex_digest(parts.append(salt));
}

}  // namespace holdfast::api
