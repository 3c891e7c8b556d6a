// StateCache: everything that has been computed and can still be used - the live
// states of the slots, and the states in memory behind them.
//
//   plan(prompt)   how could it begin, and where from?        (plan/start_plan.h)
//   begin          do that; what fails is planned around
//   before_chunk   the slot is about to grow,
//   prefilled      and has grown; checkpoints that were placed here are taken
//   copy_postponed or taken later, before the slot grows further
//   decoded        likewise, by sampled tokens
//   end            the request is over; its tokens stay known
//
// Below memory there may be another tier (cache/lower_tier.h), which keeps what memory holds
// across restarts and beyond its budget. What a prompt could use of it is brought into
// memory first; then it is planned as usual.
//
//   ask_below / go_on   bring up what pays
//   keep_below          write a path behind
//
// Where reading the last few tokens of a prompt costs more than a state, the state of the
// whole prompt is kept too, with its logits (cache/prompt_ends.h): asked again, it begins with
// nothing to read.
//
// Where the budget is smaller than a handful of snapshots for each slot, the slots keep some of
// their own beside it, up to that handful (cache/slot_snapshots.h): without any, a model with
// recurrent parts could not even go back in the rows that lie in a slot anyway.
//
// A live state is copied into memory at its checkpoints, each row once, and the
// rest of it (the answer) when another prompt takes its slot. So nothing that was
// computed is lost but by the budget (H3), and a conversation that stays on its
// slot brings nothing back.
//
// Deterministic: only prefill state on the grid is kept or continued, because
// decoded state differs from it in its last bits; and states are filed under
// chunk keys (state/chunk_keys.h), because rows differ with the chunk that they
// were computed in. What has been seen is then remembered by its tokens apart.
//
// Invariants, verified by check():
//   C1  a slot's tokens are as many as the engine says it holds
//   C2  0 <= exact <= length of the slot's tokens
//   C3  checkpoints still to be taken lie beyond the slot's tokens, ascending; one that was
//       postponed lies at their end
//   C4  those of MemoryTier, and of the tree of what has been seen
//   C5  what a slot says is filed is: its first tokens (deterministic: keys) are
//       those above the node, while that is alive
//   C6  those of PromptEnds
//   C7  those of SlotSnapshots; a slot's places lie within its tokens, deterministic within
//       `exact`; together with what memory holds they stay within the larger of the budget
//       and `slot_snapshots` snapshots for each slot
//
// One owning thread, that of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/below.h"
#include "cache/cache_journal.h"
#include "cache/cache_status.h"
#include "cache/conversation_status.h"
#include "cache/memory_tier.h"
#include "cache/prompt_ends.h"
#include "cache/receipt.h"
#include "cache/slot_snapshots.h"
#include "cache/slot_state.h"
#include "engine/companion.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "plan/placement.h"
#include "plan/start_plan.h"

namespace holdfast {

struct CacheOptions {
  MemoryOptions memory;
  bool deterministic = false;
  // Distance of the checkpoints inside long messages; 0: as memory allows.
  TokenPos checkpoint_every = 0;
  // Off: states are kept only when their slot is taken.
  bool checkpoints = true;
  // Chunks of the grid that together have no more tokens are read as one, where bits need not be
  // a cold run's (plan/run_cuts.h); 0: none are.
  TokenPos merged_chunk = 0;
  // So many snapshots each slot may keep of its own path, however small memory's budget is. Those
  // that the budget has room for count within it. No effect where the budget is 0.
  int slot_snapshots = 8;
  // The tier below holds states of other makers: receipts say so where that is why a prompt is
  // read.
  bool names_foreign = false;
  std::string fingerprint;  // shown by status()
};

// A prompt as the cache sees it. What it refers to outlives the request.
struct Prompt {
  SpaceKey space;
  TokenSpan tokens;
  TokenSpan keys;                  // what its states are filed under, one for each token
  std::span<const TokenPos> cuts;  // its grid
  std::span<const MessageSpan> spans;
  bool reuse = true;
  // Where the header that opens the answer ends and what history will not repeat
  // begins; none: not known.
  std::optional<TokenPos> header_end;
  std::span<const PathName> names;  // of its keys, where there is a tier below
  EndKey end;                       // of its keys, if it may use what is kept
  std::uint64_t number = 0;         // of the request, for the journal
};

// How a prompt could begin now. Valid until the cache changes.
struct Outlook {
  Match match;
  StartPlan plan;
};

// A prefix that a slot is computing right now and another prompt could use.
struct Awaited {
  SlotId slot;
  std::uint64_t run = 0;  // of the slot; another number: that request is over
  TokenPos position = 0;
};

// What is being brought up for a prompt that waits.
struct LowerFetch {
  enum class Stage { kLooking, kBringing, kOver };
  Stage stage = Stage::kOver;
  std::shared_ptr<Pending<StoreMatch>> look;
  std::shared_ptr<Pending<Brought>> bring;
  LowerChoice choice;
  RoomHold room;
  int tries = 0;
  Clock::TimePoint began{};
  double patience_ms = 0.0;  // so long, and no longer

