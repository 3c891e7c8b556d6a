#include "tier/path_count.h"

#include <algorithm>
#include <map>
#include <vector>

namespace holdfast::tier {

namespace {

// The tokens that blobs have behind one anchor, at most kBlockTokens each.
struct Cell {
  std::vector<TokenSpan> tokens;
};
using Cells = std::map<PathName, Cell>;

void add_path(const BlobPath& path, Cells& cells) {
  PathNamer names(path.anchor, path.first());
  names.append(path.tokens);
  const TokenSpan all = path.tokens;
  for (std::size_t cell = 0; cell * kBlockTokens < all.size(); ++cell) {
    const std::size_t at = cell * kBlockTokens;
    const std::size_t length = std::min<std::size_t>(kBlockTokens, all.size() - at);
    cells[names.anchors()[cell]].tokens.push_back(all.subspan(at, length));
  }
}

bool goes_on(const Cells& cells, const PathName& anchor, TokenSpan tokens) {
  if (tokens.size() < kBlockTokens) return false;
  PathNamer names(anchor, 0);
  names.append(tokens);
  return cells.contains(names.name());
}

// In order, what two neighbours share is what any two share: the tokens of a tree are the sum
// of the lengths without what is shared with the one before.
void count_cell(const Cells& cells, const PathName& anchor, std::vector<TokenSpan> all,
                PathCount& count) {
  std::ranges::sort(
      all, [](TokenSpan a, TokenSpan b) { return std::ranges::lexicographical_compare(a, b); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const TokenPos shared = i == 0 ? 0 : common_prefix(all[i - 1], all[i]);
    count.tokens += all[i].size() - static_cast<std::size_t>(shared);
    const bool front_of_next =
        i + 1 < all.size() && common_prefix(all[i], all[i + 1]) == length_of(all[i]);
    if (!front_of_next && !goes_on(cells, anchor, all[i])) ++count.paths;
  }
}

}  // namespace

PathCount count_paths(std::span<const BlobPath> paths) {
  Cells cells;
  PathCount count;
  for (const BlobPath& path : paths) {
    add_path(path, cells);
    count.deepest = std::max(count.deepest, path.range.end);
  }
  for (const auto& [anchor, cell] : cells) count_cell(cells, anchor, cell.tokens, count);
  return count;
}

}  // namespace holdfast::tier
