#include "engine/llama/special_tokens.h"

#include <common.h>

#include <algorithm>

namespace holdfast::llama {

namespace {

using engine::TextRange;

// What isspace() says in the C locale.
bool is_space(char letter) {
  return std::string_view(" \t\n\v\f\r").find(letter) != std::string_view::npos;
}

std::vector<SpecialWord> read_words(const llama_vocab* vocab) {
  constexpr int kControl = LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN;
  std::vector<SpecialWord> words;
  for (Token token = 0; token < llama_vocab_n_tokens(vocab); ++token) {
    const int attributes = llama_vocab_get_attr(vocab, token);
    if ((attributes & (kControl | LLAMA_TOKEN_ATTR_USER_DEFINED)) == 0) continue;
    words.push_back({token, llama_vocab_get_text(vocab, token), (attributes & kControl) != 0,
                     (attributes & LLAMA_TOKEN_ATTR_LSTRIP) != 0,
                     (attributes & LLAMA_TOKEN_ATTR_RSTRIP) != 0});
  }
  // The library's sort, which is not a stable one.
  std::sort(words.begin(), words.end(), [](const SpecialWord& a, const SpecialWord& b) {
    return a.text.size() > b.text.size();
  });
  return words;
}

bool touches(std::span<const TextRange> ranges, std::size_t begin, std::size_t end) {
  const auto first = std::ranges::upper_bound(ranges, begin, {}, &TextRange::end);
  return first != ranges.end() && first->begin < end;
}

// One word cuts one piece of text.
void cut_piece(std::string_view text, const TextPiece& piece, const SpecialWord& word,
               std::span<const TextRange> literal, std::vector<TextPiece>& out) {
  const std::string_view within = text.substr(0, piece.end);
  std::size_t begin = piece.begin;
  const auto add_text = [&](std::size_t end) {
    if (end > begin) out.push_back({begin, end, -1});
  };
  std::size_t from = begin;
  while (true) {
    const std::size_t match = within.find(word.text, from);
    if (match == std::string_view::npos) break;
    const std::size_t match_end = match + word.text.size();
    from = match + 1;
    if (word.control && touches(literal, match, match_end)) continue;
    std::size_t end = match;
    while (word.drops_space_before && end > begin && is_space(text[end - 1])) --end;
    add_text(end);
    out.push_back({match, match_end, word.token});
    begin = match_end;
    while (word.drops_space_behind && begin < piece.end && is_space(text[begin])) ++begin;
    from = begin;
  }
  add_text(piece.end);
}

// Texts in which an end of one word is the beginning of another: "<|x|><" and "<|y|>" give
// "<|x|><|y|>". All words are of one length. Stops when there are more than `most`.
void add_overlaps(std::span<const SpecialWord> words, std::size_t most,
                  std::vector<std::string>& texts) {
  std::string first_letters;
  for (const SpecialWord& word : words) first_letters += word.text.front();
  for (const SpecialWord& one : words) {
    if (one.text.find_first_of(first_letters, 1) == std::string::npos) continue;
    for (const SpecialWord& other : words) {
      for (std::size_t shared = 1; shared < one.text.size() && texts.size() <= most; ++shared) {
        if (&one == &other || !one.text.ends_with(other.text.substr(0, shared))) continue;
        texts.push_back(one.text + other.text.substr(shared));
      }
    }
  }
}

}  // namespace

SpecialTokens::SpecialTokens(const llama_vocab* vocab) : words_(read_words(vocab)) {
  // The library would look for an empty word for ever; no vocabulary has one.
  std::erase_if(words_, [](const SpecialWord& word) { return word.text.empty(); });
  for (std::uint32_t i = 0; i < words_.size(); ++i) add_to_trie(i);
  as_library_ = ties_are_as_library(vocab);
}

bool SpecialTokens::any_drops_space() const {
  return std::ranges::any_of(words_, [](const SpecialWord& word) {
    return word.drops_space_before || word.drops_space_behind;
  });
}

std::size_t SpecialTokens::count(std::string_view text) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    visit_words_at(text, i, [&](std::uint32_t) { ++count; });
  }
  return count;
}

