#include "tree/block_row.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::tree {

namespace {

// The first use that ends after `position`.
auto first_after(auto& uses, TokenPos position) {
  return std::ranges::upper_bound(uses, position, {},
                                  [](const BlockRow::Use& use) { return use.range.end; });
}

}  // namespace

TokenPos BlockRow::covered_to(TokenPos begin, TokenPos limit) const {
  TokenPos reached = begin;
  for (auto it = first_after(uses_, begin); it != uses_.end(); ++it) {
    if (it->range.begin > reached || reached >= limit) break;
    reached = it->range.end;
  }
  return std::min(reached, limit);
}

std::pair<std::size_t, std::size_t> BlockRow::inner_uses() const {
  if (uses_.empty()) return {0, 0};
  const auto piece = [&](std::size_t i) { return uses_[i].range.begin / kBlockTokens; };
  std::size_t begin = 0;
  while (begin < uses_.size() && piece(begin) == piece(0)) ++begin;
  std::size_t end = uses_.size();
  while (end > begin && piece(end - 1) == piece(uses_.size() - 1)) --end;
  return {begin, end};
}

const BlockRow::Sums& BlockRow::sums() const {
  if (sums_.known) return sums_;
  sums_ = {.known = true};
  for (const Use& use : uses_) sums_.tokens += use.range.length();
  Tally tally;
  const auto [begin, end] = inner_uses();
  for (std::size_t i = begin; i < end; ++i) tally.add(uses_[i].charge);
  sums_.inner = tally.freed();
  return sums_;
}

ByteCount BlockRow::freed_with_all() const {
  Tally tally;
  const auto [begin, end] = inner_uses();
  for (std::size_t i = 0; i < begin; ++i) tally.add(uses_[i].charge);
  for (std::size_t i = end; i < uses_.size(); ++i) tally.add(uses_[i].charge);
  return tally.freed() + sums().inner;
}

ByteCount BlockRow::weight_of(TokenPos tokens) const {
  if (uses_.empty()) return 0;
  const ExtentBlock& last = *uses_.back().block;
  return last.size() * static_cast<ByteCount>(tokens) /
         static_cast<ByteCount>(last.range().length());
}

void BlockRow::fill(TokenRange range, const ExtentBlockPtr& block, ByteLedger& ledger, Hold hold) {
  CHECK(intersection(range, block->range()) == range);
  changed();
  auto index = static_cast<std::size_t>(first_after(uses_, range.begin) - uses_.begin());
  for (TokenPos at = range.begin; at < range.end; ++index) {
    const TokenPos next = index < uses_.size() ? uses_[index].range.begin : range.end;
    if (next > at) {
      Charge* charge = ledger.add_user(block.get(), block->size(), ByteKind::kBlocks, hold);
      const TokenRange gap{at, std::min(next, range.end)};
      uses_.insert(uses_.begin() + static_cast<std::ptrdiff_t>(index), Use{block, charge, gap});
    }
    at = uses_[index].range.end;
  }
  // The gaps that were filled lie in one block's range: join what now touches.
  while (index > 0 && uses_[index - 1].range.end > range.begin) {
    if (index < uses_.size()) join_at(index, ledger, hold);
    --index;
  }
  if (index < uses_.size()) join_at(index, ledger, hold);
}

BlockRow BlockRow::take_head(TokenPos position, ByteLedger& ledger, Hold hold) {
  changed();
  BlockRow head;
  const auto boundary = first_after(uses_, position);
  head.uses_.assign(std::make_move_iterator(uses_.begin()), std::make_move_iterator(boundary));
  uses_.erase(uses_.begin(), boundary);
  if (!uses_.empty() && uses_.front().range.begin < position) {
    Use above = uses_.front();
    above.range.end = position;
    uses_.front().range.begin = position;
    ledger.add_user(*above.charge, hold);
    head.uses_.push_back(std::move(above));
  }
  return head;
}

void BlockRow::append(BlockRow tail, ByteLedger& ledger, Hold hold) {
  if (tail.empty()) return;
  changed();
  const std::size_t seam = uses_.size();
  CHECK(empty() || uses_.back().range.end <= tail.uses_.front().range.begin);
  uses_.insert(uses_.end(), std::make_move_iterator(tail.uses_.begin()),
               std::make_move_iterator(tail.uses_.end()));
  join_at(seam, ledger, hold);
}

void BlockRow::drop_from(TokenPos position, ByteLedger& ledger) {
  changed();
  while (!uses_.empty() && uses_.back().range.begin >= position) {
    ledger.remove_user(*uses_.back().charge, Hold::kEvictable);
    uses_.pop_back();
  }
  if (!uses_.empty()) uses_.back().range.end = std::min(uses_.back().range.end, position);
}

void BlockRow::pin(ByteLedger& ledger) const {
  for (const Use& use : uses_) ledger.pin_user(*use.charge);
}

void BlockRow::unpin(ByteLedger& ledger) const {
  for (const Use& use : uses_) ledger.unpin_user(*use.charge);
}

void BlockRow::join_at(std::size_t index, ByteLedger& ledger, Hold hold) {
  if (index == 0) return;
  changed();
  Use& left = uses_[index - 1];
  const Use& right = uses_[index];
  if (left.block != right.block || left.range.end != right.range.begin) return;
  left.range.end = right.range.end;
  ledger.remove_user(*right.charge, hold);
  uses_.erase(uses_.begin() + static_cast<std::ptrdiff_t>(index));
}

}  // namespace holdfast::tree
