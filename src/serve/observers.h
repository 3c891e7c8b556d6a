// Observers: several that watch one scheduler, told in the order in which they are given.
//
// Called on the scheduler's thread.
#pragma once

#include <utility>
#include <vector>

#include "serve/scheduler_options.h"

namespace holdfast::serve {

class Observers final : public SchedulerObserver {
 public:
  // They outlive it.
  explicit Observers(std::vector<SchedulerObserver*> all) : all_(std::move(all)) {}

  void on_started(const GenerateRequest& request, const Started& started) override {
    for (auto* one : all_) one->on_started(request, started);
  }
  void on_progress(const GenerateRequest& request, const PromptProgress& progress) override {
    for (auto* one : all_) one->on_progress(request, progress);
  }
  void on_finished(const GenerateRequest& request, const Finished& finished) override {
    for (auto* one : all_) one->on_finished(request, finished);
  }
  void on_failed(const GenerateRequest& request, const Error& error) override {
    for (auto* one : all_) one->on_failed(request, error);
  }
  void on_evicted(const plan::Victim& victim) override {
    for (auto* one : all_) one->on_evicted(victim);
  }
  void on_cleared(const std::optional<SpaceKey>& space, ByteCount freed) override {
    for (auto* one : all_) one->on_cleared(space, freed);
  }
  void on_dropped(const cache::DroppedConversation& dropped) override {
    for (auto* one : all_) one->on_dropped(dropped);
  }
  void on_proved(const Proof& proof) override {
    for (auto* one : all_) one->on_proved(proof);
  }
  void on_checked(const engine::ConformanceReport& report) override {
    for (auto* one : all_) one->on_checked(report);
  }

 private:
  const std::vector<SchedulerObserver*> all_;
};

}  // namespace holdfast::serve
