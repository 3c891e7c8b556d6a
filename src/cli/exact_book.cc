#include "cli/exact_book.h"

#include <algorithm>

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

Json side(const ExactAnswer& answer) {
  return {{"prompt_hash", answer.prompt_hash},
          {"restored_from", answer.restored_from},
          {"restored_tokens", answer.restored},
          {"prewarmed_tokens", answer.prewarmed},
          {"text", answer.text}};
}

Json shown(const ExactPair& pair, const ExactDifference& difference) {
  return {{"where", pair.where},
          {"occasion", pair.occasion},
          {"reuse", pair.reuse},
          {"prompt_tokens", pair.running.prompt_tokens},
          {"prompt_differs", difference.prompt},
          {"text_differs", difference.text},
          {"first_logprob_apart", difference.first_apart},
          {"logprobs_apart", difference.apart},
          {"running", side(pair.running)},
          {"cold", side(pair.cold)}};
}

bool has(const ExactAnswer& answer, const std::string& needle) {
  return answer.text.find(needle) != std::string::npos;
}

void check_sum(const std::string& name, const ExactSum& sum, std::vector<std::string>& wrong) {
  if (std::max({sum.prompts, sum.first_tokens, sum.texts, sum.needles}) > sum.requests)
    wrong.push_back("EXACT-2: " + name);
}

}  // namespace

void ExactSum::add(const ExactPair& pair, const ExactDifference& difference) {
  ++requests;
  prompts += difference.prompt ? 1 : 0;
  first_tokens += difference.first_token ? 1 : 0;
  texts += difference.text ? 1 : 0;
  first_apart = std::max(first_apart, difference.first_apart);
  apart = std::max(apart, difference.apart);
  if (pair.needle.empty()) return;
  ++needles;
  found += has(pair.running, pair.needle) ? 1 : 0;
  found_cold += has(pair.cold, pair.needle) ? 1 : 0;
}

void ExactBook::note(const ExactPair& pair) {
  const ExactDifference difference = difference_of(pair.running, pair.cold);
  const MutexLock lock(mutex_);
  totals_.cold_reused += pair.cold.restored > 0 ? 1 : 0;
  if (difference.other_tokens) {
    ++totals_.other_tokens;
    return;
  }
  totals_.all.add(pair, difference);
  totals_.by_reuse[pair.reuse].add(pair, difference);
  totals_.by_occasion[pair.occasion].add(pair, difference);
  const bool differs = difference.prompt || difference.text || difference.first_token;
  if (differs && totals_.differing.size() < kShownMax)
    totals_.differing.push_back(shown(pair, difference));
}

void ExactBook::note_failure(const std::string& what) {
  const MutexLock lock(mutex_);
  ++totals_.failed;
  if (totals_.failures.size() < kShownMax) totals_.failures.push_back(what);
}

ExactTotals ExactBook::totals() const {
  const MutexLock lock(mutex_);
  return totals_;
}

std::vector<std::string> ExactBook::check() const {
  const ExactTotals all = totals();
  std::vector<std::string> wrong;
  for (const ExactSums* table : {&all.by_reuse, &all.by_occasion}) {
    ExactSum sum;
    for (const auto& [name, one] : *table) {
      check_sum(name, one, wrong);
      sum.requests += one.requests;
      sum.prompts += one.prompts;
      sum.texts += one.texts;
    }
    const bool adds_up = sum.requests == all.all.requests && sum.prompts == all.all.prompts &&
                         sum.texts == all.all.texts;
    if (!adds_up) wrong.emplace_back("EXACT-1: a table and the sum of all");
  }
  return wrong;
}

}  // namespace holdfast::cli
