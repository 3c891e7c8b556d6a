#include "engine/ngram.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::engine {

namespace {

// How many occurrences of a gram are looked at, the latest first.
constexpr std::size_t kOccurrences = 8;
// How many other grams of the same chain are skipped. With twice as many chains as tokens there are
// few.
constexpr int kStrangersMax = 32;
// How many tokens back matches are compared.
constexpr TokenPos kReachMax = 32;
constexpr std::size_t kChainsLeast = 64;

std::size_t at(TokenPos position) { return static_cast<std::size_t>(position); }

}  // namespace

// --- the index -------------------------------------------------------------------

NgramIndex::NgramIndex(const NgramOptions& options) : sure_from_(options.sure_from) {
  CHECK(1 <= options.shortest && options.shortest <= options.longest);
  for (TokenPos gram = options.longest; gram >= options.shortest; --gram) {
    levels_.push_back({gram, std::vector<TokenPos>(kChainsLeast, 0), {}});
  }
}

std::size_t NgramIndex::chain_of(const Level& level, const Token* gram) {
  std::uint64_t hash = 0;
  for (TokenPos i = 0; i < level.gram; ++i) {
    hash = (hash ^ static_cast<std::uint32_t>(gram[i])) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  }
  return hash & (level.latest.size() - 1);  // a power of two
}

const Token* NgramIndex::gram_at(const Level& level, TokenPos end) const {
  return tokens_.data() + (end - level.gram);
}

void NgramIndex::append(TokenSpan tokens) {
  const auto first = static_cast<TokenPos>(tokens_.size()) + 1;
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  for (Level& level : levels_) {
    make_room(level, tokens_.size());
    for (TokenPos end = first; end <= length_of(tokens_); ++end) file(level, end);
  }
}

void NgramIndex::file(Level& level, TokenPos end) {
  if (end < level.gram) {
    level.earlier.push_back(0);
    return;
  }
  TokenPos& latest = level.latest[chain_of(level, gram_at(level, end))];
  level.earlier.push_back(latest);
  latest = end;
}

// There are twice as many chains as tokens. Doubling them files every gram again, so a gram is
// filed about twice.
void NgramIndex::make_room(Level& level, std::size_t tokens) {
  std::size_t chains = level.latest.size();
  while (chains < 2 * tokens) chains *= 2;
  if (chains == level.latest.size()) return;
  const auto filed = static_cast<TokenPos>(level.earlier.size());
  level.latest.assign(chains, 0);
  level.earlier.clear();
  level.earlier.reserve(chains / 2);
  for (TokenPos end = 1; end <= filed; ++end) file(level, end);
}

void NgramIndex::trim(TokenPos length) {
  CHECK(0 <= length && length <= length_of(tokens_));
  for (Level& level : levels_) {
    for (TokenPos end = length_of(tokens_); end > length; --end) {
      if (end >= level.gram) {
        level.latest[chain_of(level, gram_at(level, end))] = level.earlier.back();
      }
      level.earlier.pop_back();
    }
  }
  tokens_.resize(at(length));
  if (length == 0) {  // an emptied slot frees its memory
    for (Level& level : levels_) {
      level.latest = std::vector<TokenPos>(kChainsLeast, 0);
      level.earlier = {};
    }
  }
}

void NgramIndex::clear() noexcept {
  tokens_.clear();
  for (Level& level : levels_) {
    std::ranges::fill(level.latest, 0);
    level.earlier.clear();
  }
}

// Ends of the gram's occurrences, the latest first.
std::vector<TokenPos> NgramIndex::matches(const Level& level, TokenSpan suffix) const {
  std::vector<TokenPos> ends;
  const Token* gram = suffix.data() + suffix.size() - level.gram;
  int strangers = 0;
  TokenPos end = level.latest[chain_of(level, gram)];
  while (end > 0 && ends.size() < kOccurrences && strangers < kStrangersMax) {
    if (std::equal(gram, gram + level.gram, gram_at(level, end))) {
      ends.push_back(end);
    } else {
      ++strangers;
    }
    end = level.earlier[at(end - 1)];
  }
  return ends;
}

TokenPos NgramIndex::furthest_back(const std::vector<TokenPos>& ends, Token next) const {
  const auto reach_of = [&](TokenPos end) {
    TokenPos reach = tokens_[at(end - 1)] == next ? 1 : 0;
    while (reach > 0 && reach < std::min(end, kReachMax) &&
           tokens_[at(end - 1 - reach)] == tokens_[tokens_.size() - at(reach)]) {
      ++reach;
    }
    return reach;
  };
  return *std::ranges::max_element(ends, {}, reach_of);  // the first of the largest
}

