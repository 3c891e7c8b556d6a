#include "engine/llama/mtp_hidden_rows.h"

#include <algorithm>
#include <cstring>

namespace holdfast::llama {

MtpHiddenRows::MtpHiddenRows(std::size_t width, TokenPos usual) : carried_(width, 0.0F) {
  pending_.reserve(width * static_cast<std::size_t>(usual));
}

const float* MtpHiddenRows::at(TokenPos position) const {
  if (position == end()) return carried_.data();
  return pending_.data() + static_cast<std::size_t>(position - begin_) * carried_.size();
}

bool MtpHiddenRows::knows(TokenPos position) const {
  return position >= begin_ && position <= end() && position != unknown_at_;
}

void MtpHiddenRows::push(std::span<const float> row) {
  pending_.insert(pending_.end(), carried_.begin(), carried_.end());
  set_carried(row);
}

void MtpHiddenRows::set_carried(std::span<const float> row) {
  std::ranges::copy(row, carried_.begin());
}

void MtpHiddenRows::restore_carried(const CheckedView& kept) {
  if (unknown_at_ >= end()) unknown_at_ = -1;
  const bool fits = kept.bytes.size() == carried_.size() * sizeof(float);
  if (end() > 0 && fits && kept.intact()) {
    std::memcpy(carried_.data(), kept.bytes.data(), kept.bytes.size());
    return;
  }
  std::ranges::fill(carried_, 0.0F);
  if (end() > 0) unknown_at_ = end();
}

CheckedBytes MtpHiddenRows::copy_of_carried() const {
  const auto bytes = std::as_bytes(std::span(carried_));
  return CheckedBytes::of({bytes.begin(), bytes.end()});
}

void MtpHiddenRows::restart_at(TokenPos position) noexcept {
  begin_ = position;
  pending_.clear();
}

void MtpHiddenRows::truncate(TokenPos position) {
  if (position == end()) return;
  std::memcpy(carried_.data(), at(position), carried_.size() * sizeof(float));
  pending_.resize(static_cast<std::size_t>(position - begin_) * carried_.size());
  if (unknown_at_ > position) unknown_at_ = -1;
}

void MtpHiddenRows::check(std::vector<std::string>& violations, const std::string& whose) const {
  if (begin_ >= 0 && pending_.size() % carried_.size() == 0) return;
  violations.push_back("MTPHIDDEN-1: " + whose + " has another number of hidden rows");
}

}  // namespace holdfast::llama
