#include "record/recording_summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "cache/advice.h"

namespace holdfast::record {

namespace {

double sane(double ms) { return std::isfinite(ms) && ms > 0 ? ms : 0.0; }

std::uint64_t count_of(TokenPos tokens) { return static_cast<std::uint64_t>(std::max(tokens, 0)); }

// The advice without its quotations and numbers, to find advice of the same kind.
std::string without_quotes(const std::string& advice) {
  std::string kind;
  bool quoted = false;
  for (const char c : advice) {
    if (c == '"') quoted = !quoted;
    const bool digit = c >= '0' && c <= '9';
    if (!quoted && !digit) kind += c;
  }
  return kind;
}

class Groups {
 public:
  void add(const std::string& key, const std::string& what, const ReplayedRequest& request,
           TokenPos tokens, double ms) {
    SummaryGroup& group = groups_[key];
    ++group.requests;
    group.tokens += count_of(tokens);
    group.ms += ms;
    if (ms <= group.example_ms) return;
    group.example = request.number;
    group.example_ms = ms;
    group.what = what;
  }

  [[nodiscard]] std::vector<SummaryGroup> take() {
    std::vector<SummaryGroup> all;
    for (auto& [key, group] : groups_) all.push_back(std::move(group));
    std::ranges::stable_sort(all, std::greater{}, &SummaryGroup::ms);
    return all;
  }

 private:
  std::map<std::string, SummaryGroup> groups_;
};

// Whether another server knew the prompt further than any difference.
bool is_foreign(const cache::Receipt& receipt) {
  return receipt.missing.why == cache::MissReason::kForeign;
}

// The tokens that the advice is about: those missed, or all those behind a difference.
TokenPos concerned(const cache::Receipt& receipt, const PromptParts& parts) {
  if (!receipt.difference || is_foreign(receipt)) return parts.missed;
  const TokenPos behind = receipt.prompt_tokens - receipt.difference->position;
  return std::max(parts.missed, std::min(behind, receipt.recomputed));
}

}  // namespace

PromptParts parts_of(const cache::Receipt& receipt) {
  PromptParts parts;
  parts.restored = receipt.restored;
  const TokenPos seen =
      is_foreign(receipt) ? std::max(receipt.matched, receipt.missing.position) : receipt.matched;
  const TokenPos known = std::min(seen, receipt.prompt_tokens - 1);
  const TokenPos read = std::max(receipt.recomputed, 0);
  parts.missed = std::clamp(known - receipt.restored, 0, read);
  parts.fresh = read - parts.missed;
  if (read > 0) parts.ms_per_token = sane(receipt.prompt_ms - receipt.restore_ms) / read;
  parts.missed_ms = parts.ms_per_token * parts.missed;
  return parts;
}

std::string reason_text(cache::MissReason reason) {
  switch (reason) {
    case cache::MissReason::kNone: return "a state was a little shorter";
    case cache::MissReason::kGrid: return "the prompt parts inside a chunk";
    case cache::MissReason::kNeverTaken: return "no state was kept there";
    case cache::MissReason::kEvicted: return "the state had been dropped";
    case cache::MissReason::kDamaged: return "the state failed its verification";
    case cache::MissReason::kDeclined: return "the engine could not bring the state back";
    case cache::MissReason::kReuseOff: return "the request asked for no reuse";
    case cache::MissReason::kCacheOff: return "the server keeps no states";
    case cache::MissReason::kForeign:
      return "the state was made by another engine or with other settings";
  }
  return "unknown";
}

std::string advice_of(const ReplayedRequest& request, const RecordingHeader& header) {
  const cache::Receipt& receipt = request.receipt;
  const ByteCount budget = header.options.memory.budget;
  std::string advice =
      cache::advice_for(receipt, request.known_text, request.sent_text, {.budget = budget});
  // Without the texts we cannot say what changed, only where.
  const auto& difference = receipt.difference;
  if (!advice.empty() || !header.private_form || !difference) return advice;
  constexpr TokenPos kWorthMentioning = 64;
  const bool changed_before = difference->role == Role::kSystem ||
                              difference->role == Role::kAssistant ||
                              difference->role == Role::kTool;
  if (!changed_before || receipt.prompt_tokens - difference->position < kWorthMentioning) return "";
  return std::string("The prompt parts from an earlier one inside a message of the role ") +
         role_name(difference->role) +
         ": if that was not meant, keep it as it was, because all that follows is read again. A "
         "recording without --record-private shows what changed.";
}

TokenPos behind_change(const ReplayedRequest& request, const RecordingHeader& header) {
  const cache::Receipt& receipt = request.receipt;
  if (!receipt.difference || is_foreign(receipt)) return 0;
  ReplayedRequest alone = request;
  alone.receipt.missing = {};  // what is left to advise is about the difference
  if (advice_of(alone, header).empty()) return 0;
  const TokenPos behind = receipt.prompt_tokens - receipt.difference->position;
  return std::clamp(behind, 0, parts_of(receipt).fresh);
}

RecordingSummary summary_of(const ReplayOutcome& outcome) {
  RecordingSummary summary;
  Groups misses;
  Groups advice;
  for (const ReplayedRequest& request : outcome.requests) {
    const cache::Receipt& receipt = request.receipt;
    const PromptParts parts = parts_of(receipt);
    ++summary.requests;
    summary.prompt_tokens += count_of(receipt.prompt_tokens);
    summary.restored_tokens += count_of(parts.restored);
    summary.read_tokens += count_of(receipt.recomputed);
    summary.missed_tokens += count_of(parts.missed);
    summary.answer_tokens += count_of(request.answer_tokens);
    summary.reading_ms += sane(receipt.prompt_ms);
    summary.missed_ms += parts.missed_ms;
    summary.saved_ms += sane(receipt.saved_ms);
    if (parts.missed > 0) {
      const std::string reason = reason_text(receipt.missing.why);
      misses.add(reason, reason, request, parts.missed, parts.missed_ms);
    }
    if (const std::string help = advice_of(request, outcome.header); !help.empty()) {
      const TokenPos tokens = concerned(receipt, parts);
      advice.add(without_quotes(help), help, request, tokens, parts.ms_per_token * tokens);
    }
  }
  summary.misses = misses.take();
  summary.advice = advice.take();
  return summary;
}

}  // namespace holdfast::record
