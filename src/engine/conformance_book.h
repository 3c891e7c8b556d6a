// KindBook: the kinds of batch of a check (conformance.h), in order, and what came of each.
//
// It decides whether a kind is computed: not where it passed before, where the time does not reach,
// or where something that it is compared with is missing.
#pragma once

#include <functional>
#include <string>

#include "engine/conformance.h"
#include "engine/conformance_probe.h"

namespace holdfast::engine {

enum class CheckMode { kList, kCompute };

// With which settings the scheduler forms batches of a kind.
enum class Formed {
  kBasis,     // with all; others are compared with it, so it is computed although it passed before
  kAlways,    // with all
  kTogether,  // where several slots are decoded in one step
  kDrafted,   // where drafts are verified
  kBoth,      // where both are done
};

class KindBook {
 public:
  // REQUIRES: all of them outlive it.
  KindBook(EngineProbe& probe, const ConformanceOptions& options, CheckMode mode);

  // Adds a kind, and computes it unless there is a reason not to. `steps` is what it costs, in
  // steps of one token, together with everything that it is of no use without.
  void add(std::string name, Formed formed, double steps, const std::function<Outcome()>& check);
  // Something that the rest is compared with is missing: the rest is left out.
  void leave_out_the_rest() { over_ = true; }

  [[nodiscard]] bool lists() const { return mode_ == CheckMode::kList; }
  [[nodiscard]] ConformanceReport& report() { return report_; }
  // The report, with the time that passed. The book is at its end.
  [[nodiscard]] ConformanceReport close();

 private:
  [[nodiscard]] double now_ms() const;
  [[nodiscard]] bool is_late(const CheckedKind& kind, bool basis, double steps) const;
  void compute(CheckedKind& kind, const std::function<Outcome()>& check);

  EngineProbe& probe_;
  const ConformanceOptions& options_;
  const CheckMode mode_;
  const double began_ms_;
  double step_ms_ = 0.0;  // of the latest kind
  bool over_ = false;
  ConformanceReport report_;
};

// "1 slot", "3 slots".
[[nodiscard]] std::string counted(int count, const std::string& noun);

}  // namespace holdfast::engine
