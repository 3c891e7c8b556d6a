// What `holdfast serve` writes to its log about generations.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "env/log.h"
#include "serve/scheduler.h"

namespace holdfast::cli {

// What single generations do, for debugging, and their failures; while a long prompt is read,
// a bar on a terminal and one line in a log. (The line of each request: api/request_log.h.)
class GenerationLog final : public serve::SchedulerObserver {
 public:
  void on_started(const serve::GenerateRequest& request, const serve::Started& started) override;
  void on_progress(const serve::GenerateRequest& request,
                   const serve::PromptProgress& progress) override;
  void on_finished(const serve::GenerateRequest& request, const serve::Finished& finished) override;
  void on_failed(const serve::GenerateRequest& request, const Error& error) override;
  void on_proved(const serve::Proof& proof) override;
  void on_checked(const engine::ConformanceReport& report) override;

  // Told of what is checked while the server is idle, on the scheduler's thread.
  std::function<void(const engine::ConformanceReport&)> on_engine_checked;

 private:
  void forget_bar(const std::string& request_id);

  std::unique_ptr<env::ProgressLine> bar_;  // one at a time; others read silently
  std::string bar_request_;
};

}  // namespace holdfast::cli
