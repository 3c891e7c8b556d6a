#include "tier/memory_index.h"

namespace holdfast::tier {

BlobSummary summary_of(const IndexEntry& entry) {
  const BlobFacts& facts = entry.facts;
  return {.key = facts.key,
          .kind = facts.kind,
          .space = facts.path.space,
          .anchor = facts.path.anchor,
          .range = facts.path.range,
          .bytes = facts.bytes,
          .companion = facts.companion,
          .logits = facts.logits,
          .marks = facts.marks,
          .saves = facts.saves,
          .created_ms = facts.created_ms,
          .used_ms = entry.used_ms};
}

void MemoryIndex::forget(const BlobKey& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  const BlobPath& path = found->second.facts.path;
  auto [at, end] = by_anchor_.equal_range({path.space, path.anchor});
  while (at != end && at->second != key) ++at;
  if (at != end) by_anchor_.erase(at);
  entries_.erase(found);
}

Result<void> MemoryIndex::put(std::span<const IndexEntry> entries) {
  for (const IndexEntry& entry : entries) {
    const BlobPath& path = entry.facts.path;
    forget(entry.facts.key);
    by_anchor_.insert({{path.space, path.anchor}, entry.facts.key});
    entries_.emplace(entry.facts.key, entry);
  }
  return {};
}

Result<void> MemoryIndex::erase(std::span<const BlobKey> keys) {
  for (const BlobKey& key : keys) forget(key);
  return {};
}

Result<void> MemoryIndex::touch(std::span<const BlobKey> keys, std::int64_t now_ms) {
  for (const BlobKey& key : keys) {
    if (const auto found = entries_.find(key); found != entries_.end())
      found->second.used_ms = now_ms;
  }
  return {};
}

Result<void> MemoryIndex::revalue(std::span<const BlobWorth> worths, std::int64_t now_ms) {
  for (const BlobWorth& worth : worths) {
    const auto found = entries_.find(worth.key);
    if (found == entries_.end()) continue;
    found->second.facts.saves = worth.saves;
    found->second.used_ms = now_ms;
  }
  return {};
}

Result<std::vector<IndexEntry>> MemoryIndex::along(SpaceKey space,
                                                   std::span<const PathName> anchors) {
  std::vector<IndexEntry> found;
  for (const PathName& anchor : anchors) {
    auto [at, end] = by_anchor_.equal_range({space, anchor});
    for (; at != end; ++at) found.push_back(entries_.at(at->second));
  }
  return found;
}

Result<std::vector<BlobSummary>> MemoryIndex::list() {
  std::vector<BlobSummary> all;
  for (const auto& [key, entry] : entries_) all.push_back(summary_of(entry));
  return all;
}

Result<std::vector<SpaceTotal>> MemoryIndex::totals() {
  std::map<SpaceKey, SpaceTotal> by_space;
  for (const auto& [key, entry] : entries_) {
    SpaceTotal& total = by_space[entry.facts.path.space];
    total.space = entry.facts.path.space;
    ++total.blobs;
    total.bytes += entry.facts.bytes;
  }
  std::vector<SpaceTotal> all;
  for (const auto& [space, total] : by_space) all.push_back(total);
  return all;
}

Result<void> MemoryIndex::clear() {
  entries_.clear();
  by_anchor_.clear();
  return {};
}

}  // namespace holdfast::tier
