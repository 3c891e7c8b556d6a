#include "api/answer_under_way.h"

#include <algorithm>

#include "api/receipt_json.h"

namespace holdfast::api {

namespace {

// Up to the last checkpoint; the slot alone has what lies behind it.
TokenPos kept_of(const cache::Receipt* receipt) {
  return receipt != nullptr ? std::max(receipt->kept - receipt->restored, 0) : 0;
}

}  // namespace

Usage usage_of(const serve::Finished& finished) {
  return {.prompt_tokens = finished.prompt_tokens,
          .completion_tokens = finished.timings.predicted_tokens,
          .cached_tokens = finished.timings.cached_tokens,
          .kept_tokens = kept_of(finished.receipt.get())};
}

bool all_finished(const AnswerUnderWay& answer) {
  return std::ranges::all_of(
      answer.readers, [](const ChoiceReader& reader) { return reader.finished().has_value(); });
}

// The `n` choices of a prompt follow one another.
Usage total_usage(const AnswerUnderWay& answer) {
  Usage sum;
  const auto choices = static_cast<std::size_t>(answer.options.n);
  for (std::size_t i = 0; i < answer.readers.size(); ++i) {
    const Usage one = usage_of(*answer.readers[i].finished());
    sum.completion_tokens += one.completion_tokens;
    if (i % choices != 0) continue;
    sum.prompt_tokens += one.prompt_tokens;
    sum.cached_tokens += one.cached_tokens;
    sum.kept_tokens += one.kept_tokens;
  }
  return sum;
}

std::string receipts_json(const AnswerUnderWay& answer) {
  if (!answer.options.cache_receipt) return "";
  const ByteCount budget = answer.backend->scheduler->cache_commands().status().budget;
  std::string out;
  for (const ChoiceReader& reader : answer.readers) {
    const auto& receipt = reader.finished()->receipt;
    if (!out.empty()) out += ',';
    out += receipt == nullptr ? "null" : receipt_json(*receipt, *answer.backend->text, budget);
  }
  return answer.readers.size() == 1 ? out : '[' + out + ']';
}

}  // namespace holdfast::api
