// The numbers and texts of a recording, as docs/formats/recording.md writes them.
//
// RecordReader never reads beyond its bytes. After the first value that does not fit it returns
// zeros and failed() is true. So a decoder reads everything and asks once, at the end.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/tokens.h"

namespace holdfast::record {

class RecordWriter {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void truth(bool value) { byte(value ? 1 : 0); }
  // Seven bits a byte, the lowest first.
  void number(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) byte(static_cast<std::uint8_t>(value | 0x80U));
    byte(static_cast<std::uint8_t>(value));
  }
  // Numbers near zero take few bytes, whatever their sign.
  void signed_number(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    number((bits << 1U) ^ (value < 0 ? ~std::uint64_t{0} : 0));
  }
  void position(TokenPos value) { number(static_cast<std::uint64_t>(value)); }
  void real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(bits >> shift));
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  void append(const RecordWriter& other) { bytes_ += other.bytes_; }
  void clear() { bytes_.clear(); }
  [[nodiscard]] std::string take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }
  void fail() { failed_ = true; }

  std::uint8_t byte() {
    if (failed_ || left() == 0) return refuse();
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  bool truth() {
    const std::uint8_t value = byte();
    if (value > 1) refuse();
    return value == 1;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      if (shift == 63 && next > 1) return refuse();
      value |= static_cast<std::uint64_t>(next & 0x7FU) << shift;
      if (next < 0x80U) return failed_ ? 0 : value;
    }
    return refuse();
  }
  // At most `most`.
  std::uint64_t number(std::uint64_t most) {
    const std::uint64_t value = number();
    return value <= most ? value : refuse();
  }
  std::int64_t signed_number() {
    const std::uint64_t bits = number();
    return static_cast<std::int64_t>((bits >> 1U) ^ (~(bits & 1U) + 1U));
  }
  // A time up to the year 9999.
  std::int64_t unix_ms() {
    constexpr std::int64_t kMost = 253'402'300'799'999;
    const std::int64_t value = signed_number();
    return value >= 0 && value <= kMost ? value : refuse();
  }
  TokenPos position(TokenPos most = std::numeric_limits<TokenPos>::max()) {
    return static_cast<TokenPos>(number(static_cast<std::uint64_t>(most)));
  }
  // How many items follow, each of which takes at least a byte.
  std::size_t count() {
    const std::uint64_t value = number();
    return value <= left() ? static_cast<std::size_t>(value) : refuse();
  }
  double real() {
    std::uint64_t bits = 0;
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bits |= static_cast<std::uint64_t>(byte()) << shift;
    }
    return failed_ ? 0.0 : std::bit_cast<double>(bits);
  }
  std::string text() {
    const std::size_t length = count();
    if (failed_) return {};
    std::string value(bytes_.substr(at_, length));
    at_ += length;
    return value;
  }

 private:
  std::uint8_t refuse() {
    failed_ = true;
    return 0;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace holdfast::record