Tokens NgramIndex::propose(Token next, TokenPos most) const {
  Tokens suffix;  // as long as the longest gram
  const auto longest = std::min(tokens_.size(), at(levels_.front().gram - 1));
  suffix.assign(tokens_.end() - static_cast<std::ptrdiff_t>(longest), tokens_.end());
  suffix.push_back(next);
  for (const Level& level : levels_) {
    if (length_of(suffix) < level.gram) continue;
    const auto ends = matches(level, suffix);
    if (ends.empty()) continue;
    if (level.gram >= sure_from_) {
      const bool may_reach_back = &level == &levels_.front();
      return continuation(may_reach_back ? furthest_back(ends, next) : ends.front(), next, most);
    }
    if (ends.size() < 2) continue;
    Tokens latest = continuation(ends[0], next, most);
    latest.resize(at(common_prefix(latest, continuation(ends[1], next, most))));
    if (!latest.empty()) return latest;
  }
  return {};
}

// The tokens that followed an occurrence. Where they reach the end of the sequence, the proposal
// goes on with its own tokens, as text that repeats itself does.
Tokens NgramIndex::continuation(TokenPos end, Token next, TokenPos most) const {
  Tokens out;
  out.reserve(at(most));
  const TokenPos present = length_of(tokens_);
  for (TokenPos from = end; length_of(out) < most; ++from) {
    out.push_back(from < present    ? tokens_[at(from)]
                  : from == present ? next
                                    : out[at(from - present - 1)]);
  }
  return out;
}

std::vector<std::string> NgramIndex::check() const {
  std::vector<std::string> violations;
  for (const Level& level : levels_) {
    std::vector<bool> seen(tokens_.size() + 1, false);
    for (std::size_t chain = 0; chain < level.latest.size(); ++chain) {
      TokenPos before = length_of(tokens_) + 1;
      for (TokenPos end = level.latest[chain]; end > 0; end = level.earlier[at(end - 1)]) {
        if (end >= before || end < level.gram) {
          violations.emplace_back("NGRAM-1: a chain goes astray");
          break;
        }
        if (chain_of(level, gram_at(level, end)) == chain) seen[at(end)] = true;
        before = end;
      }
    }
    const auto grams = std::max(0, length_of(tokens_) - level.gram + 1);
    if (std::ranges::count(seen, true) != grams)
      violations.emplace_back("NGRAM-2: a gram is not filed");
    if (level.earlier.size() != tokens_.size())
      violations.emplace_back("NGRAM-2: ends are miscounted");
  }
  return violations;
}

// --- the companion ---------------------------------------------------------------

NgramCompanion::NgramCompanion(int slots, NgramOptions options)
    : indexes_(static_cast<std::size_t>(slots), NgramIndex(options)) {}

TokenSpan NgramCompanion::tokens(SlotId slot) const {
  CHECK(slot.value >= 0 && slot.value < static_cast<int>(indexes_.size()));
  return indexes_[static_cast<std::size_t>(slot.value)].tokens();
}

NgramIndex& NgramCompanion::index(SlotId slot) {
  CHECK(slot.value >= 0 && slot.value < static_cast<int>(indexes_.size()));
  return indexes_[static_cast<std::size_t>(slot.value)];
}

Followed NgramCompanion::follow(SlotId slot, const CompanionPoint& point) noexcept {
  try {
    NgramIndex& mine = index(slot);
    const TokenPos common = common_prefix(mine.tokens(), point.tokens);
    mine.trim(common);
    mine.append(point.tokens.subspan(static_cast<std::size_t>(common)));
    return {.held = length_of(point.tokens)};
  } catch (...) {
    index(slot).clear();
    return {.missing = "out of memory"};
  }
}

void NgramCompanion::advance(SlotId slot, TokenSpan kept, TokenPos) noexcept {
  try {
    index(slot).append(kept);
  } catch (...) {
    index(slot).clear();
  }
}

void NgramCompanion::draft(std::span<DraftWish> wishes) noexcept {
  for (DraftWish& wish : wishes) {
    try {
      wish.draft = index(wish.slot).propose(wish.next, wish.most);
    } catch (...) {
      wish.draft.clear();
    }
  }
}

CompanionSaved NgramCompanion::save(SlotId, std::span<const TokenRange> blocks, TokenPos) noexcept {
  try {
    return {.rows = std::vector<CheckedBytes>(blocks.size()), .place = {}};
  } catch (...) {
    return {};
  }
}

std::vector<std::string> NgramCompanion::check() const {
  std::vector<std::string> violations;
  for (const NgramIndex& each : indexes_) {
    for (std::string& violation : each.check()) violations.push_back(std::move(violation));
  }
  return violations;
}

}  // namespace holdfast::engine
