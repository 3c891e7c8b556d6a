#include "tier/sha256.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace holdfast::tier {

namespace {

// Looked up once: doing it for each digest costs more than a short digest itself.
const EVP_MD* algorithm() {
  static const EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  CHECK(found != nullptr);
  return found;
}

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) { start(); }

void Sha256::start() { CHECK(EVP_DigestInit_ex(context_.get(), algorithm(), nullptr) == 1); }

Sha256& Sha256::add(std::span<const std::byte> bytes) {
  CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  return *this;
}

Sha256Digest Sha256::digest() {
  Sha256Digest digest{};
  unsigned length = 0;
  auto* out = reinterpret_cast<unsigned char*>(digest.data());
  CHECK(EVP_DigestFinal_ex(context_.get(), out, &length) == 1 && length == digest.size());
  start();
  return digest;
}

}  // namespace holdfast::tier
