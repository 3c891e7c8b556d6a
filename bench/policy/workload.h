// Workload: a trace made into token sequences, with what each client did with answers.
//
//   request i   [ a a a a | b b b b | t t          prompt of `input` tokens
//                                    o o | o o o ) answer of `output` tokens
//   follower j  [ a a a a | b b b b | c c c c | d d d d | ... )
//
// A trace knows identities of whole blocks only, and none of answers. Both are taken
// from the request that goes on from this one (the *follower*: the next one that begins
// with all of its whole blocks and is longer): i's last, partial block is the beginning
// of c, and where clients keep answers, i's answer is what j has there. Where clients
// strip them, or where there is no follower, or no room in it, answers are like nothing
// else. A block with many continuations (a system prompt that all share) does not tell
// who goes on from whom; prompts that end there have no follower.
//
// A token's value is its block's id times `block_tokens` plus its place in there.
//
// Invariants, verified by the tests:
//   WORKLOAD-1  prompt has ids for all of [0, input), answer for all of [input, input + output)
//   WORKLOAD-2  ids are below `ids`
#pragma once

#include <cstdint>
#include <vector>

#include "policy/trace.h"
#include "state/tokens.h"

namespace holdfast::policy {

enum class Outputs { kKeep, kStrip };
[[nodiscard]] const char* outputs_name(Outputs outputs);

struct Request {
  std::int64_t time_ms = 0;
  TokenPos input = 0;
  TokenPos output = 0;
  std::vector<BlockId> prompt;  // of blocks 0, 1, ...
  std::vector<BlockId> answer;  // of blocks input / block_tokens, ...
  TokenPos system_end = 0;
  bool tool_call = false;
  // Where they are known: the messages of the prompt, and its grid.
  std::vector<MessageSpan> messages;
  std::vector<TokenPos> cuts;

  [[nodiscard]] TokenPos total() const { return input + output; }
};

// Of prompts that come without a grid.
inline constexpr TokenPos kGridStep = 512;

struct Workload {
  Outputs outputs = Outputs::kKeep;
  TokenPos merged_chunk = kGridStep;  // CacheOptions::merged_chunk, for Holdfast
  TokenPos block_tokens = 1;
  BlockId ids = 0;
  std::vector<Request> requests;

  // The id of the block that holds the token at `position` of a request and its answer.
  [[nodiscard]] BlockId id_at(const Request& request, TokenPos position) const {
    const auto block = static_cast<std::size_t>(position / block_tokens);
    if (position < request.input) return request.prompt[block];
    return request.answer[block - static_cast<std::size_t>(request.input / block_tokens)];
  }
  [[nodiscard]] Token token_at(const Request& request, TokenPos position) const {
    return id_at(request, position) * block_tokens + position % block_tokens;
  }
  // Where two requests with their answers, equal up to `from`, part; `limit` at most.
  [[nodiscard]] TokenPos common(const Request& a, const Request& b, TokenPos from,
                                TokenPos limit) const;
  // All tokens of a request and its answer.
  void write_tokens(const Request& request, Tokens& into) const;
};

[[nodiscard]] Workload make_workload(const Trace& trace, Outputs outputs);

}  // namespace holdfast::policy
