#include "env/escaped_text.h"

#include <array>
#include <cstddef>
#include <cstdio>

namespace holdfast::env {

namespace {

// The control characters of ASCII, and U+0080..U+009F as the two bytes they are.
bool is_control(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const auto in_c1 = [&](std::size_t at) { return byte(at) >= 0x80 && byte(at) < 0xA0; };
  if (byte(i) < ' ' || byte(i) == 0x7F) return true;
  if (byte(i) == 0xC2) return i + 1 < text.size() && in_c1(i + 1);
  return in_c1(i) && i > 0 && byte(i - 1) == 0xC2;
}

std::string escaped(unsigned char byte) {
  if (byte == '\n') return "\\n";
  if (byte == '\t') return " ";
  std::array<char, 8> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "\\x%02x", byte);
  return buffer.data();
}

}  // namespace

std::string escaped_line(std::string_view text) {
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_control(text, i)) {
      line += escaped(static_cast<unsigned char>(text[i]));
    } else {
      line += text[i];
    }
  }
  return line;
}

std::string escaped_lines(std::string_view text) {
  std::string lines;
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    lines += escaped_line(text.substr(0, end)) + "\n  ";
    text.remove_prefix(end + 1);
  }
  return lines + escaped_line(text);
}

}  // namespace holdfast::env
