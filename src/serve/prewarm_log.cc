#include "serve/prewarm_log.h"

#include <algorithm>
#include <span>
#include <vector>

#include "state/extent_block.h"

namespace holdfast::serve {

namespace {

WideHash hash_of(TokenSpan prompt, TokenPos end) {
  return wide_hash(std::as_bytes(prompt.first(static_cast<std::size_t>(end))));
}

}  // namespace

void PrewarmLog::note(SpaceKey space, TokenSpan prompt, TokenPos begin) {
  const TokenPos end = length_of(prompt);
  if (end <= begin) return;
  if (!readings_.empty()) {
    const Reading& latest = readings_.back();
    const bool goes_on =
        latest.space == space && latest.end == begin && latest.hash == hash_of(prompt, begin);
    if (goes_on) {
      begin = latest.begin;
      readings_.pop_back();
    }
  }
  readings_.push_back({space, begin, end, hash_of(prompt, end)});
  if (readings_.size() > kReadingsMax) readings_.pop_front();
}

TokenPos PrewarmLog::claim(SpaceKey space, TokenSpan prompt, TokenPos restored) {
  std::vector<TokenRange> read;
  std::erase_if(readings_, [&](const Reading& reading) {
    const bool its = reading.space == space && reading.end <= restored &&
                     reading.hash == hash_of(prompt, reading.end);
    if (its) read.push_back({reading.begin, reading.end});
    return its;
  });
  std::ranges::sort(read, {}, &TokenRange::begin);
  TokenPos tokens = 0;
  TokenPos reached = 0;
  for (const TokenRange& range : read) {
    tokens += std::max(range.end - std::max(range.begin, reached), 0);
    reached = std::max(reached, range.end);
  }
  return tokens;
}

}  // namespace holdfast::serve
