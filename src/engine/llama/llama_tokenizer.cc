#include "engine/llama/llama_tokenizer.h"

#include <common.h>

#include <algorithm>
#include <string>

namespace holdfast::llama {

namespace {

constexpr std::uint64_t kOneToken = std::uint64_t{1} << 32U;

std::string tokenizer_model(const llama_model* model) {
  std::array<char, 64> name{};
  const int size =
      llama_model_meta_val_str(model, "tokenizer.ggml.model", name.data(), name.size());
  return size > 0 ? std::string(name.data()) : std::string();
}

// Tokenizers that leave no byte of a text out. Others normalise it, or read a whole word as
// "unknown".
bool keeps_every_byte(const llama_model* model) {
  const std::string name = tokenizer_model(model);
  return name == "gpt2" || name == "llama" || name == "gemma4";
}

}  // namespace

LlamaTokenizer::LlamaTokenizer(const llama_model* model, std::size_t cuts_max)
    : vocab_(llama_model_get_vocab(model)), special_(vocab_), cuts_max_(cuts_max) {
  if (llama_vocab_type(vocab_) == LLAMA_VOCAB_TYPE_NONE) return;
  read_ends();
  weigh_bytes(model);
}

void LlamaTokenizer::read_ends() {
  const Tokens ends = common_tokenize(vocab_, "", true, false);
  const bool begins = ends.size() == 2 || llama_vocab_get_add_bos(vocab_);
  front_.assign(ends.begin(), ends.begin() + (begins && !ends.empty() ? 1 : 0));
  back_.assign(ends.begin() + static_cast<std::ptrdiff_t>(front_.size()), ends.end());
}

Tokens LlamaTokenizer::tokenize(std::string_view text, bool add_special, bool parse_special) const {
  if (!special_.as_library() || special_.count(text) <= cuts_max_) {
    return common_tokenize(vocab_, std::string(text), add_special, parse_special);
  }
  return tokenize_pieces(text, add_special, special_.cut(text, parse_special), {});
}

Tokens LlamaTokenizer::tokenize_prompt(std::string_view text, bool add_special,
                                       std::span<const engine::TextRange> literal) const {
  if (literal.empty()) return tokenize(text, add_special, true);
  return tokenize_pieces(text, add_special, special_.cut(text, true, literal), literal);
}

// A piece of text holds no word that would cut it, so the library reads it as it is: with
// `parse_special` off, which spares looking for control tokens.
Tokens LlamaTokenizer::tokenize_pieces(std::string_view text, bool add_special,
                                       std::span<const TextPiece> pieces,
                                       std::span<const engine::TextRange> literal) const {
  Tokens tokens = add_special ? front_ : Tokens();
  for (const TextPiece& piece : pieces) {
    if (piece.token >= 0) {
      tokens.push_back(piece.token);
      continue;
    }
    Tokens read = read_text(text.substr(piece.begin, piece.end - piece.begin));
    if (!literal.empty() && has_control(read)) read = read_in_letters(text, piece, literal);
    tokens.insert(tokens.end(), read.begin(), read.end());
  }
  if (add_special) tokens.insert(tokens.end(), back_.begin(), back_.end());
  return tokens;
}

Tokens LlamaTokenizer::read_text(std::string_view text) const {
  return common_tokenize(vocab_, std::string(text), false, false);
}

bool LlamaTokenizer::has_control(TokenSpan tokens) const {
  return std::ranges::any_of(tokens, [&](Token token) {
    return (llama_vocab_get_attr(vocab_, token) & LLAMA_TOKEN_ATTR_CONTROL) != 0;
  });
}

// Text that goes on: some vocabularies put a space before each text, which a line end takes here.
Tokens LlamaTokenizer::read_on(std::string_view text) const {
  const Tokens line_end = read_text("\n");
  Tokens tokens = read_text("\n" + std::string(text));
  const bool apart = tokens.size() >= line_end.size() &&
                     std::equal(line_end.begin(), line_end.end(), tokens.begin());
  if (!apart) return read_text(text);
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(line_end.size()));
  return tokens;
}

// Some kinds of vocabulary find control tokens in plain text: SentencePiece makes "</s>" of "</"
// and "s>". There, what must stay text is read letter by letter.
Tokens LlamaTokenizer::read_in_letters(std::string_view text, const TextPiece& piece,
                                       std::span<const engine::TextRange> literal) const {
  Tokens tokens;
  std::size_t at = piece.begin;
  const auto read_to = [&](std::size_t end) {
    if (end <= at) return;
    const std::string_view part = text.substr(at, end - at);
    const Tokens read = at == piece.begin ? read_text(part) : read_on(part);
    tokens.insert(tokens.end(), read.begin(), read.end());
    at = end;
  };
  for (const engine::TextRange& range : literal) {
    for (std::size_t i = std::max(range.begin, at); i < std::min(range.end, piece.end); ++i) {
      const bool begins_letter = (static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U;
      if (begins_letter) read_to(i);
    }
    if (range.end < piece.end) read_to(range.end);
  }
  read_to(piece.end);
  return tokens;
}

// A byte counts one n-th of a token, where n is the length of the longest token that it occurs in.
// So the bytes that make one token up never count for more than one, whichever token it is.
// A vocabulary may spell a space as three bytes; the longer spelling is the one that counts.
void LlamaTokenizer::weigh_bytes(const llama_model* model) {
  if (!keeps_every_byte(model)) return;
  std::array<std::size_t, 256> longest{};
  std::array<bool, 256> alone{};  // a byte without a token of its own may be left out
  for (Token token = 0; token < llama_vocab_n_tokens(vocab_); ++token) {
    const std::string piece = common_token_to_piece(vocab_, token, true);
    const std::string spelling = llama_vocab_get_text(vocab_, token);
    const std::size_t length = std::max(piece.size(), spelling.size());
    for (const unsigned char byte : piece + spelling)
      longest[byte] = std::max(longest[byte], length);
    if (piece.size() == 1) alone[static_cast<unsigned char>(piece.front())] = true;
  }
  for (std::size_t byte = 0; byte < weights_.size(); ++byte) {
    if (alone[byte]) weights_[byte] = kOneToken / longest[byte];
  }
  if (!special_.any_drops_space()) return;
  for (const unsigned char space : std::string_view(" \t\n\v\f\r")) weights_[space] = 0;
}

std::int64_t LlamaTokenizer::tokens_at_least(std::string_view text) const {
  std::uint64_t sum = 0;
  for (const unsigned char byte : text) sum += weights_[byte];
  return static_cast<std::int64_t>(sum / kOneToken);
}

}  // namespace holdfast::llama
