#include "state/tokens.h"

#include <algorithm>
#include <cstring>

namespace holdfast {

// Compared in strides, because memcmp runs several times faster than a loop that
// stops at the first difference.
TokenPos common_prefix(TokenSpan a, TokenSpan b) {
  const std::size_t n = std::min(a.size(), b.size());
  std::size_t i = 0;
  for (const std::size_t stride : {std::size_t{4096}, std::size_t{64}}) {
    while (i < n) {
      const std::size_t next = std::min(stride, n - i);
      if (std::memcmp(&a[i], &b[i], next * sizeof(Token)) != 0) break;
      i += next;
    }
  }
  while (i < n && a[i] == b[i]) ++i;
  return static_cast<TokenPos>(i);
}

const char* role_name(Role role) {
  switch (role) {
    case Role::kSystem: return "system";
    case Role::kUser: return "user";
    case Role::kAssistant: return "assistant";
    case Role::kTool: return "tool";
    case Role::kUnknown: break;
  }
  return "unknown";
}

}  // namespace holdfast
