#include "state/tokens.h"

#include <algorithm>

namespace holdfast {

TokenPos common_prefix(TokenSpan a, TokenSpan b) {
  const auto [end_a, end_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<TokenPos>(end_a - a.begin());
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
