#include "engine/token_trie.h"

#include <algorithm>

namespace holdfast::engine {

struct TokenTrie::Spelled {
  std::u32string code_points;
  End end;
};

namespace {

bool continues_a_character(const std::string& piece) {
  return !piece.empty() && (static_cast<unsigned char>(piece[0]) & 0xC0U) == 0x80U;
}

// Whole characters go to `code_points`, a begun one at the end to `part`. False if the bytes are no
// UTF-8.
bool spell(std::string_view piece, std::u32string& code_points, Utf8Part& part) {
  while (!piece.empty()) {
    const int following = utf8_following(static_cast<unsigned char>(piece[0]));
    if (following < 0 || piece[0] == '\0') return false;
    if (piece.size() <= static_cast<std::size_t>(following)) {
      part = utf8_begin(static_cast<unsigned char>(piece[0]), following);
      return std::ranges::all_of(
          piece.substr(1), [&](char c) { return utf8_add(part, static_cast<unsigned char>(c)); });
    }
    const auto decoded = decode_utf8(piece);
    if (!decoded) return false;
    code_points.push_back(decoded->code_point);
    piece.remove_prefix(decoded->bytes);
  }
  return true;
}

}  // namespace

TokenTrie::TokenTrie(std::span<const std::string> pieces) : pieces_(pieces.begin(), pieces.end()) {
  std::vector<Spelled> spelled;
  for (std::size_t id = 0; id < pieces_.size(); ++id) {
    const auto token = static_cast<Token>(id);
    Spelled one{{}, {token, {}}};
    if (continues_a_character(pieces_[id])) {
      continuing_.push_back(token);
    } else if (!pieces_[id].empty() && spell(pieces_[id], one.code_points, one.end.part)) {
      spelled.push_back(std::move(one));
    }
  }
  std::ranges::sort(spelled, {}, &Spelled::code_points);
  places_.emplace_back();
  std::vector<std::uint32_t> path{0};
  for (const Spelled& one : spelled) add(one, path);
  for (const std::uint32_t open : path)
    places_[open].after = static_cast<std::uint32_t>(places_.size());
}

// `path` leads from the root to the place added last. The tokens come in order, so what two
// neighbours share is at the beginning of the path.
void TokenTrie::add(const Spelled& one, std::vector<std::uint32_t>& path) {
  std::size_t shared = 0;
  while (shared < one.code_points.size() && shared + 1 < path.size() &&
         places_[path[shared + 1]].code_point == one.code_points[shared]) {
    ++shared;
  }
  const auto end = static_cast<std::uint32_t>(places_.size());
  for (std::size_t i = shared + 1; i < path.size(); ++i) places_[path[i]].after = end;
  path.resize(shared + 1);
  const auto tokens = static_cast<std::uint32_t>(ends_.size());
  for (; shared < one.code_points.size(); ++shared) {
    path.push_back(static_cast<std::uint32_t>(places_.size()));
    places_.push_back(
        {one.code_points[shared], static_cast<std::uint32_t>(shared + 1), 0, tokens, tokens});
  }
  depth_ = std::max(depth_, static_cast<std::uint32_t>(one.code_points.size()));
  ends_.push_back(one.end);
  Place& last = places_[path.back()];
  if (last.tokens_begin == last.tokens_end) last.tokens_begin = tokens;
  last.tokens_end = tokens + 1;
}

}  // namespace holdfast::engine
