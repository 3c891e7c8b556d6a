#include "tier/store_match.h"

#include <algorithm>
#include <vector>

namespace holdfast::tier {

TokenPos agreed_end(const BlobPath& path, TokenSpan tokens, std::span<const PathName> anchors) {
  const auto cell = static_cast<std::size_t>(path.first() / kBlockTokens);
  if (cell >= anchors.size() || anchors[cell] != path.anchor) return 0;
  const TokenSpan rest = tokens.subspan(static_cast<std::size_t>(path.first()));
  return path.first() + common_prefix(path.tokens, rest);
}

namespace {

// The fewest of them that cover what can be covered from 0 on: of those that begin early
// enough always the one that reaches furthest.
void cover(std::vector<RowsHit> all, StoreMatch& match) {
  std::ranges::sort(all, {}, [](const RowsHit& hit) { return hit.range.begin; });
  for (std::size_t at = 0;;) {
    const RowsHit* best = nullptr;
    for (; at < all.size() && all[at].range.begin <= match.covered; ++at) {
      if (best == nullptr || all[at].range.end > best->range.end) best = &all[at];
    }
    // Those that begin later have not been seen; the best of those seen is enough.
    if (best == nullptr || best->range.end <= match.covered) return;
    match.rows.push_back(*best);
    match.covered = best->range.end;
  }
}

}  // namespace

void sort_in(StoreMatch& match, std::span<const IndexEntry> entries,
             const std::function<bool(const BlobKey&)>& is_offered) {
  std::vector<RowsHit> rows;
  for (const IndexEntry& entry : entries) {
    const BlobFacts& facts = entry.facts;
    const TokenRange range = facts.path.range;
    if (!is_offered(facts.key)) continue;
    const TokenPos end = agreed_end(facts.path, match.tokens, match.anchors);
    if (facts.kind == BlobKind::kRows && end > range.begin)
      rows.push_back({facts.key, {range.begin, end}, facts.bytes, facts.saves, end == range.end});
    if (facts.kind == BlobKind::kPlace && end == range.end)
      match.places.push_back({facts.key, end, facts.bytes, facts.saves, facts.marks, facts.logits});
  }
  std::ranges::sort(match.places, {}, &PlaceHit::position);
  cover(std::move(rows), match);
}

}  // namespace holdfast::tier
