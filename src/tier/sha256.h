// SHA-256, by OpenSSL. Value semantics but for copying; one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

struct evp_md_ctx_st;

namespace holdfast::tier {

using Sha256Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  Sha256();
  Sha256& add(std::span<const std::byte> bytes);
  // Of all that was added; afterwards it starts over.
  [[nodiscard]] Sha256Digest digest();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  void start();
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace holdfast::tier