  [[nodiscard]] bool over() const { return stage == Stage::kOver; }
};

class StateCache {
 public:
  // `lower` may be null. It is asked on the engine's thread only. A journal sees every call.
  StateCache(Engine& engine, CacheOptions options, const Clock& clock,
             Companion* companion = nullptr, Below* lower = nullptr,
             CacheJournal* journal = nullptr);

  // -- before ------------------------------------------------------------------
  // What a prompt's states are filed under; empty: its tokens themselves.
  [[nodiscard]] static Tokens keys_for(TokenSpan tokens, std::span<const TokenPos> cuts,
                                       bool deterministic);
  // REQUIRES: there is a slot, all are idle.
  [[nodiscard]] Outlook plan(const Prompt& prompt, std::span<const SlotId> slots) const;
  // A checkpoint deeper than what the outlook keeps, that a running request will
  // reach. Asks for one at the place where the two prompts part.
  [[nodiscard]] std::optional<Awaited> worth_waiting_for(const Prompt& prompt,
                                                         const Outlook& outlook);
  [[nodiscard]] bool still_coming(const Awaited& awaited) const;

  // -- the tier below (state_cache_lower.cc) -------------------------------------
  // What a prompt's states are found by below; empty where there is no such tier.
  [[nodiscard]] std::vector<PathName> names_for(SpaceKey space, TokenSpan keys) const;
  // Asks for more of the prompt than the outlook keeps, where there may be more.
  [[nodiscard]] LowerFetch ask_below(const Prompt& prompt, const Outlook& outlook);
  // Whether an answer is there, or will not be waited for.
  [[nodiscard]] bool ready(const LowerFetch& fetch) const;
  // Does the next step of a fetch that is ready. True: memory holds more of the prompt now.
  // REQUIRES: the outlook is the prompt's, of now.
  bool go_on(LowerFetch& fetch, const Prompt& prompt, const Outlook& outlook, Receipt& receipt);
  // Puts what idle slots hold into memory, as far as there is room, and into the tier below, if
  // there is one. Returns whether there was anything.
  bool keep_idle();

