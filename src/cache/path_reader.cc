#include "cache/path_reader.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace holdfast::cache {

namespace {

constexpr ByteCount kEnoughToMeasure = 1 << 20;

// Of a blob's rows those that were asked for and that are not there yet.
void append_rows(const tier::RowsBlob& blob, TokenRange wanted, Brought& brought) {
  for (const BlockUse& use : blob.rows) {
    const TokenPos reached = brought.rows.empty() ? 0 : brought.rows.back().range.end;
    const TokenRange range = intersection(use.range, {std::max(wanted.begin, reached), wanted.end});
    if (!range.empty()) brought.rows.push_back({use.block, range});
  }
}

}  // namespace

TokenPos PathReader::deepest(std::span<const tier::PathName> names) const {
  return known_ ? known_->deepest(names) : std::numeric_limits<TokenPos>::max();
}

// What another server writes meanwhile is not known, so nothing is said of it.
ForeignMatch PathReader::foreign(const ForeignQuestion& question) const {
  return known_ ? foreign_.find(*known_, question) : ForeignMatch{};
}

Brought PathReader::load(const tier::StoreMatch& match, const ColdChoice& choice,
                         const Pending<Brought>& reply) {
  Brought brought;
  std::vector<tier::BlobKey> used;
  const auto before = clock_.now();
  if (choice.place) {
    auto place = store_.load(match, *choice.place);
    if (!place) return brought;
    brought.snapshot = std::move(place->snapshot);
    brought.logits = std::move(place->logits);
    brought.marks = place->marks;
    brought.bytes += choice.place->bytes;
    used.push_back(choice.place->key);
  }
  for (const tier::RowsHit& hit : choice.rows) {
    if (reply.unwanted()) return brought;
    auto blob = store_.load(match, hit);
    if (!blob) return brought;
    append_rows(*blob, hit.range, brought);
    brought.bytes += hit.bytes;
    used.push_back(hit.key);
  }
  brought.all = true;
  measure(brought.bytes, env::ms_between(before, clock_.now()));
  store_.touch(used, clock_.unix_ms());
  return brought;
}

void PathReader::measure(ByteCount bytes, double ms) {
  if (bytes < kEnoughToMeasure || ms <= 0.0) return;
  const double measured = static_cast<double>(bytes) / ms;
  bytes_per_ms_ = bytes_per_ms_ + (measured - bytes_per_ms_) / 4.0;
}

}  // namespace holdfast::cache
