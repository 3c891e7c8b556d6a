#include "state/chunk_keys.h"

#include "base/hash.h"

namespace holdfast {

Tokens chunk_keys(TokenSpan tokens, std::span<const TokenPos> cuts) {
  Tokens keys(tokens.begin(), tokens.end());
  TokenPos begin = 0;
  for (const TokenPos end : cuts) {
    const auto first = static_cast<std::size_t>(begin);
    const TokenSpan rest = tokens.subspan(first + 1, static_cast<std::size_t>(end - begin) - 1);
    const auto hash = static_cast<std::uint32_t>(hash_bytes(std::as_bytes(rest)));
    keys[first] = static_cast<Token>(static_cast<std::uint32_t>(tokens[first]) + hash);
    begin = end;
  }
  return keys;
}

}  // namespace holdfast
