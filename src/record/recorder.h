// CacheRecorder: writes a recording of what a cache is asked and told.
//
//   StateCache --calls, answers--> CacheRecorder --events--> frames --> RecordingSink
//
// Attach it as SchedulerParts::journal. It puts itself between the cache and engine, clock,
// companion and tier below (recording_world.cc), and notes what they answer inside a call: never
// a byte of a state. Tokens that are decoded one by one are gathered until something else
// happens, because until then nobody asks for them.
//
// A private recording has no token id, no text, no name of a tenant, request or space: names
// become numbers in the order in which they were first seen, tokens what sequence_book.h says.
//
// Nothing that goes wrong here reaches the server: the recording ends, on_stopped is told why,
// and everything goes on without it.
//
// Memory: what EventEncoder remembers of sequences, at most kRecordedTokensMax tokens. Beyond
// that it starts over, which costs a few bytes for each prompt that comes again; a private
// recording ends there, because it could no longer say what agrees with what.
//
// The engine's thread; finish() after it has ended.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/cache_journal.h"
#include "record/recording_events.h"
#include "record/recording_file.h"
#include "record/recording_frames.h"

namespace holdfast::record {

struct RecorderOptions {
  bool private_form = false;
  std::string build = {};  // of the program
  std::int64_t unix_ms = 0;
  std::uint64_t tokens_max = kRecordedTokensMax;  // remembered
};

class CacheRecorder final : public cache::CacheJournal {
 public:
  // REQUIRES: the sink outlives it.
  CacheRecorder(RecordingSink& sink, RecorderOptions options);
  ~CacheRecorder() override;

  // Told once, when the recording ends before finish().
  std::function<void(const std::string& why)> on_stopped;

  // Writes the end. To be called when no cache uses it any more.
  void finish();
  [[nodiscard]] bool recording() const { return recording_; }
  [[nodiscard]] std::uint64_t requests() const { return requests_; }

  // For those between the cache and the world: inside of a call.
  void note(Answer answer);
  void note_time(env::Clock::TimePoint now);

  // -- CacheJournal ---------------------------------------------------------------
  cache::CacheWorld watch(cache::CacheWorld world, const cache::CacheOptions& options) override;
  bool intact(std::span<const std::byte> bytes, std::uint64_t checksum) override;
  void close() override;
  void plan(const cache::Prompt& prompt, std::span<const SlotId> slots) override;
  void planned(const plan::StartPlan& plan) override;
  void worth_waiting_for(const cache::Prompt& prompt) override;
  void waits_for(const std::optional<cache::Awaited>& awaited) override;
  void ask_below(const cache::Prompt& prompt) override;
  void go_on(const cache::Prompt& prompt, const tier::StoreMatch* found,
             const cache::Brought* came) override;
  void begin(const cache::Prompt& prompt, SlotId slot, const cache::Receipt& receipt) override;
  void before_chunk(SlotId slot) override { open(EventKind::kBeforeChunk, slot); }
  void prefilled(SlotId slot, TokenSpan chunk, engine::LogitsOf logits,
                 cache::Copies copies) override;
  void copy_postponed(SlotId slot, ByteCount bytes) override;
  void decoded(SlotId slot, TokenSpan kept) override;
  void emptied(SlotId slot) override { open(EventKind::kEmptied, slot); }
  void end(SlotId slot) override;
  void called_tool(SlotId slot, std::uint64_t run) override;
  void note_prefill_speed(TokenPos tokens, double ms) override;
  void copy_out(SlotId slot) override { open(EventKind::kCopyOut, slot); }
  void bring_in(SlotId slot, const cache::SlotState& state) override;
  void erase(SlotId slot) override { open(EventKind::kErase, slot); }
  void keep_idle() override { open(EventKind::kKeepIdle); }
  void clear() override { open(EventKind::kClear); }
  void distrust() override { open(EventKind::kDistrust); }
  [[nodiscard]] bool wants_text() const override { return recording_ && !options_.private_form; }
  void finished(const cache::FinishedRequest& over, const cache::CacheStatus& status) override;
  void dropped(std::uint64_t number, cache::RequestEnd end) override;

 private:
  void open(EventKind kind, SlotId slot = {});
  void introduce(const cache::Prompt& prompt);
  void write_decoded();
  void write(const CacheEvent& event);
  void write_frame();
  void send(std::string bytes);
  void mind_memory();
  void stop(const std::string& why);
  [[nodiscard]] SpaceKey space_of(SpaceKey space);
  [[nodiscard]] cache::Receipt without_names(const cache::Receipt& receipt);

  RecordingSink& sink_;
  const RecorderOptions options_;
  EventEncoder encoder_;
  FrameWriter frames_;
  RecordWriter pending_;  // events of the next frame
  bool recording_ = true;
  bool finished_ = false;
  std::uint64_t requests_ = 0;

  engine::Engine* engine_ = nullptr;
  std::vector<std::unique_ptr<engine::Engine>> engines_;
  std::vector<std::unique_ptr<env::Clock>> clocks_;
  std::vector<std::unique_ptr<engine::Companion>> companions_;
  std::vector<std::unique_ptr<cache::ColdTier>> belows_;

  CacheEvent call_;  // the one that is open
  bool in_call_ = false;
  std::optional<env::Clock::TimePoint> last_time_;
  std::map<int, Tokens> decoded_;          // by slot, not yet written
  std::map<std::uint64_t, bool> prompts_;  // by request: they were introduced
  // Private: names by their numbers.
  std::map<SpaceKey, std::uint64_t> spaces_;
  std::map<std::string, std::uint64_t> tenants_;
  std::map<std::string, std::uint64_t> running_;  // ids of requests that have begun
};

}  // namespace holdfast::record
