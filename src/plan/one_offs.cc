#include "plan/one_offs.h"

#include <algorithm>

namespace holdfast::plan {

namespace {

constexpr TokenPos kShorter = 4;  // times
constexpr TokenPos kFadesBy = 8;  // the part that goes with each shorter request

}  // namespace

bool OneOffs::note(const std::string& session, const PromptFacts& prompt) {
  Session& own = use(session);
  const bool one_off = prompt.length <= own.longest / kShorter && prompt.known <= prompt.length / 2;
  if (!one_off) own.longest = std::max(prompt.length, own.longest - own.longest / kFadesBy);
  return one_off;
}

OneOffs::Session& OneOffs::use(const std::string& name) {
  const auto known = std::ranges::find(sessions_, name, &Session::name);
  if (known != sessions_.end()) {
    sessions_.splice(sessions_.begin(), sessions_, known);
  } else {
    sessions_.push_front({name, 0});
    if (sessions_.size() > kSessionsMax) sessions_.pop_back();
  }
  return sessions_.front();
}

}  // namespace holdfast::plan
