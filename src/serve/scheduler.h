// Scheduler owns the engine and runs every request: one loop on one thread.
//
//   submit --> queue --> begin on a slot --> prefill chunk by chunk
//                 ^       (StateCache)  `--> decode, batched with other slots
//                 |-- waits while another request computes the prefix it needs
//                 `-- or while the tier below memory brings up what it can use
//
// Each turn of the loop reads at most as many tokens as the longest chunk has, of one prompt
// or of several, and then, unless more is to be read first, runs one decode step. While nobody
// writes, that is all. While somebody does, TurnPace (plan/turn_pace.h) says what lies between
// two steps, by measured times: several chunks, copies and a restore, as long as they take no
// more than the target together; then rests of nothing but steps. So
//
//   - a chunk that alone takes longer is read in pieces, unless deterministic;
//   - at most one state is brought back between two steps;
//   - a checkpoint whose copy does not fit behind its chunk is taken between later steps, its
//     rows piece by piece. Until then its slot neither reads on nor writes;
//   - what is larger than the target and cannot be divided (a state that is brought back, a
//     snapshot, a chunk of the grid) has two steps to itself.
//
// Arrivals and cancellations are seen after every chunk.
//
// Invariants, verified by check(), which tests call between turns:
//   S1  a request is in exactly one place: the queue, or one slot
//   S2  the cache's own invariants hold: it knows what each slot holds
//   S3  the queue holds at most `queue_max` requests, and what waits is counted
//   S4  a slot with a request has something to do for it: tokens to read, or one
//       to decode
//   S5  those of TurnPace
//
// What is asked of a slot by itself (save_slot and its like) is done at the beginning of the
// first turn in which the slot is idle, before another request takes it.
//
// submit(), cancel(), status() and what is asked of slots may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "base/thread_annotations.h"
#include "cache/cache_journal.h"
#include "cache/cache_status.h"
#include "cache/conversation_status.h"
#include "cache/disk_tier.h"
#include "cache/receipt.h"
#include "cache/slot_file.h"
#include "cache/state_cache.h"
#include "cache/token_history.h"
#include "engine/engine.h"
#include "engine/text.h"
#include "env/clock.h"
#include "plan/turn_pace.h"
#include "serve/idle_check.h"
#include "serve/prover.h"
#include "serve/request.h"
#include "serve/slot.h"
#include "serve/speculator.h"
#include "serve/step_gaps.h"
#include "state/grid.h"

