#include "cache/receipt.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

namespace holdfast::cache {

const char* miss_reason_name(MissReason reason) {
  switch (reason) {
    case MissReason::kNone: return "none";
    case MissReason::kGrid: return "grid";
    case MissReason::kNeverTaken: return "never_taken";
    case MissReason::kEvicted: return "evicted";
    case MissReason::kDamaged: return "damaged";
    case MissReason::kDeclined: return "declined";
    case MissReason::kReuseOff: return "reuse_off";
    case MissReason::kCacheOff: return "cache_off";
    case MissReason::kForeign: return "foreign";
  }
  return "unknown";
}

namespace {

std::string numbers(const char* invariant, std::initializer_list<TokenPos> values) {
  std::string text = invariant;
  for (const TokenPos value : values) text += ' ' + std::to_string(value);
  return text;
}

bool difference_fits(const Receipt& receipt, const Difference& difference) {
  const bool inside = difference.position < receipt.prompt_tokens ||
                      (difference.position == receipt.prompt_tokens && difference.sent.empty());
  return inside && difference.position == receipt.matched && difference.position >= 0 &&
         difference.message_begin <= difference.position;
}

bool answers_to(const Receipt& receipt, const std::string& id, const std::string& tenant) {
  return !id.empty() && receipt.tenant == tenant && (receipt.id == id || receipt.response == id);
}

}  // namespace

// A request may end before its prompt has been read, so of RECEIPT-1 only the bound can
// be seen in the receipt itself.
std::vector<std::string> check_receipt(const Receipt& receipt) {
  std::vector<std::string> wrong;
  const TokenPos restored = receipt.restored;
  const TokenPos recomputed = receipt.recomputed;
  if (restored < 0 || recomputed < 0 || restored > receipt.prompt_tokens - recomputed) {
    wrong.push_back(numbers("RECEIPT-1 restored, recomputed, prompt:",
                            {restored, recomputed, receipt.prompt_tokens}));
  }
  if (restored > receipt.restorable || receipt.restorable > receipt.prompt_tokens) {
    wrong.push_back(numbers("RECEIPT-2 restored, restorable, prompt:",
                            {restored, receipt.restorable, receipt.prompt_tokens}));
  }
  if ((restored == 0) != (receipt.source == plan::StartSource::kNothing)) {
    wrong.push_back(numbers("RECEIPT-2 restored does not fit its source:", {restored}));
  }
  if (receipt.difference && !difference_fits(receipt, *receipt.difference)) {
    wrong.push_back(
        numbers("RECEIPT-3 difference, matched, prompt:",
                {receipt.difference->position, receipt.matched, receipt.prompt_tokens}));
  }
  // The last token of a prompt is read in any case.
  const TokenPos known = std::min(receipt.matched, receipt.prompt_tokens - 1);
  if (receipt.restorable < known && receipt.missing.why == MissReason::kNone) {
    wrong.push_back(numbers("RECEIPT-4 no reason for restorable, matched:",
                            {receipt.restorable, receipt.matched}));
  }
  if ((receipt.missing.why == MissReason::kForeign) != !receipt.missing.made_by.empty()) {
    wrong.push_back(numbers("RECEIPT-5 a maker without the reason, or the reverse:", {}));
  }
  if (receipt.prewarmed < 0 || receipt.prewarmed > receipt.restored) {
    wrong.push_back(
        numbers("RECEIPT-6 prewarmed, restored:", {receipt.prewarmed, receipt.restored}));
  }
  return wrong;
}

void ReceiptLog::put(const Receipt& receipt) {
  const MutexLock lock(mutex_);
  const auto known = std::find_if(receipts_.rbegin(), receipts_.rend(),
                                  [&](const Receipt& held) { return held.id == receipt.id; });
  if (known != receipts_.rend()) {
    *known = receipt;
    return;
  }
  receipts_.push_back(receipt);
  if (receipts_.size() > capacity_) receipts_.pop_front();
}

std::optional<Receipt> ReceiptLog::find(const std::string& id, const std::string& tenant) const {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(receipts_.rbegin(), receipts_.rend(), [&](const Receipt& held) {
    return answers_to(held, id, tenant);
  });
  if (found == receipts_.rend()) return std::nullopt;
  return *found;
}

void ReceiptLog::clear() {
  const MutexLock lock(mutex_);
  receipts_.clear();
}

void ReceiptLog::clear(const std::string& tenant) {
  const MutexLock lock(mutex_);
  std::erase_if(receipts_, [&](const Receipt& held) { return held.tenant == tenant; });
}

std::vector<Receipt> ReceiptLog::latest(std::size_t limit, const std::string& tenant,
                                        const std::string& session) const {
  const MutexLock lock(mutex_);
  std::vector<Receipt> newest;
  for (auto held = receipts_.rbegin(); held != receipts_.rend() && newest.size() < limit; ++held) {
    const bool asked_for = session.empty() || held->session == session;
    if (held->tenant == tenant && asked_for) newest.push_back(*held);
  }
  return newest;
}

bool ReceiptLog::has_session_of(const Receipt& receipt) const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(receipts_, [&](const Receipt& held) {
    const bool same_answer =
        held.id == receipt.id || (!held.response.empty() && held.response == receipt.response);
    return held.session == receipt.session && held.tenant == receipt.tenant && !same_answer;
  });
}

std::size_t ReceiptLog::sessions_since(std::int64_t unix_ms) const {
  const MutexLock lock(mutex_);
  std::set<std::pair<std::string_view, std::string_view>> sessions;
  for (const Receipt& held : receipts_) {
    if (held.unix_ms >= unix_ms && !held.session.empty())
      sessions.emplace(held.tenant, held.session);
  }
  return sessions.size();
}

}  // namespace holdfast::cache
