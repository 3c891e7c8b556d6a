#include "engine/schema_pattern.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace holdfast::engine {

namespace {

constexpr std::size_t kPatternBytesMax = 2048;
constexpr int kGroupsMax = 100;  // the library counts groups that are open, and recurses for each

struct NotConvertible {
  std::string reason;
};

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Reads a pattern as the library does: the same syntax, the same refusals.
class PatternReader {
 public:
  explicit PatternReader(std::string_view text) : text_(text) {}

  void read() {
    if (text_.size() > kPatternBytesMax) {
      throw NotConvertible{"it is longer than " + std::to_string(kPatternBytesMax) + " bytes"};
    }
    if (text_.size() < 2 || text_.front() != '^' || text_.back() != '$') {
      throw NotConvertible{"it must begin with '^' and end with '$'"};
    }
    text_ = text_.substr(1, text_.size() - 2);
    while (at_ < text_.size()) read_item();
    if (depth_ != 0) throw NotConvertible{"a group is not closed"};
  }

 private:
  [[nodiscard]] char look(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void read_item() {
    switch (look()) {
      case '(': return open_group();
      case ')': return close_group();
      case '[': return read_class();
      case '{': return read_counts();
      case '*':
      case '+':
      case '?': return read_quantifier();
      case '\\': read_escape(false); break;
      case '^':
      case '$': throw NotConvertible{"it has an anchor inside"};
      case ']':
      case '}': throw NotConvertible{std::string("it has a '") + look() + "' that closes nothing"};
      default: ++at_; break;
    }
    repeatable_ = text_[at_ - 1] != '|';
  }

  void open_group() {
    ++at_;
    if (look() == '?') {
      if (look(1) != ':') throw NotConvertible{"it has a group of a kind that is not supported"};
      at_ += 2;
    }
    if (++depth_ > kGroupsMax) throw NotConvertible{"its groups are nested too deep"};
    repeatable_ = false;
  }

  void close_group() {
    ++at_;
    if (--depth_ < 0) throw NotConvertible{"a ')' closes nothing"};
    repeatable_ = true;
  }

  void read_class() {
    ++at_;
    if (look() == '^') ++at_;
    if (look() == ']') throw NotConvertible{"it has an empty character class"};
    while (look() != ']') {
      if (at_ >= text_.size()) throw NotConvertible{"a character class is not closed"};
      if (look() == '\\') {
        read_escape(true);
      } else {
        ++at_;
      }
    }
    ++at_;
    repeatable_ = true;
  }

  // A lazy or possessive one (a+?, a++) would be read as a repetition of a repetition.
  void read_quantifier() {
    if (!repeatable_) throw NotConvertible{"it repeats nothing"};
    ++at_;
    repeatable_ = false;
  }

  void read_counts() {
    const std::size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) throw NotConvertible{"a '{' is not closed"};
    const std::string_view counts = text_.substr(at_ + 1, end - at_ - 1);
    const std::size_t comma = counts.find(',');
    const int least = read_count(counts.substr(0, comma), 0);
    const int most =
        comma == std::string_view::npos ? least : read_count(counts.substr(comma + 1), INT32_MAX);
    if (most < least) {
      throw NotConvertible{"the repetition {" + std::string(counts) + "} ends before it begins"};
    }
    at_ = end;
    read_quantifier();
  }

  static int read_count(std::string_view digits, int otherwise) {
    if (digits.empty() && otherwise != 0) return otherwise;
    int count = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    const bool whole = end == digits.data() + digits.size();
    if (digits.empty() || error != std::errc() || !whole || count < 0) {
      throw NotConvertible{"a repetition's number cannot be used"};
    }
    return count;
  }

  void read_escape(bool in_class) {
    constexpr std::string_view kAnywhere = "trn\\\"[]-";
    constexpr std::string_view kOutside = "^$.()|{}*+?";
    const char escaped = look(1);
    const std::size_t digits = escaped == 'x' ? 2 : escaped == 'u' ? 4 : escaped == 'U' ? 8 : 0;
    bool known = digits > 0 || (escaped != '\0' && kAnywhere.find(escaped) != kAnywhere.npos);
    known = known || (!in_class && escaped != '\0' && kOutside.find(escaped) != kOutside.npos);
    for (std::size_t i = 0; i < digits; ++i) known = known && is_hex(look(2 + i));
    if (!known) {
      throw NotConvertible{"it has the escape '" + std::string(text_.substr(at_, 2)) +
                           "', which is not supported" + (in_class ? " in a class" : "")};
    }
    at_ += 2 + digits;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool repeatable_ = false;
};

}  // namespace

std::optional<std::string> why_not_convertible(std::string_view pattern) {
  try {
    PatternReader(pattern).read();
    return std::nullopt;
  } catch (const NotConvertible& found) {
    return found.reason;
  }
}

}  // namespace holdfast::engine
