#include "tier/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/check.h"

namespace holdfast::tier {

namespace {

const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

void fill_random(std::span<std::byte> bytes) {
  auto* const out = reinterpret_cast<unsigned char*>(bytes.data());
  CHECK(RAND_bytes(out, static_cast<int>(bytes.size())) == 1);
}

Secret random_secret() {
  Secret secret{};
  fill_random(secret);
  return secret;
}

Sha256Digest hmac_sha256(const Secret& key, std::span<const std::byte> bytes) {
  Sha256Digest digest{};
  unsigned int length = 0;
  const unsigned char* const made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), raw(bytes), bytes.size(),
           reinterpret_cast<unsigned char*>(digest.data()), &length);
  CHECK(made != nullptr && length == digest.size());
  return digest;
}

bool equal_secrets(std::span<const std::byte> a, std::span<const std::byte> b) {
  CHECK(a.size() == b.size());
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace holdfast::tier
