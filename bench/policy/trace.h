// Trace: requests of the past that carry the identity of each prompt block.
//
//   request   [ 17 | 18 | 40 | 41 | 9. )     ids of blocks of `block_tokens` tokens each,
//              chained: equal ids mean equal text up to and including the block; the
//              last block may be partial, and its id may be missing
//
// Two formats are read, as JSON lines, plain or compressed with zstd:
//
//   a request a line   {"timestamp": ms, "input_length": n, "output_length": n,
//                       "hash_ids": [...]}                      blocks of 512 tokens
//   a session a line   {"bs": 64, "tool": n, "sys": n, "reqs": [[t_s, input, output,
//                       k, [new ids], stop_reason, ...], ...]}  ids of the session
//
// A request of a session has the first k ids of the one before it, then new ones.
// Sessions with equal `tool` and `sys` are taken to share those first blocks. They
// begin at random over twelve hours (from a seed), and pauses are capped at half an hour.
//
// Invariants, verified by read_trace():
//   TRACE-1  requests ascend by time; each has at least one token
//   TRACE-2  a request has as many ids as it has blocks, a partial one with or without
//   TRACE-3  an id always stands behind the same id
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "state/tokens.h"

namespace holdfast::policy {

using BlockId = std::int32_t;

struct TraceRequest {
  std::int64_t time_ms = 0;
  TokenPos input = 0;
  TokenPos output = 0;
  std::vector<BlockId> blocks;
  TokenPos system_end = 0;  // of the tools and system block that it begins with; 0: not known
  bool tool_call = false;   // its answer called a tool
};

struct Trace {
  TokenPos block_tokens = 0;
  BlockId ids = 0;  // all ids are below
  std::vector<TraceRequest> requests;
  std::size_t sessions = 0;  // 0: the trace does not tell
  std::size_t dropped = 0;   // requests that were too long
};

struct TraceOptions {
  std::uint64_t seed = 1;                                          // when sessions begin
  std::size_t sessions = std::numeric_limits<std::size_t>::max();  // the first of them, at most
  std::size_t requests = std::numeric_limits<std::size_t>::max();  // likewise
  TokenPos input_max = 262'144;                                    // longer prompts are left out
  std::int64_t pause_max_ms = 30LL * 60 * 1000;
  std::int64_t spread_ms = 12LL * 3600 * 1000;  // sessions begin within
};

// An Error names the file and the line.
[[nodiscard]] Result<Trace> read_trace(const std::string& path, const TraceOptions& options);
// The same from memory; `name` stands for the file in errors.
[[nodiscard]] Result<Trace> parse_trace(const std::string& text, const std::string& name,
                                        const TraceOptions& options);

}  // namespace holdfast::policy
