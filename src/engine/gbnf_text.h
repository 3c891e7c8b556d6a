// GbnfText: a grammar's text, read from left to right.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/utf8.h"

namespace holdfast::engine {

// Ends in gbnf_parser.cc.
struct GbnfError {
  std::string message;
  ErrorCode code = ErrorCode::kInvalidArgument;
};

inline bool is_gbnf_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_gbnf_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || is_gbnf_digit(c);
}

class GbnfText {
 public:
  explicit GbnfText(std::string_view text) : text_(text) {}

  [[nodiscard]] bool ended() const { return at_ >= text_.size(); }
  [[nodiscard]] char look(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip(std::size_t bytes) { at_ += bytes; }

  [[noreturn]] void fail(const std::string& what) const {
    const auto line =
        1 + std::count(text_.begin(),
                       text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())),
                       '\n');
    throw GbnfError{"The grammar does not parse: line " + std::to_string(line) + ": " + what + "."};
  }

  void skip_space(bool newlines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
      } else if (c == ' ' || c == '\t' || (newlines && (c == '\r' || c == '\n'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  void expect(char c) {
    if (look() != c) fail(std::string("'") + c + "' is missing");
    ++at_;
  }

  std::uint32_t read_hex(std::size_t digits) {
    std::uint32_t value = 0;
    const char* begin = text_.data() + at_;
    if (at_ + digits > text_.size()) fail("an escape is cut short");
    const auto [end, error] = std::from_chars(begin, begin + digits, value, 16);
    if (error != std::errc() || end != begin + digits) fail("an escape has a wrong digit");
    at_ += digits;
    return value;
  }

  std::uint32_t read_char() {
    if (look() != '\\') return read_code_point();
    const char escaped = look(1);
    at_ += 2;
    switch (escaped) {
      case 'x': return read_hex(2);
      case 'u': return read_hex(4);
      case 'U': return read_hex(8);
      case 't': return '\t';
      case 'r': return '\r';
      case 'n': return '\n';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-': return static_cast<std::uint32_t>(escaped);
      default: fail("an unknown escape");
    }
  }

  std::uint32_t read_code_point() {
    if (at_ >= text_.size()) fail("the text ends in the middle");
    const auto decoded = decode_utf8(text_.substr(at_));
    if (!decoded) fail("the text is not UTF-8");
    at_ += decoded->bytes;
    return decoded->code_point;
  }

  std::string_view read_name() {
    const std::size_t begin = at_;
    while (is_gbnf_word(look())) ++at_;
    if (at_ == begin) fail("a name is missing");
    return text_.substr(begin, at_ - begin);
  }

  std::uint64_t read_number() {
    std::uint64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (end == begin) fail("a number is missing");
    at_ += static_cast<std::size_t>(end - begin);
    return error == std::errc() ? value : UINT64_MAX - 1;
  }

  // <...>, as it stands there.
  std::string_view read_bracketed() {
    const std::size_t end = text_.find('>', at_);
    if (end == std::string_view::npos) fail("'>' is missing");
    const std::string_view name = text_.substr(at_, end + 1 - at_);
    at_ = end + 1;
    return name;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace holdfast::engine
