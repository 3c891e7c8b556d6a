#include "tier/held_blobs.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace holdfast::tier {

namespace {

double worth_of(const HeldBlob& blob) {
  const auto bytes = static_cast<double>(std::max<ByteCount>(blob.bytes, 1));
  return rounded_worth(static_cast<double>(blob.saves) / bytes);
}

}  // namespace

std::size_t BlobKeyHash::operator()(const BlobKey& key) const {
  std::size_t front = 0;  // of a digest, so as good as any hash of it
  std::memcpy(&front, key.bytes.data(), sizeof(front));
  return front;
}

HeldBlob HeldBlob::of(const BlobFacts& facts, std::int64_t used_ms) {
  return {.kind = facts.kind,
          .bytes = facts.bytes,
          .saves = facts.saves,
          .used_ms = used_ms,
          .anchor = facts.path.anchor,
          .end = facts.path.range.end,
          .companion = facts.companion,
          .logits = facts.logits};
}

HeldBlob HeldBlob::of(const BlobSummary& summary, std::int64_t used_ms) {
  return {.kind = summary.kind,
          .bytes = summary.bytes,
          .saves = summary.saves,
          .used_ms = used_ms,
          .anchor = summary.anchor,
          .end = summary.range.end,
          .companion = summary.companion,
          .logits = summary.logits};
}

bool HeldBlob::is_improved_by(const BlobFacts& facts) const {
  BlobFacts old;
  old.companion = companion;
  old.logits = logits;
  return facts.richer_than(old) && !old.richer_than(facts);
}

// --- what is there -----------------------------------------------------------------------

HeldBlobs::~HeldBlobs() {
  for (const auto& [key, blob] : held_) {
    if (StoredDepths* const depths = told_of(blob)) depths->remove(blob.anchor, blob.end);
  }
}

StoredDepths* HeldBlobs::told_of(const HeldBlob& blob) const {
  return blob.end > 0 ? depths_.get() : nullptr;
}

const HeldBlob* HeldBlobs::find(const BlobKey& key) const {
  const auto found = held_.find(key);
  return found == held_.end() ? nullptr : &found->second;
}

void HeldBlobs::add(const BlobKey& key, const HeldBlob& blob) {
  const bool added = held_.emplace(key, blob).second;
  CHECK(added);
  const bool rows = blob.kind == BlobKind::kRows;
  (rows ? stats_.rows_blobs : stats_.place_blobs) += 1;
  (rows ? stats_.rows_bytes : stats_.place_bytes) += blob.bytes;
  if (StoredDepths* const depths = told_of(blob)) depths->add(blob.anchor, blob.end);
  add_age(blob);
}

void HeldBlobs::remove(const BlobKey& key) {
  const auto found = held_.find(key);
  if (found == held_.end()) return;
  const HeldBlob& blob = found->second;
  const bool rows = blob.kind == BlobKind::kRows;
  (rows ? stats_.rows_blobs : stats_.place_blobs) -= 1;
  (rows ? stats_.rows_bytes : stats_.place_bytes) -= blob.bytes;
  if (StoredDepths* const depths = told_of(blob)) depths->remove(blob.anchor, blob.end);
  remove_age(blob);
  held_.erase(found);
}

void HeldBlobs::set_used(const BlobKey& key, std::int64_t used_ms, std::uint64_t saves) {
  HeldBlob& blob = held_.at(key);
  remove_age(blob);
  blob.used_ms = used_ms;
  blob.saves = saves;
  add_age(blob);
}

void HeldBlobs::add_age(const HeldBlob& blob) {
  ages_[worth_of(blob)].add(blob.used_ms, blob.bytes);
}

void HeldBlobs::remove_age(const HeldBlob& blob) {
  const auto ages = ages_.find(worth_of(blob));
  CHECK(ages != ages_.end());
  ages->second.remove(blob.used_ms, blob.bytes);
  if (ages->second.empty()) ages_.erase(ages);
}

// --- what it is worth --------------------------------------------------------------------

// The older, the less.
double HeldBlobs::value_of(double worth, std::int64_t used_ms, std::int64_t now_ms) const {
  const double age_s = static_cast<double>(now_ms - std::min(used_ms, now_ms)) / 1000;
  return worth / (age_s + tau_s_);
}

double HeldBlobs::value_of(const HeldBlob& blob, std::int64_t now_ms) const {
  return value_of(worth_of(blob), blob.used_ms, now_ms);
}

// There are few different worths, four between a number and its double.
ByteCount HeldBlobs::bytes_below(double value, Moment moment, std::int64_t now_ms) const {
  ByteCount bytes = 0;
  for (const auto& [its_worth, ages] : ages_) {
    const double worth = its_worth;
    bytes += ages.sum_while([&](std::int64_t used_ms) {
      return used_ms < moment.ms && value_of(worth, used_ms, now_ms) < value;
    });
  }
  return bytes;
}

std::vector<BlobKey> HeldBlobs::cheapest_below(double value, std::int64_t now_ms) const {
  struct Candidate {
    double value;
    TokenPos end;
    BlobKey key;
  };
  std::vector<Candidate> candidates;
  for (const auto& [key, blob] : held_) {
    const double its_value = value_of(blob, now_ms);
    if (its_value < value) candidates.push_back({its_value, blob.end, key});
  }
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    if (a.value != b.value) return a.value < b.value;
    return a.end != b.end ? a.end > b.end : a.key < b.key;
  });
  std::vector<BlobKey> keys;
  for (const Candidate& candidate : candidates) keys.push_back(candidate.key);
  return keys;
}

// --- check -------------------------------------------------------------------------------

std::vector<std::string> HeldBlobs::check() const {
  std::vector<std::string> wrong;
  ByteCount bytes = 0;
  for (const auto& [key, blob] : held_) bytes += blob.bytes;
  if (stats_.blobs() != held_.size() || stats_.rows_bytes + stats_.place_bytes != bytes)
    wrong.emplace_back("BLOBS-1: the blobs' number or bytes");
  check_depths(wrong);
  check_ages(wrong);
  return wrong;
}

void HeldBlobs::check_depths(std::vector<std::string>& wrong) const {
  if (depths_ == nullptr) return;
  std::size_t known = 0;
  for (const auto& [key, blob] : held_) {
    if (blob.end == 0) continue;
    ++known;
    if (!depths_->contains(blob.anchor, blob.end))
      wrong.push_back("BLOBS-2: the end of " + key.hex() + " is not known");
  }
  if (known != depths_->size()) wrong.emplace_back("BLOBS-2: an end of no held blob");
}

// As blob by blob.
void HeldBlobs::check_ages(std::vector<std::string>& wrong) const {
  std::map<double, std::map<std::int64_t, ByteCount>> counted;
  for (const auto& [key, blob] : held_) counted[worth_of(blob)][blob.used_ms] += blob.bytes;
  if (counted.size() != ages_.size()) wrong.emplace_back("BLOBS-3: another number of worths");
  for (const auto& [worth, ages] : ages_) {
    for (const std::string& violation : ages.check()) wrong.push_back("BLOBS-3: " + violation);
    std::vector<AgeSums::Entry> wanted;
    for (const auto& [used_ms, bytes] : counted[worth]) wanted.push_back({used_ms, bytes});
    if (ages.entries() != wanted)
      wrong.emplace_back("BLOBS-3: other bytes than those that are held");
  }
}

}  // namespace holdfast::tier