namespace holdfast::serve {

class SchedulerObserver;

struct SchedulerOptions {
  std::size_t queue_max = 256;
  // Decode slots one by one, so that no request's numerics depend on another.
  bool deterministic = false;
  // The same for decode steps alone: where an engine is wrong about several slots at once.
  bool one_by_one = false;
  TokenPos grid_step = 512;
  plan::TurnPaceOptions pace;
  // Tokens that every draft is filled up to when deterministic, so that no token's bits
  // depend on what was drafted.
  TokenPos deterministic_draft = 0;
  // For benchmarks of models whose weights mean nothing: a drafted token at each place is
  // taken with this probability, whatever the model says. Empty: never.
  std::vector<float> synthetic_acceptance;
  ProverOptions proofs;
  // What of the engine's check is left to do while nobody waits; nothing: nothing is.
  std::optional<engine::ConformanceOptions> check;
  cache::CacheOptions cache;  // `deterministic` and `merged_chunk` there follow from these
};

// What runs beside the engine, where there is one.
struct SchedulerParts {
  SchedulerObserver* observer = nullptr;
  cache::TokenHistory* history = nullptr;  // learns the tokens of each answer
  engine::Companion* companion = nullptr;
  cache::DiskTier* lower = nullptr;  // asked on the scheduler's thread, from start() on
  // Sees what the cache is asked and told; must outlive the scheduler.
  cache::CacheJournal* journal = nullptr;
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
  StepGaps gaps_undisturbed;  // between two steps of a slot, where only steps were run,
  StepGaps gaps_of_work;      // and where others read, or states were moved
  std::string companion;      // its name; empty: there is none
  DraftCounts drafts;
  ProofCounts proofs;
  std::string disproved;  // what a proof found; empty: nothing. Nothing is restored since
};

// Sees what the scheduler does, for logs and progress. Called on its thread.
class SchedulerObserver {
 public:
  virtual ~SchedulerObserver() = default;
  virtual void on_started(const GenerateRequest&, const Started&) {}
  virtual void on_progress(const GenerateRequest&, const PromptProgress&) {}
  virtual void on_finished(const GenerateRequest&, const Finished&) {}
  virtual void on_failed(const GenerateRequest&, const Error&) {}
  virtual void on_evicted(const plan::Victim&) {}
  virtual void on_proved(const Proof&) {}
  // Some more of the engine's check was done.
  virtual void on_checked(const engine::ConformanceReport&) {}
};

// Which slot is meant, and by whom.
struct SlotAsk {
  SlotId slot;
  SpaceKey space;  // the asker's: another's conversation is not touched
  // Set once nobody waits for the answer; then nothing is done, unless it has begun.
  std::shared_ptr<const std::atomic<bool>> unwanted;
};

struct SlotCopy {
  cache::SlotState state;
  double ms = 0.0;  // that it took; the slot may have been waited for
};
struct SlotBrought {
  TokenPos tokens = 0;
  double ms = 0.0;
};

// Gets the answer, on a thread of the server or the caller's. Must not block.
template <typename T>
using SlotAnswer = std::function<void(Result<T>)>;

enum class StopMode {
  kFinish,  // running and queued requests are completed first
  kCut,     // every request ends at its next step
};

class Scheduler {
 public:
  Scheduler(engine::Engine& engine, const engine::TextModel& text, SchedulerOptions options,
            const env::Clock& clock, SchedulerParts parts = {});
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
  [[nodiscard]] cache::CacheStatus cache_status() const;
  [[nodiscard]] const cache::ReceiptLog& receipts() const { return receipts_; }
  // Drops every state in memory, in idle slots and below, and forgets all tokens, answers and
  // receipts; what a running request needs stays in its slot, and its answer is remembered. The
  // answer is how many bytes of memory that freed, when all of it is done: on the thread of the
  // tier below where there is one. kUnavailable once the server stops; none comes where the tier
  // below is stopped first.
  void clear_cache(SlotAnswer<ByteCount> answer);
  // The conversations that memory holds, at most `most` of them in detail, as of the loop's next
  // turn. kUnavailable once the server stops.
  void list_conversations(std::size_t most, SlotAnswer<cache::ConversationsStatus> answer);
  // This many tokens at most of a conversation lie below memory too, as far as is known without
  // looking there. Nothing: there is no such tier, or another server writes to it.
  [[nodiscard]] std::optional<TokenPos> tokens_below(
      const cache::ConversationStatus& conversation) const;
  // Copies out what a slot holds. kNotFound where that is nothing, or another's.
  void save_slot(SlotAsk ask, SlotAnswer<SlotCopy> answer);
  // Gives a slot this state. What it held goes into memory, whoever's it was, as when a
  // request takes the slot. The answer is how many tokens it now holds; an Error says whether
  // it holds what it held, or nothing.
  void restore_slot(SlotAsk ask, std::shared_ptr<const cache::SlotState> state,
                    SlotAnswer<SlotBrought> answer);
  // Empties a slot; the answer is how many tokens it held. kNotFound: they are another's.
  void erase_slot(SlotAsk ask, SlotAnswer<TokenPos> answer);
  // What states may be restored.
  [[nodiscard]] cache::SlotLimits slot_limits(SpaceKey space) const;
  // The answer to this request called a tool: its client will soon be back.
  void note_tool_call(const std::string& request_id);

  // Runs the loop on a thread of its own until stop().
  void start();
  // Returns once the loop has ended. A second call may turn kFinish into kCut.
  void stop(StopMode mode);
  void request_stop(StopMode mode);