  // -- during ------------------------------------------------------------------
  // Carries the outlook's plan out and fills in the receipt. Where a state cannot
  // be brought back after all, the next best plan for the same slot is taken.
  // Afterwards the slot holds `receipt.restored` tokens of the prompt. Where these are all of
  // them, the answer begins with the logits that are returned; else they are null.
  LogitsPtr begin(const Prompt& prompt, const Outlook& outlook, Receipt& receipt);
  // What begin() would move at most: out of the slot, and into it.
  [[nodiscard]] ByteCount bytes_to_begin(const Outlook& outlook) const;
  // Where the chunk that begins at the slot's end has to end. It may be read in pieces, unless
  // deterministic: then chunks are those of the grid.
  [[nodiscard]] TokenPos chunk_end(SlotId slot) const;
  // What the checkpoint behind a chunk that ends there copies at most; 0: none is due there.
  [[nodiscard]] ByteCount bytes_due(SlotId slot, TokenPos end) const;
  // To be called before each chunk. Deterministic: wherever a restore may begin,
  // an uninterrupted run looks like a restored one. On an Error the slot is empty.
  [[nodiscard]] Result<void> before_chunk(SlotId slot);
  // The engine has appended these tokens, up to chunk_end() or less, and has these logits. A
  // checkpoint that is due is taken now; or it is postponed, and has to be taken before the slot
  // grows.
  void prefilled(SlotId slot, TokenSpan chunk, Receipt& receipt, LogitsOf logits = LogitsOf::kNone,
                 Copies copies = Copies::kNow);
  [[nodiscard]] bool postponed(SlotId slot) const { return live(slot).postponed.has_value(); }
  [[nodiscard]] ByteCount postponed_bytes(SlotId slot) const;
  // Takes the checkpoint that was postponed. Where it is more than `bytes`, only some of its rows
  // are copied, about so many bytes, and it stays postponed; a snapshot is never divided.
  // REQUIRES: there is one, and the engine's slot is as prefilled() found it.
  void copy_postponed(SlotId slot, ByteCount bytes, Receipt& receipt);
  // The engine's latest decode appended these to the slot, and they stay. Nothing is postponed.
  // The companion knows the first `told` of them already.
  void decoded(SlotId slot, TokenSpan kept, TokenPos told = 0);
  // The engine's slot was emptied while a request is at work there.
  void emptied(SlotId slot);
  // The request is over, or failed: the engine may have emptied the slot. What was postponed is
  // not taken any more; the slot holds it.
  void end(SlotId slot);
  // The answer that ended on this slot called a tool: its client will soon be back.
  void called_tool(SlotId slot, std::uint64_t run);
  // How long reading took, for costs and receipts.
  void note_prefill_speed(TokenPos tokens, double ms);

  // -- a slot's state by itself (state_cache_slots.cc) ----------------------------
  // What could be continued of an idle slot's state: all of it, deterministic as much as
  // has the bits of a cold run. Nothing: there is no such part, or it cannot be copied.
  [[nodiscard]] std::optional<SlotState> copy_out(SlotId slot);
  // Gives an idle slot another state; its own goes into memory first, as if a request took
  // the slot. On an Error the slot is empty.
  // REQUIRES: there are tokens, and the keys that they have here.
  [[nodiscard]] Result<void> bring_in(SlotId slot, const SlotState& state);
  // Empties an idle slot; what memory holds stays there. Returns the tokens that it held.
  TokenPos erase(SlotId slot);

  // -- looking in ----------------------------------------------------------------
  [[nodiscard]] TokenPos length(SlotId slot) const { return length_of(live(slot).tokens); }
  [[nodiscard]] TokenSpan tokens(SlotId slot) const { return live(slot).tokens; }
  [[nodiscard]] SpaceKey space(SlotId slot) const { return live(slot).space; }
  [[nodiscard]] std::uint64_t run(SlotId slot) const { return live(slot).run; }
  [[nodiscard]] const MemoryTier& memory() const { return memory_; }
  [[nodiscard]] MemoryTier& memory() { return memory_; }
  [[nodiscard]] CacheStatus status() const;
  // The conversations that memory holds, and at most so many of them that were used last. Walks all
  // that is held: for whoever asks, not for every turn.
  [[nodiscard]] ConversationsStatus conversations(std::size_t most, Clock::TimePoint now) const;
  ByteCount clear();
  // A state of this space was computed again and came out otherwise (serve/prover.h). Whatever may
  // have come of it goes: memory, idle slots, and what the tier below has of the space. From now on
  // nothing is restored; slots go on from what they hold.
  // REQUIRES: no request is at work.
  void distrust(SpaceKey space, const std::string& why);
  // The parts of a state that memory holds, for a proof. Changes nothing.
  [[nodiscard]] std::optional<HeldParts> parts_of(SpaceKey space, TokenSpan keys) const {
    return memory_.parts_of(space, keys);
  }
  // Whether emptying an idle slot loses nothing that memory does not hold.
  [[nodiscard]] bool can_spare(SlotId slot) const;
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  StateCache(const CacheWorld& world, CacheOptions options, CacheJournal* journal);

  // A checkpoint at the end of a slot's tokens that is still to be taken.
  struct Postponed {
    Checkpoint checkpoint;
    TokenPos rows = 0;  // of so many tokens rows were copied ahead
    LogitsPtr logits;   // of the last token, where the prompt ends here
  };

