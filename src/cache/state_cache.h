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
// Below memory there may be another tier (cache/disk_tier.h), which keeps what memory holds
// across restarts and beyond its budget. What a prompt could use of it is brought into
// memory first; then it is planned as usual.
//
//   ask_below / go_on   bring up what pays
//   end, keep_idle      write paths behind
//
// Where reading the last few tokens of a prompt costs more than a state, the state of the
// whole prompt is kept too, with its logits (cache/prompt_logits.h): asked again, it begins with
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
//   CACHE-1  those of MemoryTier, SlotLedger, Checkpointer, and of the tree of tokens seen
//   CACHE-2  what a slot says is filed is: its first tokens (in deterministic mode keys) are
//            those above the node, while that is alive
//   CACHE-3  those of PromptLogits
//
// One owning thread, that of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/cache_core.h"
#include "cache/checkpointer.h"
#include "cache/cold_states.h"
#include "cache/conversation_status.h"
#include "cache/prompt.h"
#include "cache/receipt.h"
#include "cache/slot_state.h"
#include "cache/start_choice.h"
#include "engine/companion.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "plan/start_plan.h"

namespace holdfast::cache {

// A prefix that a slot is computing right now and another prompt could use.
struct Awaited {
  SlotId slot;
  std::uint64_t run = 0;  // of the slot; another number: that request is over
  TokenPos position = 0;
};

class StateCache {
 public:
  // `lower` may be null. It is asked on the engine's thread only. A journal sees every call.
  StateCache(engine::Engine& engine, CacheOptions options, const env::Clock& clock,
             engine::Companion* companion = nullptr, ColdTier* lower = nullptr,
             CacheJournal* journal = nullptr);

  // -- before ------------------------------------------------------------------
  // What a prompt's states are filed under; empty: its tokens themselves.
  [[nodiscard]] static Tokens keys_for(TokenSpan tokens, std::span<const TokenPos> cuts,
                                       bool deterministic);
  // REQUIRES: there is a slot, all are idle.
  [[nodiscard]] StartChoice plan(const Prompt& prompt, std::span<const SlotId> slots) const;
  // A checkpoint deeper than what the outlook keeps, that a running request will
  // reach. Asks for one at the place where the two prompts part.
  [[nodiscard]] std::optional<Awaited> worth_waiting_for(const Prompt& prompt,
                                                         const StartChoice& outlook);
  [[nodiscard]] bool still_coming(const Awaited& awaited) const;

  // -- the tier below (cache/cold_states.h) --------------------------------------
  // What a prompt's states are found by below; empty where there is no such tier.
  [[nodiscard]] std::vector<tier::PathName> names_for(SpaceKey space, TokenSpan keys) const {
    return cold_.names_for(space, keys);
  }
  // Asks for more of the prompt than the outlook keeps, where there may be more.
  [[nodiscard]] ColdFetch ask_below(const Prompt& prompt, const StartChoice& outlook) {
    return cold_.look_up(prompt, outlook);
  }
  // Whether an answer is there, or will not be waited for.
  [[nodiscard]] bool ready(const ColdFetch& fetch) const { return cold_.ready(fetch); }
  // Does the next step of a fetch that is ready. True: memory holds more of the prompt now.
  // REQUIRES: the outlook is the prompt's, of now.
  bool go_on(ColdFetch& fetch, const Prompt& prompt, const StartChoice& outlook, Receipt& receipt) {
    return cold_.advance(fetch, prompt, outlook, receipt);
  }
  // Puts what idle slots hold into memory, as far as there is room, and into the tier below, if
  // there is one. Returns whether there was anything.
  bool keep_idle();

