#include "record/sequence_book.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::record {

// An edge of the tree of all sequences: positions [begin, end) of one of them. It lies within what
// that sequence added itself.
struct SequenceWriter::Node {
  std::uint64_t sequence = 0;
  TokenPos begin = 0;
  TokenPos end = 0;
  Node* parent = nullptr;
  std::unordered_map<Token, Node*> children;
};

SequenceWriter::SequenceWriter() { clear(); }
SequenceWriter::~SequenceWriter() = default;

void SequenceWriter::clear() {
  nodes_.clear();
  nodes_.push_back(std::make_unique<Node>());
  sequences_.clear();
  tokens_ = 0;
}

// An edge may have been split above the cursor since it was noted.
SequenceWriter::Node* SequenceWriter::node_at(const Cursor& cursor) const {
  Node* node = cursor.node != nullptr ? cursor.node : nodes_.front().get();
  while (node->parent != nullptr && cursor.length <= node->begin) node = node->parent;
  return node;
}

Token SequenceWriter::token_at(const Node& node, TokenPos position) const {
  const Sequence& sequence = sequences_[node.sequence];
  return sequence.own[static_cast<std::size_t>(position - sequence.begin)];
}

// Moves the cursor along earlier sequences as far as they have these tokens. Returns how many.
TokenPos SequenceWriter::walk(Cursor& cursor, TokenSpan tokens) const {
  Node* node = node_at(cursor);
  TokenPos agreed = 0;
  for (const Token token : tokens) {
    const TokenPos at = cursor.length + agreed;
    if (at == node->end) {
      const auto child = node->children.find(token);
      if (child == node->children.end()) break;
      node = child->second;
    } else if (token_at(*node, at) != token) {
      break;
    }
    ++agreed;
  }
  cursor = {node, cursor.length + agreed};
  return agreed;
}

Passage SequenceWriter::add(Cursor& cursor, TokenSpan tokens) {
  Passage passage;
  passage.shared = walk(cursor, tokens);
  if (passage.shared > 0) passage.from = cursor.node->sequence;
  const TokenSpan fresh = tokens.subspan(static_cast<std::size_t>(passage.shared));
  passage.fresh = fresh.size();
  if (!fresh.empty()) grow(cursor, fresh);
  return passage;
}

// REQUIRES: no sequence has the first of these tokens after the cursor.
void SequenceWriter::grow(Cursor& cursor, TokenSpan fresh) {
  Node* node = cursor.node;
  const bool at_end = node->parent != nullptr && cursor.length == node->end &&
                      cursor.length == sequences_[node->sequence].end();
  if (!at_end) {
    if (node->parent != nullptr && cursor.length < node->end) node = split(node, cursor.length);
    auto made = std::make_unique<Node>();
    made->sequence = sequences_.size();
    made->begin = made->end = cursor.length;
    made->parent = node;
    node->children.emplace(fresh.front(), made.get());
    node = made.get();
    nodes_.push_back(std::move(made));
    sequences_.push_back({cursor.length, {}});
  }
  Tokens& own = sequences_[node->sequence].own;
  own.insert(own.end(), fresh.begin(), fresh.end());
  node->end += length_of(fresh);
  tokens_ += fresh.size();
  cursor = {node, node->end};
}

// The upper part becomes the new node, so that cursors in the lower part stay valid.
SequenceWriter::Node* SequenceWriter::split(Node* node, TokenPos at) {
  CHECK(node->begin < at && at < node->end);
  auto upper = std::make_unique<Node>();
  upper->sequence = node->sequence;
  upper->begin = node->begin;
  upper->end = at;
  upper->parent = node->parent;
  upper->children.emplace(token_at(*node, at), node);
  node->parent->children[token_at(*node, node->begin)] = upper.get();
  node->begin = at;
  node->parent = upper.get();
  nodes_.push_back(std::move(upper));
  return nodes_.back().get();
}

void SequenceReader::clear() {
  sequences_.clear();
  tokens_ = 0;
}

Tokens SequenceReader::tokens_of(std::uint64_t sequence, TokenPos begin, TokenPos end) const {
  Tokens tokens(static_cast<std::size_t>(end - begin));
  std::optional<std::uint64_t> at = sequence;
  for (TokenPos open = end; open > begin && at;) {
    const Sequence& from = sequences_[*at];
    const TokenPos lowest = std::max(begin, from.begin);
    if (lowest < open) {
      std::copy(from.own.begin() + (lowest - from.begin), from.own.begin() + (open - from.begin),
                tokens.begin() + (lowest - begin));
      open = lowest;
    }
    at = from.parent;
  }
  return tokens;
}

Tokens& SequenceReader::growing(Cursor& cursor) {
  const bool at_end = cursor.sequence && sequences_[*cursor.sequence].end() == cursor.length;
  if (!at_end) {
    sequences_.push_back({cursor.sequence, cursor.length, {}});
    cursor.sequence = sequences_.size() - 1;
  }
  return sequences_[*cursor.sequence].own;
}

std::optional<Tokens> SequenceReader::read(Cursor& cursor, const Passage& passage, TokenSpan ids) {
  Tokens tokens;
  if (passage.shared > 0) {
    if (passage.from >= sequences_.size()) return std::nullopt;
    const TokenPos left = sequences_[passage.from].end() - cursor.length;
    if (left < passage.shared) return std::nullopt;
    const TokenPos end = cursor.length + passage.shared;
    tokens = tokens_of(passage.from, cursor.length, end);
    cursor = {passage.from, end};
  }
  if (passage.fresh == 0) return tokens;
  Tokens& own = growing(cursor);
  for (std::size_t i = 0; i < passage.fresh; ++i) {
    tokens.push_back(ids.empty() ? invented_++ : ids[i]);
    own.push_back(tokens.back());
  }
  cursor.length += static_cast<TokenPos>(passage.fresh);
  tokens_ += passage.fresh;
  return tokens;
}

}  // namespace holdfast::record
