// StartPlan: how a prompt begins - on which slot, with what kept, from where.
//
//   prompt      [ s s s s s s | u u u u u | a a a a | u u u h )
//   slot 0      [ s s s s s s | u u u u u | a a a a )            live: keep all of it
//   slot 1      [ s s s s s s | u u u u u | b b b b b b b )      live rows, snapshot from memory
//   slot 2      [ x x x x )                                      rows and snapshot from memory
//   memory        *             *           *
//
// Every way to begin costs something: tokens to read, bytes to bring back, bytes
// to copy out of a slot before its state is lost, and bytes that the slot's last
// conversation will need to come back. The plan is the way that costs least; of
// equals the one that keeps most, on the slot that was used least recently.
//
// The last prompt token is read, because its logits are needed, unless these were kept:
// then a state of the whole prompt serves as well.
// State that was computed chunk by chunk of the grid is kept up to a cut of it only, so that
// what follows is chunked as in a cold run. Other state (decoded tokens, a cut at a difference,
// chunks that were read as one) is kept where it ends, and only when `exact_prompts` is off.
//
// Invariants, verified by check_start_plan():
//   START-1  0 <= reused < prompt_length, or all of it where `end_known`; and reused is 0 iff the
//            source is kNothing
//   START-2  reused lies on a cut of the prompt's grid, or at its end, or the state there is
//            decoded and `exact_prompts` is off
//   START-3  what is kept is there: within the live state and its agreement with the prompt, and
//            in exact chunks if `exact_prompts` (live sources); where the slot can be truncated
//            (kLive); a restorable place of the match (kMemory); a snapshot of the match or of the
//            slot itself at exactly `reused` (kSnapshotInPlace)
//   START-4  the actions, in order, begin with keeping what would be lost and end with reading
//            [reused, prompt_length)
//
// Pure: no I/O, no clock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "state/extent_block.h"
#include "state/tokens.h"
#include "tree/match.h"

namespace holdfast::plan {

enum class StartSource {
  kNothing,          // the slot is emptied
  kLive,             // the slot holds it; what lies beyond is truncated
  kSnapshotInPlace,  // the slot's rows, and a snapshot from memory
  kMemory,           // rows and snapshot from memory
};
[[nodiscard]] const char* start_source_name(StartSource source);

struct PlaceInSlot {
  TokenPos position = 0;
  bool off_grid = false;  // no cold run has this state
};

// An idle slot that the prompt may have.
struct LiveState {
  int slot = 0;
  TokenPos length = 0;  // tokens that it holds
  TokenPos common = 0;  // of them agree with the prompt; 0 under another space
  TokenPos exact = 0;   // tokens [0, exact) were computed chunk by chunk of the grid
  // Whether its state may be truncated at a position (Engine::can_truncate).
  std::function<bool(TokenPos)> can_truncate;
  // Snapshots that the slot itself keeps of its path, ascending (cache/slot_snapshots.h).
  std::vector<PlaceInSlot> places;
  ByteCount unsaved = 0;  // would be copied out before the state is lost; 0: all is in memory
  std::uint64_t last_used = 0;
};

// All costs in bytes moved, so that they can be added.
struct StartCosts {
  ByteCount bytes_per_token = 0;     // extent rows
  ByteCount bytes_per_snapshot = 0;  // all that is no extent
  ByteCount token = 256 << 10;       // reading a token takes as long as moving this many bytes
  ByteCount any_token = 0;           // and reading any at all, this many more
};

struct StartInput {
  TokenPos prompt_length = 0;
  std::span<const TokenPos> cuts;      // the prompt's grid, ascending
  const tree::Match* match = nullptr;  // of memory; null: there is none, or it may not be used
  std::span<const LiveState> slots;    // at least one
  StartCosts costs;
  bool exact_prompts = false;
  bool end_known = false;  // the logits of its last token are at hand
};

// --- what is to be done, in order ---------------------------------------------

// Copies the live state into memory before it is lost. May be declined.
struct StoreLive {
  bool operator==(const StoreLive&) const = default;
};
struct TruncateLive {
  TokenPos position = 0;
  bool operator==(const TruncateLive&) const = default;
};
struct LoadSnapshot {
  tree::NodeId node;  // of memory; none: the slot's own
  TokenPos position = 0;
  bool operator==(const LoadSnapshot&) const = default;
};
struct RestoreState {
  tree::NodeId node;  // whose edge holds the last token of the state
  TokenPos position = 0;
  bool operator==(const RestoreState&) const = default;
};
struct ClearSlot {
  bool operator==(const ClearSlot&) const = default;
};
struct ReadPrompt {
  TokenRange range;
  bool operator==(const ReadPrompt&) const = default;
};
using StartAction =
    std::variant<StoreLive, TruncateLive, LoadSnapshot, RestoreState, ClearSlot, ReadPrompt>;

struct StartPlan {
  int slot = 0;
  StartSource source = StartSource::kNothing;
  TokenPos reused = 0;
  ByteCount bytes_in = 0;  // brought back from memory
  ByteCount cost = 0;
  std::vector<StartAction> actions;
};

// REQUIRES: there is a slot, and the prompt is not empty.
[[nodiscard]] StartPlan plan_start(const StartInput& input);
[[nodiscard]] std::vector<std::string> check_start_plan(const StartInput& input,
                                                        const StartPlan& plan);

// The deepest position up to `limit` at which memory could bring this prompt back, whatever
// it costs; 0 if none.
[[nodiscard]] TokenPos deepest_in_memory(const tree::Match& match, std::span<const TokenPos> cuts,
                                         TokenPos limit, bool exact_prompts);

}  // namespace holdfast::plan
