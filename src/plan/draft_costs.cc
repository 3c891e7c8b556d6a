#include "plan/draft_costs.h"

#include <algorithm>
#include <cmath>

namespace holdfast::plan {

namespace {

// Before anything is known: between a GPU (a hundredth) and a small CPU (a half).
constexpr double kRowShare = 0.1;
// Models draft token by token.
constexpr double kTokenShare = 1.0;
// The last 32 calls or so.
constexpr double kCallsKept = 31.0 / 32;

}  // namespace

DraftCosts::DraftCosts() : steps_(kRowShare), calls_(kTokenShare) {}

void DraftCosts::note_step(TokenPos rows, double ms) { steps_.note(rows, ms); }

// One that found nothing has looked for a token all the same.
void DraftCosts::note_call(const Call& call, double ms) {
  if (call.slots != call_slots_) calls_.interrupt();
  call_slots_ = call.slots;
  calls_.note(std::clamp(call.longest, 1, TimesBySize::kSizeMost), ms / steps_.slowness());
  drafted_ = kCallsKept * drafted_ + std::max(call.drafted, 0);
  stops_ = kCallsKept * stops_ + std::max(call.stopped, 0);
}

void DraftCosts::note_fixed(double ms) {
  if (ms >= 0.0 && std::isfinite(ms)) fixed_.note(ms);
}

void DraftCosts::note_brought_back(double ms) {
  if (ms >= 0.0 && std::isfinite(ms)) brought_back_.note(ms);
}

// Of what is asked for, as if a companion stopped after any token with equal chance.
double DraftCosts::share(TokenPos longest) const {
  if (stops_ == 0.0) return 1.0;
  const double goes_on = drafted_ / (drafted_ + stops_);
  double tokens = 0.0;
  for (double one = goes_on; longest > 0 && tokens < longest; one *= goes_on) {
    tokens += one;
    if (one < 0.01) break;
  }
  return std::min(tokens / longest, 1.0);
}

double DraftCosts::besides(const StepShape& shape) const {
  if (shape.asked == 0 || steps_.usual().empty()) return 0.0;
  const double tokens = std::max(share(shape.longest) * shape.longest, 1.0);
  return (calls_.usual().empty() ? 0.0 : steps_.slowness() * calls_.ms(tokens)) +
         shape.drafting * fixed_.ms() + undoing(shape);
}

// A slot that went back leaves the others' batch and has one of its own.
double DraftCosts::undoing(const StepShape& shape) const {
  if (shape.undone <= 0.0) return 0.0;
  const double own = 1.0 + shape.again / shape.undone;
  const double others = shape.waiting > 1 ? steps_.ms(shape.waiting - 1) : 0.0;
  const double more = steps_.ms(own) + others - steps_.ms(shape.waiting);
  return shape.undone * (brought_back_.ms() + std::max(more, 0.0));
}

double DraftCosts::apart(const StepShape& shape) const {
  double ms = 0.0;
  for (const TokenPos rows : shape.batches) ms += steps_.ms(rows);
  return ms;
}

double DraftCosts::ms(const StepShape& shape) const {
  if (!shape.batches.empty()) return apart(shape) + besides(shape);
  const double filled = steps_.ms(shape.waiting + shape.asked);
  if (shape.asked == 0) return filled;
  const double rows = shape.waiting + share(shape.longest) * shape.asked;
  return std::min(filled, steps_.ms(rows) + steps_.change_ms()) + besides(shape);
}

double DraftCosts::ms_at_best(const StepShape& shape) const {
  if (shape.batches.size() > 1) return ms(shape);
  return std::min(ms(shape), steps_.ms_at_best(shape.waiting + shape.asked) + besides(shape));
}

double DraftCosts::change_ms() const {
  return !steps_.usual().empty() ? steps_.change_ms() + steps_.slowness() * calls_.change_ms()
                                 : 0.0;
}

// Steps that are as long as was asked for are all alike; others are a change each time. What
// that costs is learned from steps that are alike.
TokenPos DraftCosts::fill_up_to(std::span<const TokenPos> rows, TokenPos asked_each) const {
  std::map<TokenPos, TokenPos> slots_by_rows;
  for (const TokenPos each : rows) ++slots_by_rows[each];
  if (slots_by_rows.empty()) return 0;
  const double change = steps_.change_ms();
  double apart = 0.0;
  for (const auto& [each, count] : slots_by_rows) apart += steps_.ms(each * count) + change;
  const auto all = static_cast<TokenPos>(rows.size());
  const TokenPos longest = slots_by_rows.rbegin()->first;
  const double joined = steps_.ms(longest * all) + change;
  const TokenPos most = std::max(longest, asked_each);
  const bool found_out = steps_.notes() == 0 || steps_.knows_changes();
  if (!found_out && !steps_.settled_at(most * all)) return most;
  if (steps_.ms(most * all) < std::min(joined, apart)) return most;
  return joined < apart ? longest : 0;
}

std::vector<std::string> DraftCosts::check() const {
  std::vector<std::string> violations = steps_.check();
  for (const std::string& violation : calls_.check()) violations.push_back(violation);
  for (const double ms : {fixed_.ms(), brought_back_.ms()}) {
    if (!std::isfinite(ms) || ms < 0.0) violations.emplace_back("COSTS-2: a draft has no cost");
  }
  if (!(drafted_ >= 0.0 && stops_ >= 0.0)) violations.emplace_back("COSTS-2: odd counts");
  return violations;
}

}  // namespace holdfast::plan
