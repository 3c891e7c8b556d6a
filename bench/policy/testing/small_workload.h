// Small workloads for tests: blocks of one token, so that a request is a word.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "policy/cell.h"

namespace holdfast::policy {

struct Word {
  std::string prompt;
  std::string answer = {};
  std::int64_t time_ms = -1;  // -1: a second after the one before
};

inline Workload words(const std::vector<Word>& all) {
  Workload workload;
  workload.block_tokens = 1;
  workload.ids = 256;
  std::int64_t now = 0;
  for (const Word& word : all) {
    Request request;
    now = word.time_ms >= 0 ? word.time_ms : now + 1000;
    request.time_ms = now;
    request.input = static_cast<TokenPos>(word.prompt.size());
    request.output = static_cast<TokenPos>(word.answer.size());
    request.prompt.assign(word.prompt.begin(), word.prompt.end());
    request.answer.assign(word.answer.begin(), word.answer.end());
    workload.requests.push_back(std::move(request));
  }
  return workload;
}

// Conversations that grow, branch, are asked again and share their beginnings.
inline Workload random_words(std::uint32_t seed, std::size_t requests) {
  std::mt19937 random(seed);
  const auto text = [&](std::size_t length) {
    std::string made;
    for (std::size_t i = 0; i < length; ++i) made += static_cast<char>('a' + random() % 3);
    return made;
  };
  std::vector<std::string> open = {text(12), text(5)};
  std::vector<Word> all;
  std::int64_t now = 0;
  for (std::size_t i = 0; i < requests; ++i) {
    const std::size_t which = random() % open.size();
    std::string prompt = open[which];
    if (random() % 5 == 0) prompt.resize(1 + random() % prompt.size());
    prompt += text(random() % 12);
    now += static_cast<std::int64_t>(random() % 30'000);
    Word word{prompt, text(random() % 6), now};
    const std::string next = random() % 3 == 0 ? prompt : prompt + word.answer;
    if (random() % 4 == 0) {
      open.push_back(next);
    } else {
      open[which] = next;
    }
    if (open[which].size() > 90) open[which] = text(4);
    all.push_back(std::move(word));
  }
  return words(all);
}

// Conversations by turns that grow with each: the first message has `opening` blocks of 512 tokens,
// the others two.
struct Loop {
  int conversations = 6;
  int turns = 12;
  int opening = 8;
  std::int64_t pause_ms = 1000;
};
inline Workload loop_of(const Loop& loop) {
  Workload workload;
  workload.block_tokens = 512;
  std::vector<std::vector<BlockId>> talks(static_cast<std::size_t>(loop.conversations));
  std::int64_t now = 0;
  for (int turn = 0; turn < loop.turns; ++turn) {
    for (std::vector<BlockId>& talk : talks) {
      for (int more = turn == 0 ? loop.opening : 2; more > 0; --more) {
        talk.push_back(workload.ids++);
      }
      Request request;
      request.time_ms = now += loop.pause_ms;
      request.input = static_cast<TokenPos>(talk.size()) * workload.block_tokens;
      request.prompt = talk;
      workload.requests.push_back(std::move(request));
    }
  }
  return workload;
}

// The longest prefix that an earlier request or its answer had, by looking at all.
inline std::vector<TokenPos> brute_force_reusable(const Workload& workload) {
  std::vector<Tokens> seen;
  std::vector<TokenPos> reusable;
  for (const Request& request : workload.requests) {
    Tokens tokens;
    workload.write_tokens(request, tokens);
    TokenPos most = 0;
    for (const Tokens& other : seen) most = std::max(most, common_prefix(tokens, other));
    reusable.push_back(std::min(most, request.input - 1));
    seen.push_back(std::move(tokens));
  }
  return reusable;
}

// A row weighs one page, a state ten.
inline ModelShape small_shape(bool with_state = true) {
  ModelShape shape;
  shape.name = "small";
  shape.row_bytes = 4096;
  shape.state_bytes = with_state ? 10 * 4096 : 0;
  shape.attention = 0.01;
  shape.vllm_block = 4;
  return shape;
}

}  // namespace holdfast::policy