  // What one slot holds, and what is planned for the request at work there.
  struct Live {
    SpaceKey space;
    Tokens tokens;
    Tokens keys;  // deterministic: one for each token
    // Deterministic: tokens [0, exact) were computed chunk by chunk of the grid and have the same
    // bits that a cold run would have. Beyond lie a partial chunk and decoded tokens. Otherwise
    // less may be known of them: chunks that were read as one do not count.
    TokenPos exact = 0;
    TokenPos kept = 0;       // a state of the first `kept` tokens was put into memory
    Filed filed;             // as many of the keys are in memory's tree, and where
    std::uint64_t run = 0;   // counts the requests that began here, over all slots
    bool tool_call = false;  // its answer called a tool
    bool newcomer = false;   // most of it had to be read
    TokenPos offered = 0;    // so much of it was put into memory while idle, or declined
    // While a request is at work:
    TokenSpan prompt;
    TokenSpan prompt_keys;
    std::span<const TokenPos> grid;     // the prompt's
    std::vector<TokenPos> cuts;         // where it is cut this time, ascending
    std::vector<Checkpoint> due;        // still to be taken, ascending
    std::vector<TokenPos> due_in_slot;  // of them not offered to memory, ascending
    std::optional<Postponed> postponed;
    TokenPos last_checkpoint = 0;
    EndKey end;                // the prompt's
    Clock::TimePoint began{};  // reading
    double store_ms = 0.0;     // of the time since then, spent on checkpoints
  };

  [[nodiscard]] const Live& live(SlotId slot) const {
    return live_[static_cast<std::size_t>(slot.value)];
  }
  [[nodiscard]] Live& live(SlotId slot) { return live_[static_cast<std::size_t>(slot.value)]; }
  // When the latest request began. What a request keeps and drops does not depend on how fast it
  // is read.
  [[nodiscard]] Tick now() const { return now_; }
  [[nodiscard]] StartCosts costs() const;
  [[nodiscard]] LiveState describe(SlotId slot, const Prompt& prompt, const Match& match,
                                   bool may_cut) const;
  // Tokens that the slot has in common with the prompt, whose match this is; 0 under
  // another space.
  [[nodiscard]] TokenPos common(const Live& live, const Prompt& prompt, const Match& match) const;
  [[nodiscard]] Outlook plan_with(const Prompt& prompt, std::span<const SlotId> slots,
                                  bool may_cut) const;
  [[nodiscard]] ByteCount unsaved_bytes(const Live& live) const;
  [[nodiscard]] std::optional<int> slot_holding(SpaceKey space, TokenSpan keys) const;
  [[nodiscard]] TokenPos storable_length(const Live& live) const;

  [[nodiscard]] std::optional<Awaited> find_awaited(const Prompt& prompt, const Outlook& outlook);

  // Why an action was not done.
  enum class Obstacle { kNone, kCutRefused, kNotRestored, kOwnNotRestored };
  [[nodiscard]] Obstacle carry_out(const Prompt& prompt, const Outlook& outlook, Receipt& receipt);
  [[nodiscard]] Obstacle act(const StoreLive& action, SlotId slot, const Prompt&, Receipt&);
  [[nodiscard]] Obstacle act(const CutLive& action, SlotId slot, const Prompt&, Receipt&);
  [[nodiscard]] Obstacle act(const LoadSnapshot& action, SlotId slot, const Prompt&, Receipt&);
  [[nodiscard]] Obstacle act(const RestoreState& action, SlotId slot, const Prompt&, Receipt&);
  [[nodiscard]] Obstacle act(const ClearSlot& action, SlotId slot, const Prompt&, Receipt&);
  [[nodiscard]] Obstacle act(const ReadPrompt& action, SlotId slot, const Prompt&, Receipt&);
  void shorten(SlotId slot, TokenPos length);
  void forget_slot(SlotId slot);
  void take_over(SlotId slot, const Prompt& prompt, const Outlook& outlook);
  [[nodiscard]] TokenSpan keys_of(const Live& live) const {
    return options_.deterministic ? live.keys : live.tokens;
  }
  void bring_companion(SlotId slot, const Prompt& prompt, Receipt& receipt);
  [[nodiscard]] bool is_filed(const Live& live) const;  // C5
  void note_restored(Receipt& receipt, ByteCount bytes, double ms);

