#include "serve/prover.h"

#include <cmath>
#include <utility>

#include "engine/row_distance.h"

namespace holdfast::serve {

namespace {

// Read after the place in question, so that there is something to compare.
constexpr TokenPos kAhead = 4;
constexpr int kTriesMax = 3;

}  // namespace

std::string Proof::words() const {
  if (equal) return "equal";
  if (std::isinf(distance)) return "the restored state gives a value that is no number";
  const std::string off = "computed again, the logits after it are " +
                          engine::distance_text(distance) + " of their size away";
  return allowed == 0.0 ? off + "; they should have the same bits"
                        : off + "; " + engine::distance_text(allowed) + " would be rounding";
}

Prover::Prover(engine::Engine& engine, cache::StateCache& cache, const Grid& grid,
               ProverOptions options, const env::Clock& clock)
    : engine_(engine), cache_(cache), grid_(grid), options_(options), clock_(clock) {}

void Prover::note(const Restored& restored) {
  due_ += options_.share;
  if (due_ < 1.0) return;
  due_ -= 1.0;
  const auto kept = static_cast<std::size_t>(restored.position);
  NotedRestore noted;
  noted.request = restored.request;
  noted.tenant = restored.tenant;
  noted.space = restored.space;
  noted.position = restored.position;
  noted.keys.assign(restored.keys.begin(), restored.keys.begin() + restored.position);
  noted.tokens.assign(restored.tokens.begin(), restored.tokens.begin() + restored.position);
  // Where the prompt ends there, its beginning does as well as anything.
  for (std::size_t i = 0; i < kAhead; ++i) {
    const bool more = kept + i < restored.tokens.size();
    noted.tokens.push_back(restored.tokens[more ? kept + i : i % restored.tokens.size()]);
  }
  if (length_of(noted.tokens) > engine_.context_tokens()) return;
  const bool full = noted_.size() == kNotedMax;
  if (full && run_) return;  // the first is under way
  if (full) {
    noted_.pop_front();
    ++counts_.unmade;
  }
  noted_.push_back(std::move(noted));
}

std::optional<SlotId> Prover::spare_slot() const {
  std::optional<SlotId> spare;
  for (int i = 0; i < engine_.slot_count(); ++i) {
    const SlotId slot{i};
    if (!cache_.live().can_spare(slot)) continue;
    if (cache_.slots()[slot].length() == 0) return slot;
    // The one that was used longest ago.
    if (!spare || cache_.slots()[slot].run < cache_.slots()[*spare].run) spare = slot;
  }
  return spare;
}

bool Prover::begin() {
  const auto slot = spare_slot();
  if (!slot) return false;
  if (cache_.slots()[*slot].length() > 0) cache_.transfer().erase(*slot);
  began_ = clock_.now();
  run_ = std::make_unique<ProofRun>(engine_, cache_.memory(), noted_.front(), grid_, *slot,
                                    options_.exact);
  return true;
}

// The state is not there, the engine failed, or no slot can be had: no proof.
void Prover::give_up() {
  run_.reset();
  noted_.pop_front();
  ++counts_.unmade;
}

void Prover::yield() {
  if (!run_) return;
  run_.reset();
  if (++noted_.front().tries >= kTriesMax) give_up();
}

std::optional<Proof> Prover::step() {
  const bool can = run_ || begin();
  const auto outcome = can ? run_->step() : ProofRun::Outcome::kNoProof;
  if (outcome == ProofRun::Outcome::kConcluded) return conclude();
  if (outcome == ProofRun::Outcome::kNoProof) give_up();
  return std::nullopt;
}

Proof Prover::conclude() {
  NotedRestore& noted = noted_.front();
  const ProofRun::Result& result = run_->result();
  Proof proof;
  proof.request = std::move(noted.request);
  proof.tenant = std::move(noted.tenant);
  proof.space = noted.space;
  proof.position = noted.position;
  proof.equal = result.equal;
  proof.distance = result.distance;
  proof.allowed = result.allowed;
  proof.ms = env::ms_between(began_, clock_.now());
  run_.reset();
  noted_.pop_front();
  counts_.seconds += proof.ms / 1000.0;
  ++(proof.equal ? counts_.equal : counts_.different);
  return proof;
}

}  // namespace holdfast::serve