  // Puts what idle slots hold into memory and into the tier below, if there is one. Done by the
  // loop when nothing has happened for a while, and when it ends. As turn(), for tests too.
  void keep_idle_states();

  // Goes on with the engine's check, and computes restored states again, as far as some were chosen
  // for that, until `wanted` says that somebody waits. Done by the loop likewise.
  void check_idle(const std::function<bool()>& wanted);
  void prove_idle(const std::function<bool()>& wanted);

  // One turn of the loop; false when there was nothing to do. For tests and for
  // the loop itself; not to be called while the thread runs.
  bool turn();

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  void run();
  void prepare(Job& job) const;
  void take_arrivals();
  [[nodiscard]] bool all_idle() const;
  void note_restored(const Slot& slot);
  void act_on(const Proof& proof);
  void end_everything();
  // Something asked of a slot. Called with an Error it has been refused.
  struct SlotTask {
    SlotAsk ask;
    std::function<void(const Error*)> act;
  };
  struct ListAsk {
    std::size_t most = 0;
    SlotAnswer<cache::ConversationsStatus> answer;
  };
  void answer_list_asks();
  void clear_everything(const SlotAnswer<ByteCount>& answer);
  // Waits for work, at most this long; returns whether there is any.
  bool wait_for(std::unique_lock<std::mutex>& lock, std::optional<std::chrono::milliseconds> most,
                const std::function<bool()>& has_work);
  void enqueue(SlotTask task);
  void do_slot_tasks();
  [[nodiscard]] Result<SlotCopy> copy_slot(const SlotAsk& ask);
  [[nodiscard]] Result<TokenPos> empty_slot(const SlotAsk& ask);
  [[nodiscard]] Result<SlotBrought> bring_to_slot(const SlotAsk& ask,
                                                  const cache::SlotState& state);
  [[nodiscard]] std::optional<Error> unlike_ours(const cache::SlotState& state) const;
  void end_cancelled_and_late();
  void admit_waiting();
  [[nodiscard]] std::vector<SlotId> idle_slots_for(const Job& job) const;
  [[nodiscard]] bool may_start(const Job& job) const;
  [[nodiscard]] bool waits_for_lower(Job& job, const cache::StartChoice& outlook);
  [[nodiscard]] bool fetching(const Job& job) const;
  [[nodiscard]] std::deque<std::unique_ptr<Job>>::iterator next_in_queue();
  void start_job(std::unique_ptr<Job> job, const cache::StartChoice& outlook);
  [[nodiscard]] bool prefilling(const Slot& slot) const;
  [[nodiscard]] TokenPos prefill_left(const Slot& slot) const;
  [[nodiscard]] Slot* choose_prefill();
  bool prefill_some();
  void prefill_chunk(Slot& slot, TokenPos tokens);
  void note_progress(Slot& slot);
  void finish_prefill(Slot& slot);

  // scheduler_pace.cc
  [[nodiscard]] bool writes(const Slot& slot) const;
  [[nodiscard]] TokenPos tokens_to_read(const Slot& slot) const;
  [[nodiscard]] bool reads_on();
  [[nodiscard]] bool may_begin(Job& job, const cache::StartChoice& outlook) const;
  [[nodiscard]] cache::LogitsPtr begin_paced(Job& job, const cache::StartChoice& outlook);
  void keep_chunk(Slot& slot, TokenSpan chunk, engine::LogitsOf logits);
  bool copy_postponed();
  void copy_postponed(Slot& slot, ByteCount bytes);
  void begin_reading(TokenPos tokens);
  void settle_reading();
  void leave_off_reading(Slot& slot);
  bool step();
  void note_gap(Job& job, env::Clock::TimePoint now);