  // state_cache_checkpoints.cc
  void place(Live& live, const Prompt& prompt, const Receipt& receipt);
  // Of checkpoints where memory is scarce, so that they weigh no more than the rows.
  [[nodiscard]] TokenPos scarce_distance() const;
  // Of those inside messages, which are rarely where prompts part.
  [[nodiscard]] TokenPos sparse_distance() const;
  static void place_in_slot(Live& live, PlacementInput input, TokenPos least);
  struct Spacing {
    TokenPos tokens = 0;
    bool keeps_messages = false;
  };
  [[nodiscard]] Spacing spacing_for(const Prompt& prompt, TokenPos from) const;
  [[nodiscard]] NearEnd near_end_for(const Prompt& prompt) const;
  [[nodiscard]] bool keeps_ends(const Prompt& prompt) const;
  [[nodiscard]] bool may_begin_at_end(const Prompt& prompt) const;
  [[nodiscard]] bool worth_its_end(const Live& live) const;
  [[nodiscard]] LogitsPtr end_logits(SlotId slot) const;
  void keep_end(SlotId slot, LogitsPtr logits);
  [[nodiscard]] bool time_allows(const Live& live, const Checkpoint& checkpoint) const;
  [[nodiscard]] StoreRequest request_for(SlotId slot, const Checkpoint& checkpoint,
                                         bool off_grid) const;
  void take_checkpoint(SlotId slot, const Checkpoint& checkpoint, Receipt& receipt);
  [[nodiscard]] ByteCount bytes_of(const Live& held, const Checkpoint& checkpoint,
                                   TokenPos rows) const;
  [[nodiscard]] bool goes_to_memory(const Live& held, const Checkpoint& checkpoint) const;
  bool copy_rows_ahead(SlotId slot, ByteCount bytes, Receipt& receipt);
  StoreOutcome store_live(Live& live, SlotId slot, bool essential);
  ByteCount put_aside(SlotId slot);

  // state_cache_places.cc: what slots keep of their own
  [[nodiscard]] ByteCount slot_allowance() const;
  bool keep_in_slot(SlotId slot, const Checkpoint& checkpoint, const SnapshotPtr& held_by_memory,
                    Receipt& receipt);
  ByteCount put_places_aside(SlotId slot);
  void check_places(std::vector<std::string>& violations) const;
  void note_seen(Live& live);

  // state_cache_lower.cc
  void keep_below(SpaceKey space, TokenSpan keys);
  [[nodiscard]] std::vector<KeptPlace> places_worth_keeping(const Match& match,
                                                            TokenSpan keys) const;
  bool look_over(LowerFetch& fetch, const Prompt& prompt, const Outlook& outlook);
  bool take_in(LowerFetch& fetch, const Prompt& prompt, Receipt& receipt);
  bool keep_live(Live& held, SlotId slot, bool essential);

  // state_cache_receipt.cc
  [[nodiscard]] const TokenTree& seen() const { return seen_ ? *seen_ : memory_.tree(); }
  void describe_match(const Prompt& prompt, const Outlook& outlook, Receipt& receipt) const;
  [[nodiscard]] Missing missing(const Prompt& prompt, const Receipt& receipt, bool refused) const;
  void name_foreign(const Prompt& prompt, Receipt& receipt) const;

  Engine& engine_;
  const CacheOptions options_;
  const Clock& clock_;
  Companion* const companion_;
  Below* const lower_;
  CacheJournal* const journal_;
  const Clock::TimePoint started_;
  MemoryTier memory_;
  PromptEnds ends_;                // after memory, in whose budget it holds room
  std::optional<TokenTree> seen_;  // tokens, where states are filed under other keys
  std::vector<Live> live_;
  SlotSnapshots places_;
  std::uint64_t runs_ = 0;
  Tick now_ = 0;
  double ms_per_token_ = 0.0;    // measured; 0: not yet
  double bytes_per_ms_ = 4.0e6;  // moved between slots and memory
  CacheStatus totals_;
};

}  // namespace holdfast