std::vector<TextPiece> SpecialTokens::cut(std::string_view text, bool control,
                                          std::span<const TextRange> literal) const {
  std::vector<TextPiece> pieces;
  if (!text.empty()) pieces.push_back({0, text.size(), -1});
  const std::vector<bool> occurs = words_in(text);
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (!occurs[i] || (words_[i].control && !control)) continue;
    std::vector<TextPiece> cut;
    cut.reserve(pieces.size());
    for (const TextPiece& piece : pieces) {
      if (piece.token >= 0) {
        cut.push_back(piece);
      } else {
        cut_piece(text, piece, words_[i], literal, cut);
      }
    }
    pieces = std::move(cut);
  }
  return pieces;
}

bool SpecialTokens::need_escapes() const {
  return std::ranges::any_of(words_, [](const SpecialWord& word) {
    return word.control && std::ranges::any_of(word.text, [](unsigned char letter) {
             return letter < 0x20 || letter == '"' || letter == '\\' || letter == 0x7f;
           });
  });
}

std::vector<TextRange> SpecialTokens::find_control(
    std::string_view text, std::optional<std::span<const Token>> only) const {
  const auto wanted = [&](const SpecialWord& word) {
    return word.control && (!only || std::ranges::find(*only, word.token) != only->end());
  };
  std::vector<TextRange> found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t length = 0;
    visit_words_at(text, i, [&](std::uint32_t word) {
      if (wanted(words_[word])) length = words_[word].text.size();
    });
    if (length == 0) continue;
    found.push_back({i, i + length});
    i += length - 1;
  }
  return found;
}

void SpecialTokens::add_to_trie(std::uint32_t word) {
  std::uint32_t at = 0;
  for (const char letter : words_[word].text) {
    auto& children = trie_[at].children;
    const auto known = std::ranges::find(children, letter, &std::pair<char, std::uint32_t>::first);
    if (known != children.end()) {
      at = known->second;
      continue;
    }
    const auto made = static_cast<std::uint32_t>(trie_.size());
    children.emplace_back(letter, made);
    trie_.emplace_back();
    at = made;
  }
  trie_[at].words.push_back(word);
}

const SpecialTokens::Node* SpecialTokens::child_of(const Node& node, char letter) const {
  for (const auto& [known, child] : node.children) {
    if (known == letter) return &trie_[child];
  }
  return nullptr;
}

// Shorter words come first.
template <typename Visit>
void SpecialTokens::visit_words_at(std::string_view text, std::size_t position, Visit visit) const {
  const Node* node = trie_.data();
  for (std::size_t i = position; i < text.size(); ++i) {
    node = child_of(*node, text[i]);
    if (node == nullptr) return;
    for (const std::uint32_t word : node->words) visit(word);
  }
}

std::vector<bool> SpecialTokens::words_in(std::string_view text) const {
  std::vector<bool> occurs(words_.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    visit_words_at(text, i, [&](std::uint32_t word) { occurs[word] = true; });
  }
  return occurs;
}

// Whether the library takes the same word where two of one length claim the same letters.
bool SpecialTokens::cuts_as_library(const llama_vocab* vocab, const std::string& text) const {
  const std::vector<TextPiece> pieces = cut(text, true);
  const auto ours =
      std::ranges::find_if(pieces, [](const TextPiece& one) { return one.token >= 0; });
  const Tokens theirs = common_tokenize(vocab, text, false, true);
  return ours != pieces.end() && std::ranges::find(theirs, ours->token) != theirs.end();
}

// Only words of one length can be in another order than the library's, and only where they overlap
// does it matter. Hardly any vocabulary has such a pair.
bool SpecialTokens::ties_are_as_library(const llama_vocab* vocab) const {
  constexpr std::size_t kProbesMax = 256;
  std::vector<std::string> probes;
  for (const Node& node : trie_) {
    if (node.words.size() > 1) probes.push_back(words_[node.words.front()].text);
  }
  for (auto group = words_.begin(); group != words_.end() && probes.size() <= kProbesMax;) {
    const auto end = std::find_if(group, words_.end(), [&](const SpecialWord& word) {
      return word.text.size() != group->text.size();
    });
    add_overlaps({group, end}, kProbesMax, probes);
    group = end;
  }
  return probes.size() <= kProbesMax && std::ranges::all_of(probes, [&](const std::string& text) {
           return cuts_as_library(vocab, text);
         });
}

}  // namespace holdfast::llama
