// EngineWatch: what is known about an engine in use: how it was checked before it served, and
// what is found while it does.
//
// A fault that is found now may have been in answers already: it is remembered, so that the
// next start gives up what fails, and the server is told to end.
#pragma once

#include <functional>

#include "base/shared.h"
#include "cli/checked_model.h"
#include "cli/options.h"

namespace holdfast::cli {

class EngineWatch {
 public:
  // `checked` has no model any more. `on_fault` is called on the thread that notes the fault.
  EngineWatch(const ServeOptions& options, CheckedModel checked, std::function<void()> on_fault);

  // Any thread.
  [[nodiscard]] engine::EngineStanding standing() const { return standing_.get(); }
  // REQUIRES: the scheduler does not run yet; then `checked` is its thread's.
  [[nodiscard]] const CheckedModel& checked() const { return checked_; }
  // Writes the record to the cache folder, where one is to be kept.
  void remember() const;
  // More was checked, while the server is idle. On the scheduler's thread.
  void note(const engine::ConformanceReport& report);

 private:
  const ServeOptions& options_;
  CheckedModel checked_;
  const std::function<void()> on_fault_;
  Shared<engine::EngineStanding> standing_;
};

}  // namespace holdfast::cli
