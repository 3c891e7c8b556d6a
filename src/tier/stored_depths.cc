#include "tier/stored_depths.h"

#include <algorithm>
#include <cstring>

namespace holdfast::tier {

std::size_t StoredDepths::NameHash::operator()(const PathName& name) const {
  std::size_t front = 0;  // of a digest, so as good as any hash of it
  std::memcpy(&front, name.bytes.data(), sizeof(front));
  return front;
}

void StoredDepths::add(const PathName& anchor, TokenPos end) {
  const MutexLock lock(mutex_);
  ends_[anchor].insert(end);
  ++size_;
}

void StoredDepths::remove(const PathName& anchor, TokenPos end) {
  const MutexLock lock(mutex_);
  const auto found = ends_.find(anchor);
  if (found == ends_.end()) return;
  const auto one = found->second.find(end);
  if (one == found->second.end()) return;
  found->second.erase(one);
  if (found->second.empty()) ends_.erase(found);
  --size_;
}

TokenPos StoredDepths::deepest(std::span<const PathName> anchors) const {
  const MutexLock lock(mutex_);
  TokenPos deepest = 0;
  for (const PathName& anchor : anchors) {
    if (const auto found = ends_.find(anchor); found != ends_.end())
      deepest = std::max(deepest, *found->second.rbegin());
  }
  return deepest;
}

TokenPos StoredDepths::agreed(std::span<const PathName> anchors) const {
  const MutexLock lock(mutex_);
  for (std::size_t i = anchors.size(); i > 0; --i) {
    if (ends_.contains(anchors[i - 1])) return static_cast<TokenPos>(i - 1) * kBlockTokens;
  }
  return 0;
}

bool StoredDepths::contains(const PathName& anchor, TokenPos end) const {
  const MutexLock lock(mutex_);
  const auto found = ends_.find(anchor);
  return found != ends_.end() && found->second.contains(end);
}

std::size_t StoredDepths::size() const {
  const MutexLock lock(mutex_);
  return size_;
}

void StoredDepths::clear() {
  const MutexLock lock(mutex_);
  ends_.clear();
  size_ = 0;
}

}  // namespace holdfast::tier