  // -- during ------------------------------------------------------------------
  // Carries the outlook's plan out and fills in the receipt. Where a state cannot
  // be brought back after all, the next best plan for the same slot is taken.
  // Afterwards the slot holds `receipt.restored` tokens of the prompt. Where these are all of
  // them, the answer begins with the logits that are returned; else they are null.
  LogitsPtr begin(const Prompt& prompt, const StartChoice& outlook, Receipt& receipt);
  // What begin() would move at most: out of the slot, and into it.
  [[nodiscard]] ByteCount bytes_to_begin(const StartChoice& outlook) const;
  // Where the chunk that begins at the slot's end has to end. It may be read in pieces, unless
  // deterministic: then chunks are those of the grid.
  [[nodiscard]] TokenPos chunk_end(SlotId slot) const;
  // What the checkpoint behind a chunk that ends there copies at most; 0: none is due there.
  [[nodiscard]] ByteCount bytes_due(SlotId slot, TokenPos end) const {
    return checkpointer_.bytes_due(slot, end);
  }
  // To be called before each chunk. Deterministic: wherever a restore may begin,
  // an uninterrupted run looks like a restored one. On an Error the slot is empty.
  [[nodiscard]] Result<void> before_chunk(SlotId slot);
  // The engine has appended these tokens, up to chunk_end() or less, and has these logits. A
  // checkpoint that is due is taken now; or it is postponed, and has to be taken before the slot
  // grows.
  void prefilled(SlotId slot, TokenSpan chunk, Receipt& receipt,
                 engine::LogitsOf logits = engine::LogitsOf::kNone, Copies copies = Copies::kNow);
  [[nodiscard]] bool postponed(SlotId slot) const {
    return core_.slots[slot].postponed.has_value();
  }
  [[nodiscard]] ByteCount postponed_bytes(SlotId slot) const {
    return checkpointer_.postponed_bytes(slot);
  }
  // Takes the checkpoint that was postponed, or copies some of its rows (cache/checkpointer.h).
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
  [[nodiscard]] TokenPos length(SlotId slot) const { return core_.slots[slot].length(); }
  [[nodiscard]] TokenSpan tokens(SlotId slot) const { return core_.slots[slot].tokens; }
  [[nodiscard]] SpaceKey space(SlotId slot) const { return core_.slots[slot].space; }
  [[nodiscard]] std::uint64_t run(SlotId slot) const { return core_.slots[slot].run; }
  [[nodiscard]] const MemoryTier& memory() const { return core_.memory; }
  [[nodiscard]] MemoryTier& memory() { return core_.memory; }
  [[nodiscard]] CacheStatus status() const;
  // The conversations that memory holds, and at most this many of them that were used last. Walks
  // all that is held: for whoever asks, not for every turn.
  [[nodiscard]] ConversationsStatus conversations(std::size_t most,
                                                  env::Clock::TimePoint now) const;
  ByteCount clear();
  // A state of this space was computed again and came out otherwise (serve/prover.h). Whatever may
  // have come of it goes: memory, idle slots, and what the tier below has of the space. From now on
  // nothing is restored; slots go on from what they hold.
  // REQUIRES: no request is at work.
  void distrust(SpaceKey space, const std::string& why);
  // The parts of a state that memory holds, for a proof. Changes nothing.
  [[nodiscard]] std::optional<HeldParts> parts_of(SpaceKey space, TokenSpan keys) const {
    return core_.memory.parts_of(space, keys);
  }
  // Whether emptying an idle slot loses nothing that memory does not hold.
  [[nodiscard]] bool can_spare(SlotId slot) const;
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  StateCache(const CacheWorld& world, CacheOptions options, CacheJournal* journal);

  [[nodiscard]] plan::LiveState describe(SlotId slot, const Prompt& prompt,
                                         const tree::Match& match, bool may_cut) const;
  // Tokens that the slot has in common with the prompt, whose match this is; 0 under
  // another space.
  [[nodiscard]] TokenPos common(const LiveSlot& held, const Prompt& prompt,
                                const tree::Match& match) const;
  [[nodiscard]] StartChoice plan_with(const Prompt& prompt, std::span<const SlotId> slots,
                                      bool may_cut) const;
  [[nodiscard]] std::optional<Awaited> find_awaited(const Prompt& prompt,
                                                    const StartChoice& outlook);

  // Why an action was not done.
  enum class Obstacle { kNone, kCutRefused, kNotRestored, kOwnNotRestored };
  [[nodiscard]] Obstacle carry_out(const Prompt& prompt, const StartChoice& outlook,
                                   Receipt& receipt);
  [[nodiscard]] Obstacle act(const plan::StoreLive& action, SlotId slot, const Prompt&, Receipt&);
  [[nodiscard]] Obstacle act(const plan::CutLive& action, SlotId slot, const Prompt&, Receipt&);
  [[nodiscard]] Obstacle act(const plan::LoadSnapshot& action, SlotId slot, const Prompt&,
                             Receipt&);
  [[nodiscard]] Obstacle act(const plan::RestoreState& action, SlotId slot, const Prompt&,
                             Receipt&);
  [[nodiscard]] Obstacle act(const plan::ClearSlot& action, SlotId slot, const Prompt&, Receipt&);
  [[nodiscard]] Obstacle act(const plan::ReadPrompt& action, SlotId slot, const Prompt&, Receipt&);
  void shorten(SlotId slot, TokenPos length);
  void forget_slot(SlotId slot);
  void take_over(SlotId slot, const Prompt& prompt, const StartChoice& outlook);
  void bring_companion(SlotId slot, const Prompt& prompt, Receipt& receipt);
  [[nodiscard]] bool is_filed(const LiveSlot& held) const;  // CACHE-2
  void note_restored(Receipt& receipt, ByteCount bytes, double ms);
  void note_seen(LiveSlot& held);
  StoreOutcome store_live(LiveSlot& held, SlotId slot, bool essential);
  bool keep_live(LiveSlot& held, SlotId slot, bool essential);
  ByteCount put_aside(SlotId slot);

  // state_cache_receipt.cc
  [[nodiscard]] const tree::TokenTree& seen() const { return seen_ ? *seen_ : core_.memory.tree(); }
  void describe_match(const Prompt& prompt, const StartChoice& outlook, Receipt& receipt) const;
  [[nodiscard]] Missing missing(const Prompt& prompt, const Receipt& receipt, bool refused) const;
  void name_foreign(const Prompt& prompt, Receipt& receipt) const;

  CacheCore core_;
  Checkpointer checkpointer_;
  ColdStates cold_;
  const env::Clock::TimePoint started_;
  std::optional<tree::TokenTree> seen_;  // tokens, where states are filed under other keys
};

}  // namespace holdfast::cache
