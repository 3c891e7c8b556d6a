#include "serve/text_assembler.h"

#include <algorithm>
#include <utility>

namespace holdfast::serve {

namespace {

// Length that the first byte of a character announces; 0 for a continuation.
std::size_t announced_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

}  // namespace

std::size_t incomplete_utf8_tail(std::string_view text) {
  const std::size_t reach = std::min<std::size_t>(3, text.size());
  for (std::size_t back = 1; back <= reach; ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // a continuation: look further back
    return announced_length(byte) > back ? back : 0;
  }
  return 0;
}

TextAssembler::TextAssembler(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

// The stop string that is complete first wins, however the bytes were cut into
// tokens; of two that end together, the longer.
std::optional<TextAssembler::StopMatch> TextAssembler::find_stop() const {
  std::optional<StopMatch> first;
  std::size_t first_end = 0;
  for (std::size_t i = 0; i < stops_.size(); ++i) {
    const std::size_t position = pending_.find(stops_[i]);
    if (position == std::string::npos) continue;
    const std::size_t end = position + stops_[i].size();
    if (!first || end < first_end || (end == first_end && position < first->position)) {
      first = StopMatch{position, i};
      first_end = end;
    }
  }
  return first;
}

// The longest tail of the pending text that is the beginning of a stop string.
std::size_t TextAssembler::possible_stop_tail() const {
  std::size_t longest = 0;
  for (const std::string& stop : stops_) {
    const std::size_t reach = std::min(stop.size() - 1, pending_.size());
    for (std::size_t n = reach; n > longest; --n) {
      if (pending_.compare(pending_.size() - n, n, stop, 0, n) == 0) longest = n;
    }
  }
  return longest;
}

TextAssembler::Piece TextAssembler::feed(std::string_view bytes) {
  if (stopped_) return {};
  pending_ += bytes;
  if (const auto match = find_stop()) {
    stopped_ = true;
    return {pending_.substr(0, match->position), stops_[match->index]};
  }
  const std::size_t hold = std::max(possible_stop_tail(), incomplete_utf8_tail(pending_));
  Piece piece{pending_.substr(0, pending_.size() - hold), std::nullopt};
  pending_.erase(0, pending_.size() - hold);
  // A stop string that starts inside a character must not split what is sent.
  if (const std::size_t tail = incomplete_utf8_tail(piece.text); tail > 0 && hold > 0) {
    pending_.insert(0, piece.text, piece.text.size() - tail, tail);
    piece.text.resize(piece.text.size() - tail);
  }
  return piece;
}

std::string TextAssembler::flush() {
  if (stopped_) return {};
  return std::exchange(pending_, {});
}

}  // namespace holdfast::serve
