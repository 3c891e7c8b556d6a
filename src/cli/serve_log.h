// What `holdfast serve` writes to its log about requests.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "env/log.h"
#include "serve/scheduler.h"

namespace holdfast {

// One line when a request ends; while a long prompt is read, a bar on a
// terminal and one line in a log.
class RequestLog final : public SchedulerObserver {
 public:
  void on_started(const GenerateRequest& request, const Started& started) override;
  void on_progress(const GenerateRequest& request, const PromptProgress& progress) override;
  void on_finished(const GenerateRequest& request, const Finished& finished) override;
  void on_failed(const GenerateRequest& request, const Error& error) override;
  void on_proved(const Proof& proof) override;
  void on_checked(const ConformanceReport& report) override;

  // Told of what is checked while the server is idle, on the scheduler's thread.
  std::function<void(const ConformanceReport&)> on_engine_checked;

 private:
  void forget_bar(const std::string& request_id);

  std::unique_ptr<ProgressLine> bar_;  // one at a time; others read silently
  std::string bar_request_;
};

}  // namespace holdfast
