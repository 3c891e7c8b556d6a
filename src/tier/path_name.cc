#include "tier/path_name.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace holdfast::tier {

namespace {

static_assert(std::endian::native == std::endian::little, "files are little endian");

PathName front_of(const Sha256Digest& digest) {
  PathName name;
  std::copy_n(digest.begin(), name.bytes.size(), name.bytes.begin());
  return name;
}

PathName step(Sha256& sha, const PathName& from, TokenSpan tokens) {
  return front_of(sha.add(from.bytes).add(std::as_bytes(tokens)).digest());
}

}  // namespace

std::array<std::byte, 16> space_bytes(SpaceKey space) {
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), &space.high, sizeof(space.high));
  std::memcpy(bytes.data() + sizeof(space.high), &space.low, sizeof(space.low));
  return bytes;
}

PathName root_name(SpaceKey space) {
  constexpr std::string_view kPurpose = "holdfast path";
  Sha256 sha;
  return front_of(sha.add(std::as_bytes(std::span(kPurpose))).add(space_bytes(space)).digest());
}

PathNamer::PathNamer(SpaceKey space) : PathNamer(root_name(space), 0) {}

PathNamer::PathNamer(PathName at, TokenPos position) : length_(position), anchors_{at} {
  CHECK(position >= 0 && position % kBlockTokens == 0);
}

void PathNamer::append(TokenSpan tokens) {
  length_ += length_of(tokens);
  while (!tokens.empty()) {
    const std::size_t room = kBlockTokens - tail_.size();
    const TokenSpan taken = tokens.first(std::min(room, tokens.size()));
    tail_.insert(tail_.end(), taken.begin(), taken.end());
    tokens = tokens.subspan(taken.size());
    if (tail_.size() < static_cast<std::size_t>(kBlockTokens)) return;
    anchors_.push_back(step(sha_, anchors_.back(), tail_));
    tail_.clear();
  }
}

PathName PathNamer::name() {
  return tail_.empty() ? anchors_.back() : step(sha_, anchors_.back(), tail_);
}

}  // namespace holdfast::tier
