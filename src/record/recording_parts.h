// The pieces that events are made of: how each is written, and how it is read back.
//
// Reading accepts only what the cache can take: rows lie within their blocks, cuts ascend, sizes
// and positions are within limits. Anything else makes the reader fail().
#pragma once

#include <cstdint>
#include <vector>

#include "record/recording_events.h"

namespace holdfast::record {

// One byte, at most `last`.
template <typename Enum>
[[nodiscard]] Enum get_enum(RecordReader& in, Enum last) {
  const std::uint8_t value = in.byte();
  if (value > static_cast<std::uint8_t>(last)) in.fail();
  return in.failed() ? Enum{} : static_cast<Enum>(value);
}

// The answers and clock readings inside a call; `total_ns` adds up the clock.
void put_world(RecordWriter& out, const CacheEvent& event);
void get_world(RecordReader& in, CacheEvent& event, std::int64_t& total_ns);

// What was found in the tier below, and the states that came up from it.
void put_found(RecordWriter& out, const tier::StoreMatch& found);
[[nodiscard]] tier::StoreMatch get_found(RecordReader& in);
void put_came(RecordWriter& out, const BroughtOutline& came);
[[nodiscard]] BroughtOutline get_came(RecordReader& in);

void put_digest(RecordWriter& out, const MemoryDigest& digest);
[[nodiscard]] MemoryDigest get_digest(RecordReader& in);

// Cuts ascend, are at most a chunk apart, and lie within the tokens.
void put_cuts(RecordWriter& out, const std::vector<TokenPos>& cuts);
[[nodiscard]] std::vector<TokenPos> get_cuts(RecordReader& in, TokenPos chunk_max, TokenPos length);

}  // namespace holdfast::record
