// CacheRecorder: writes a recording of what a cache is asked and told.
//
//   StateCache --calls--> CacheRecorder --events--> RecordingWriter --frames--> RecordingSink
//        |                     ^
//        `--questions--> RecordedWorld --answers--> CallNotes
//
// Attach it as SchedulerParts::journal. It puts itself between the cache and the engine, clock,
// companion and tier below (recording_world.h), and notes what they answer inside a call, but never
// a byte of a state. Tokens that are decoded one by one are gathered until another call comes.
//
// A private recording has no token id, no text, no name of a tenant, request or space: see
// private_names.h, and sequence_book.h for tokens.
//
// Nothing that goes wrong here reaches the server: the recording ends, on_stopped is told why,
// and everything goes on without it.
//
// The engine's thread; finish() after it has ended.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cache/cache_journal.h"
#include "record/call_notes.h"
#include "record/private_names.h"
#include "record/recording_events.h"
#include "record/recording_file.h"
#include "record/recording_world.h"
#include "record/recording_writer.h"

namespace holdfast::record {

struct RecorderOptions {
  bool private_form = false;
  std::string build = {};  // of the program
  std::int64_t unix_ms = 0;
  std::uint64_t tokens_max = kRecordedTokensMax;  // that the writer remembers
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
  [[nodiscard]] bool recording() const { return writer_.writing(); }
  [[nodiscard]] std::uint64_t requests() const { return requests_; }

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
  void forget(SlotId slot) override { open(EventKind::kForgetSlot, slot); }
  void keep_idle() override { open(EventKind::kKeepIdle); }
  void clear(const std::optional<SpaceKey>& only) override;
  void drop(tree::NodeId tip) override;
  void distrust() override { open(EventKind::kDistrust); }
  [[nodiscard]] bool wants_text() const override { return recording() && !options_.private_form; }
  void finished(const cache::FinishedRequest& over, const cache::CacheStatus& status) override;
  void dropped(std::uint64_t number, cache::RequestEnd end) override;

 private:
  void open(EventKind kind, SlotId slot = {});
  // Says what a prompt is, before it is first spoken of.
  void introduce(const cache::Prompt& prompt);
  // What begins next, where it is no usual request.
  void note_kind(const cache::Prompt& prompt);
  void write_decoded();
  [[nodiscard]] SpaceKey space_of(SpaceKey space);

  const RecorderOptions options_;
  RecordingWriter writer_;
  CallNotes notes_;
  PrivateNames names_;
  std::vector<RecordedWorld> worlds_;
  const engine::Engine* engine_ = nullptr;  // null: no cache uses it yet
  bool finished_ = false;
  std::uint64_t requests_ = 0;
  std::map<int, Tokens> decoded_;    // by slot, not yet written
  std::set<std::uint64_t> prompts_;  // requests whose prompts were introduced
};

}  // namespace holdfast::record
