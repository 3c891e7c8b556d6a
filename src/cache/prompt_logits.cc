#include "cache/prompt_logits.h"

#include <cstring>
#include <iterator>

#include "base/check.h"

namespace holdfast::cache {

EndKey EndKey::of(SpaceKey space, TokenSpan keys) {
  return {space, wide_hash(std::as_bytes(keys)), length_of(keys)};
}

LogitsPtr copy_of_logits(std::span<const float> logits) {
  StateBytes bytes(logits.size_bytes());
  if (!logits.empty()) std::memcpy(bytes.data(), logits.data(), bytes.size());
  return std::make_shared<const CheckedBytes>(CheckedBytes::of(std::move(bytes)));
}

std::span<const float> logits_in(const CheckedBytes& bytes) {
  CHECK(bytes.bytes.size() % sizeof(float) == 0);
  return {reinterpret_cast<const float*>(bytes.bytes.data()), bytes.bytes.size() / sizeof(float)};
}

LogitsPtr PromptLogits::find(const EndKey& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  const auto entry = found->second;
  if (!memory_.quarantine.intact(entry->logits->bytes, entry->logits->checksum)) {
    drop(entry);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->logits;
}

LogitsPtr PromptLogits::peek(const EndKey& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second->logits;
}

void PromptLogits::put(const EndKey& key, LogitsPtr logits) {
  const ByteCount size = logits->bytes.size();
  if (const auto old = by_key_.find(key); old != by_key_.end()) drop(old->second);
  if (size == 0 || size > limit_) return;
  while (!entries_.empty() && (bytes_ + size > limit_ || memory_.budget.free() < size)) {
    drop(std::prev(entries_.end()));
  }
  if (memory_.budget.free() < size) return;
  entries_.push_front({key, std::move(logits), RoomHold(memory_.budget, size)});
  by_key_[key] = entries_.begin();
  bytes_ += size;
}

void PromptLogits::drop(Entries::iterator entry) {
  bytes_ -= entry->logits->bytes.size();
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

void PromptLogits::clear() {
  by_key_.clear();
  entries_.clear();
  bytes_ = 0;
}

ByteCount PromptLogits::clear(SpaceKey space) {
  const ByteCount before = bytes_;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->key.space == space) drop(entry);
    entry = next;
  }
  return before - bytes_;
}

void PromptLogits::forget_end(const PathEnd& end) {
  const TokenSpan keys = end.keys;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    const TokenPos length = entry->key.length;
    const bool within = length > end.keep && length <= length_of(keys);
    if (within && entry->key == EndKey::of(end.space, keys.first(static_cast<std::size_t>(length))))
      drop(entry);
    entry = next;
  }
}

std::vector<std::string> PromptLogits::check() const {
  std::vector<std::string> violations;
  ByteCount bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.logits->bytes.size();
  if (bytes != bytes_ || bytes_ > limit_) violations.emplace_back("LOGITS-1: bytes of logits");
  if (by_key_.size() != entries_.size()) violations.emplace_back("LOGITS-2: entries of logits");
  return violations;
}

}  // namespace holdfast::cache
