// The pieces that events are made of: how each is written, and how it is read back.
//
// A reader accepts only what the cache can take: rows lie within their blocks, cuts ascend, sizes
// and positions are within limits. What does not fit makes it fail().
#pragma once

#include <cstdint>
#include <vector>

#include "record/recording_events.h"

namespace holdfast::record {

// One byte, not beyond the last there is.
template <typename Enum>
[[nodiscard]] Enum get_enum(RecordReader& in, Enum last) {
  const std::uint8_t value = in.byte();
  if (value > static_cast<std::uint8_t>(last)) in.fail();
  return in.failed() ? Enum{} : static_cast<Enum>(value);
}

// What the world said; `total_ns` adds up the clock.
void put_world(RecordWriter& out, const CacheEvent& event);
void get_world(RecordReader& in, CacheEvent& event, std::int64_t& total_ns);

// What was found below, and what came of it.
void put_found(RecordWriter& out, const tier::StoreMatch& found);
[[nodiscard]] tier::StoreMatch get_found(RecordReader& in);
void put_came(RecordWriter& out, const BroughtOutline& came);
[[nodiscard]] BroughtOutline get_came(RecordReader& in);

void put_digest(RecordWriter& out, const MemoryDigest& digest);
[[nodiscard]] MemoryDigest get_digest(RecordReader& in);

// Ascending, no further apart than a chunk, and within the tokens.
void put_cuts(RecordWriter& out, const std::vector<TokenPos>& cuts);
[[nodiscard]] std::vector<TokenPos> get_cuts(RecordReader& in, TokenPos chunk_max, TokenPos length);

}  // namespace holdfast::record