  // scheduler_write.cc
  bool decode_all();
  void decode_together(std::span<Slot* const> slots);
  // How a generation ends, and why.
  struct Ending {
    FinishReason reason = FinishReason::kStopToken;
    std::string stop_string;
  };
  // What came of a slot's step: how much of the draft was right, and what follows.
  struct Verdict {
    TokenPos accepted = 0;
    Token next = 0;
    Tokens undone;  // right, and yet to be computed again
    std::optional<Ending> ending;
    std::optional<Error> error;
  };
  [[nodiscard]] Verdict sample_rows(Slot& slot, TokenPos first_row, TokenPos computed);
  [[nodiscard]] Result<engine::Sampled> sample_row(Slot& slot, TokenPos row);
  void pretend(engine::Sampled& sampled, const Tokens& draft, std::size_t place);
  [[nodiscard]] std::optional<Ending> take_token(Slot& slot, const engine::Sampled& sampled,
                                                 TokenPos computed);
  void keep_accepted(Slot& slot, Verdict& verdict);
  void bring_back(Slot& slot, Verdict& verdict);
  [[nodiscard]] Result<void> read_again(Slot& slot, TokenSpan tokens);
  void conclude(Slot& slot, const Verdict& verdict);
  void send_text(Slot& slot, std::string text);
  void finish(Slot& slot, FinishReason reason, std::string stop_string);
  void fail(Slot& slot, const Error& error);
  void fail_job(const Job& job, const Error& error);
  void drop_job(const Job& job, const Error& error);
  void note_in_journal(const Job& job, cache::RequestEnd end);
  [[nodiscard]] std::unique_ptr<Job> end_job(Slot& slot);
  void publish_status();
  void note_timings(const Timings& timings);

  engine::Engine& engine_;
  const engine::TextModel& text_;
  const SchedulerOptions options_;
  const env::Clock& clock_;
  SchedulerObserver* const observer_;
  cache::TokenHistory* const history_;
  cache::DiskTier* const lower_;
  cache::CacheJournal* const journal_;
  const Grid grid_;
  const ByteCount state_bytes_max_;  // of a file of one slot
  Speculator speculator_;
  cache::ReceiptLog receipts_;

  // The loop's own.
  cache::StateCache cache_;
  Prover prover_;
  IdleCheck idle_check_;
  std::vector<Slot> slots_;
  std::deque<std::unique_ptr<Job>> queue_;
  std::deque<SlotTask> slot_tasks_;  // for slots that are at work
  std::unordered_set<std::string> cancelled_;
  plan::TurnPace pace_;
  bool writing_ = false;                                // somebody did when this turn began
  std::optional<env::Clock::TimePoint> reading_since_;  // chunks whose time is not known yet
  std::uint64_t chunks_ = 0;
  std::uint64_t jobs_ = 0;        // that arrived
  std::minstd_rand pretence_{1};  // for synthetic_acceptance
  SchedulerStatus totals_;
  // Requests that ended last on each slot, and their runs, for note_tool_call().
  std::vector<std::pair<std::string, std::uint64_t>> ended_;

  // Between the loop and the others.
  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::vector<std::unique_ptr<Job>> arrivals_ GUARDED_BY(mutex_);
  std::vector<std::string> cancels_ GUARDED_BY(mutex_);
  std::size_t waiting_ GUARDED_BY(mutex_) = 0;  // arrivals and queue together (S3)
  std::optional<StopMode> stop_ GUARDED_BY(mutex_);
  std::vector<std::string> tool_calls_ GUARDED_BY(mutex_);
  bool lower_news_ GUARDED_BY(mutex_) = false;
  std::vector<SlotAnswer<ByteCount>> clears_ GUARDED_BY(mutex_);
  std::vector<ListAsk> list_asks_ GUARDED_BY(mutex_);
  std::vector<SlotTask> new_slot_tasks_ GUARDED_BY(mutex_);
  std::size_t slot_tasks_waiting_ GUARDED_BY(mutex_) = 0;  // new ones included
  SchedulerStatus published_ GUARDED_BY(mutex_);
  cache::CacheStatus published_cache_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::serve
