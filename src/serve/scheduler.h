// Scheduler owns the engine and runs every request: one loop on one thread.
//
//   submit --> queue --> admit to a slot --> prefill chunk by chunk
//                                      `--> decode, batched with other slots
//
// Each turn of the loop runs at most one prefill chunk and one decode step, so
// a long prompt never delays another request's next token by more than a chunk.
//
// Invariants, verified by check(), which tests call between turns:
//   S1  a request is in exactly one place: the queue, or one slot
//   S2  a slot's token list has as many tokens as the engine says it holds
//   S3  the queue holds at most `queue_max` requests
//   S4  a slot with a request has something to do for it: tokens to read, or one
//       to decode
//
// submit(), cancel() and status() may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "base/thread_annotations.h"
#include "engine/engine.h"
#include "engine/text.h"
#include "env/clock.h"
#include "serve/request.h"
#include "serve/slot.h"
#include "state/grid.h"

namespace holdfast {

struct SchedulerOptions {
  std::size_t queue_max = 256;
  // Decode slots one by one, so that no request's numerics depend on another.
  bool deterministic = false;
  TokenPos grid_step = 512;
};

struct SlotStatus {
  SlotId id;
  bool busy = false;
  bool prefilling = false;
  std::string request_id;
  TokenPos tokens_held = 0;
  TokenPos prompt_tokens = 0;
  TokenPos prompt_processed = 0;
  TokenPos predicted = 0;
};

struct SchedulerStatus {
  std::vector<SlotStatus> slots;
  std::size_t queued = 0;
  bool stopping = false;
  // Totals since start.
  std::uint64_t requests = 0;
  std::uint64_t prompt_tokens = 0;         // computed
  std::uint64_t prompt_tokens_cached = 0;  // not computed again
  std::uint64_t predicted_tokens = 0;
  double prompt_seconds = 0.0;
  double predicted_seconds = 0.0;
  std::uint64_t decode_steps = 0;
};

// Sees what the scheduler does, for logs and progress. Called on its thread.
class SchedulerObserver {
 public:
  virtual ~SchedulerObserver() = default;
  virtual void on_started(const GenerateRequest&, const Started&) {}
  virtual void on_progress(const GenerateRequest&, const PromptProgress&) {}
  virtual void on_finished(const GenerateRequest&, const Finished&) {}
  virtual void on_failed(const GenerateRequest&, const Error&) {}
};

enum class StopMode {
  kFinish,  // running and queued requests are completed first
  kCut,     // every request ends at its next step
};

class Scheduler {
 public:
  Scheduler(Engine& engine, const TextModel& text, SchedulerOptions options, const Clock& clock,
            SchedulerObserver* observer = nullptr);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Takes a request, or says why not: kContextExceeded when the prompt leaves no
  // room for one token, kUnavailable when the queue is full or the server stops.
  // After success the request's sink receives its events.
  [[nodiscard]] Result<void> submit(GenerateRequest request);
  // Ends a request at its next step; its sink receives Failed(kCancelled).
  void cancel(const std::string& request_id);
  [[nodiscard]] SchedulerStatus status() const;

  // Runs the loop on a thread of its own until stop().
  void start();
  // Returns once the loop has ended. A second call may turn kFinish into kCut.
  void stop(StopMode mode);
  void request_stop(StopMode mode);

  // One turn of the loop; false when there was nothing to do. For tests and for
  // the loop itself; not to be called while the thread runs.
  bool turn();

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  void run();
  void take_arrivals();
  void end_everything();
  void end_cancelled_and_late();
  void admit_waiting();
  [[nodiscard]] bool slot_is_free_for(const Job& job) const;
  [[nodiscard]] Slot* choose_slot(const Job& job);
  [[nodiscard]] TokenPos tokens_kept_on(const Slot& slot, const Job& job) const;
  [[nodiscard]] std::deque<std::unique_ptr<Job>>::iterator next_in_queue();
  void start_job(Slot& slot, std::unique_ptr<Job> job);
  [[nodiscard]] Slot* choose_prefill();
  bool prefill_one_chunk();
  void finish_prefill(Slot& slot);
  bool decode_all();
  void decode_together(std::span<Slot* const> slots);
  void sample_next(Slot& slot);
  void take_token(Slot& slot, const Sampled& sampled);
  void send_text(Slot& slot, std::string text);
  void finish(Slot& slot, FinishReason reason, std::string stop_string);
  void fail(Slot& slot, const Error& error);
  void fail_job(const Job& job, const Error& error);
  void publish_status();
  void note_timings(const Timings& timings);

  Engine& engine_;
  const TextModel& text_;
  const SchedulerOptions options_;
  const Clock& clock_;
  SchedulerObserver* const observer_;
  const Grid grid_;

  // The loop's own.
  std::vector<Slot> slots_;
  std::deque<std::unique_ptr<Job>> queue_;
  std::unordered_set<std::string> cancelled_;
  std::uint64_t admissions_ = 0;
  std::uint64_t chunks_ = 0;
  SchedulerStatus totals_;

  // Between the loop and the others.
  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::vector<std::unique_ptr<Job>> arrivals_ GUARDED_BY(mutex_);
  std::vector<std::string> cancels_ GUARDED_BY(mutex_);
  std::size_t waiting_ GUARDED_BY(mutex_) = 0;  // arrivals and queue together (S3)
  std::optional<StopMode> stop_ GUARDED_BY(mutex_);
  SchedulerStatus published_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast
