#include "cache/path_queue.h"

#include <algorithm>
#include <utility>

namespace holdfast::cache {

bool begins_with(const KeptPath& longer, const KeptPath& shorter) {
  return longer.space == shorter.space && longer.keys.size() >= shorter.keys.size() &&
         std::equal(shorter.keys.begin(), shorter.keys.end(), longer.keys.begin());
}

bool PathQueue::add(KeptPath path, TimePoint now) {
  path.first = path.latest = now;
  std::erase_if(paths_, [&](const KeptPath& waiting) {
    if (!begins_with(path, waiting)) return false;
    path.first = std::min(path.first, waiting.first);
    return true;
  });
  const bool full = paths_.size() == paths_max_;
  if (full) paths_.pop_front();
  paths_.push_back(std::move(path));
  return full;
}

bool PathQueue::rested(const KeptPath& path, TimePoint now) const {
  return now - path.latest >= rest_ || now - path.first >= 10 * rest_;
}

bool PathQueue::has_rested(TimePoint now) const {
  return std::ranges::any_of(paths_, [&](const KeptPath& path) { return rested(path, now); });
}

std::optional<KeptPath> PathQueue::take(TimePoint now, Take which) {
  auto next = std::ranges::find_if(paths_, [&](const KeptPath& path) { return rested(path, now); });
  if (next == paths_.end() && which == Take::kAny) next = paths_.begin();
  if (next == paths_.end()) return std::nullopt;
  std::optional<KeptPath> taken = std::move(*next);
  paths_.erase(next);
  return taken;
}

ByteCount PathQueue::bytes() const {
  ByteCount bytes = 0;
  for (const KeptPath& path : paths_) bytes += path.bytes();
  return bytes;
}

std::vector<std::string> PathQueue::check() const {
  std::vector<std::string> violations;
  if (paths_.size() > paths_max_) violations.emplace_back("QUEUE-1: too many paths wait");
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    for (std::size_t k = i + 1; k < paths_.size(); ++k) {
      if (begins_with(paths_[k], paths_[i])) {
        violations.emplace_back("QUEUE-2: a path waits that a later one begins with");
      }
    }
  }
  return violations;
}

}  // namespace holdfast::cache
