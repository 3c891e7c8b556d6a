// RoomFor: what one conversation takes in memory and on disk, and how many of them fit.
//
//   rows        of every token, the companion's among them
//   snapshots   near the end as many as are promised (plan/placement.h, PLACE-4), and at the ends
//               of the system block and of the answer
//
// An estimate for people, made before there is any conversation. Conversations that begin alike
// share rows and take less; one of many turns has a few snapshots more while there is room for
// them. `GET /cache` shows what conversations take in fact.
//
// Pure: no I/O, no clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/companion.h"
#include "state/parts.h"
#include "state/tokens.h"

namespace holdfast::cache {

// The usual length of a conversation, where slots hold this many tokens. A context of 262,144
// tokens says what a model can do and not what people use: prompts of the conversation trace in
// docs/policy-replay.md have 12,000 tokens on average, and the answers come on top.
inline constexpr TokenPos kUsualTokens = 16'384;

struct RoomInput {
  StateShape shape;
  engine::CompanionShape companion;
  TokenPos context = 0;  // tokens that a slot holds
  TokenPos step = 0;     // of the places near the end
  ByteCount memory = 0;  // the budgets; 0: there is none
  ByteCount disk = 0;
};

struct RoomFor {
  TokenPos tokens = 0;
  ByteCount row_bytes = 0;       // of all tokens
  ByteCount snapshot_bytes = 0;  // of one; 0: the state has none
  std::uint64_t snapshots = 0;
  std::uint64_t snapshots_least = 0;  // what its next turn needs; the others make way where it is
                                      // that or nothing, and on disk they are beside the point
  ByteCount memory = 0;               // as in RoomInput
  ByteCount disk = 0;

  [[nodiscard]] ByteCount bytes() const { return row_bytes + snapshots * snapshot_bytes; }
  [[nodiscard]] ByteCount bytes_least() const {
    return row_bytes + snapshots_least * snapshot_bytes;
  }
  // How many such conversations fit.
  [[nodiscard]] std::uint64_t in_memory() const {
    if (bytes() == 0 || memory < bytes_least()) return 0;
    return std::max<std::uint64_t>(memory / bytes(), 1);
  }
  [[nodiscard]] std::uint64_t on_disk() const {
    return bytes_least() > 0 ? disk / bytes_least() : 0;
  }
};

[[nodiscard]] RoomFor room_for(const RoomInput& input);

// "a conversation of 16,384 tokens takes about 962.0 MiB (rows 512.0 MiB, 9 snapshots of
// 50.0 MiB); memory for states (5.4 GiB) holds about 5 of them, the disk (5.7 GiB) about 7".
// Empty where nothing is kept.
[[nodiscard]] std::string room_in_words(const RoomFor& room);
// What to do where not even one fits, with the flag and its value. Empty: each budget holds one.
[[nodiscard]] std::vector<std::string> room_warnings(const RoomFor& room);

}  // namespace holdfast::cache
