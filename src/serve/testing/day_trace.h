// A day of agents, for day_test.cc: sessions whose prompts grow by tool results and answers,
// branch, are asked again, and call subagents, with pauses between. Made from a seed, or
// read from a file of sessions as JSON lines:
//
//   {"id": ..., "bs": 64, "tool": tokens, "sys": tokens,
//    "reqs": [[t_s, input_tokens, output_tokens, k, [new ids], ...], ...]}
//
// A prompt is a list of blocks: the first k of the session's prompt before, then new ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "engine/testing/fake.h"

namespace holdfast::serve {

constexpr double kDayS = 24 * 3600;

struct DayRequest {
  double at_s = 0;
  std::size_t session = 0;
  std::size_t keep = 0;              // blocks of the session's prompt before
  std::vector<std::uint32_t> fresh;  // the blocks after these
  TokenPos answer_tokens = 0;
};

struct DaySession {
  std::uint64_t tools = 0;  // which system prompt; equal ones are shared
  std::uint32_t tool_blocks = 0;
};

struct Day {
  std::size_t block_tokens = 16;
  std::vector<DaySession> sessions;
  std::vector<DayRequest> requests;  // by time

  void sort() { std::ranges::stable_sort(requests, {}, &DayRequest::at_s); }
};

// --- from a seed -------------------------------------------------------------------------

class DayMaker {
 public:
  DayMaker(std::uint64_t seed, std::size_t sessions) : random_(seed) {
    for (std::size_t i = 0; i < sessions; ++i) add_session();
    day_.sort();
  }
  [[nodiscard]] Day day() && { return std::move(day_); }

 private:
  using Blocks = std::vector<std::uint32_t>;

  std::size_t below(std::size_t end) { return random_() % end; }

  void grow(Blocks& blocks, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) blocks.push_back(next_++);
  }

  void ask(const Blocks& blocks) {
    DayRequest request;
    request.at_s = at_s_;
    request.session = day_.sessions.size() - 1;
    const auto [there, here] = std::ranges::mismatch(before_, blocks);
    request.keep = static_cast<std::size_t>(there - before_.begin());
    request.fresh.assign(here, blocks.end());
    request.answer_tokens = static_cast<TokenPos>(1 + below(12));
    day_.requests.push_back(std::move(request));
    before_ = blocks;
    // Tools answer soon; people go and have lunch.
    at_s_ +=
        below(8) == 0 ? static_cast<double>(60 + below(5000)) : static_cast<double>(2 + below(20));
  }

  void call_subagent(std::size_t tool_blocks) {
    Blocks own(before_.begin(), before_.begin() + static_cast<std::ptrdiff_t>(tool_blocks));
    for (std::size_t i = 2 + below(4); i > 0; --i) {
      grow(own, 1 + below(4));
      ask(own);
    }
  }

  void add_session() {
    DaySession session;
    session.tools = below(4);
    session.tool_blocks = static_cast<std::uint32_t>(10 + 4 * session.tools);
    day_.sessions.push_back(session);
    at_s_ = static_cast<double>(below(static_cast<std::size_t>(0.8 * kDayS)));
    next_ = 0;
    before_.clear();
    Blocks main;
    grow(main, session.tool_blocks + 1 + below(10));
    ask(main);
    for (std::size_t i = 3 + below(30); i > 0 && main.size() < 150; --i) {
      const std::size_t dice = below(20);
      if (dice == 0) main.resize(session.tool_blocks + below(main.size() - session.tool_blocks));
      if (dice == 1) call_subagent(session.tool_blocks);
      if (dice != 2) grow(main, 1 + below(6));  // 2: the same again
      ask(main);
    }
  }

  std::mt19937_64 random_;
  Day day_;
  double at_s_ = 0;
  std::uint32_t next_ = 0;
  Blocks before_;
};

// --- from a file -------------------------------------------------------------------------

// Blocks of 64 tokens become blocks of 4, so that a day is over before long.
inline Day read_day(const std::string& path) {
  Day day;
  day.block_tokens = 4;
  std::ifstream file(path);
  std::mt19937_64 random(1);
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    const auto tools = json.at("tool").get<std::uint64_t>();
    const auto system = json.at("sys").get<std::uint64_t>();
    const double begin_s = static_cast<double>(random() % static_cast<std::uint64_t>(kDayS / 2));
    for (const auto& one : json.at("reqs")) {
      DayRequest request;
      request.at_s = begin_s + one.at(0).get<double>();
      request.session = day.sessions.size();
      request.keep = one.at(3).get<std::size_t>();
      request.fresh = one.at(4).get<std::vector<std::uint32_t>>();
      request.answer_tokens = std::clamp(one.at(2).get<TokenPos>() / 64, 1, 12);
      day.requests.push_back(std::move(request));
    }
    day.sessions.push_back(
        {tools * 1'000'000 + system,
         static_cast<std::uint32_t>((tools + system) / json.at("bs").get<std::uint64_t>())});
  }
  day.sort();
  return day;
}

// --- as tokens ---------------------------------------------------------------------------

// What the clients of a day send. An answer becomes part of the prompts that go on from it.
class DayClients {
 public:
  explicit DayClients(const Day& day) : day_(day), sessions_(day.sessions.size()) {}

  [[nodiscard]] Tokens prompt(const DayRequest& request) {
    Session& session = sessions_[request.session];
    session.blocks.resize(std::min(request.keep, session.blocks.size()));
    session.blocks.insert(session.blocks.end(), request.fresh.begin(), request.fresh.end());
    Tokens tokens;
    for (std::size_t i = 0; i < session.blocks.size(); ++i) {
      append_block(tokens, request.session, session.blocks[i]);
      const auto answer = session.answers.find(session.blocks[i]);
      if (i + 1 == session.blocks.size() || answer == session.answers.end()) continue;
      tokens.insert(tokens.end(), answer->second.begin(), answer->second.end());
    }
    tokens.insert(tokens.end(), {engine::kFakeTurnEnd, engine::kFakeTurnStart});
    return tokens;
  }

  void answered(const DayRequest& request, const Tokens& answer) {
    Session& session = sessions_[request.session];
    Tokens turn = {engine::kFakeTurnEnd, engine::kFakeTurnStart};
    turn.insert(turn.end(), answer.begin(), answer.end());
    turn.insert(turn.end(), {engine::kFakeTurnEnd, engine::kFakeTurnStart});
    session.answers[session.blocks.back()] = std::move(turn);
  }

 private:
  struct Session {
    std::vector<std::uint32_t> blocks;
    std::map<std::uint32_t, Tokens> answers;  // by the last block of the prompt
  };

  void append_block(Tokens& tokens, std::size_t session, std::uint32_t id) const {
    const DaySession& about = day_.sessions[session];
    const std::uint64_t whose = id < about.tool_blocks ? about.tools : 1'000 + session;
    std::minstd_rand random(static_cast<unsigned>(whose * 7'919 + id + 1));
    for (std::size_t i = 0; i < day_.block_tokens; ++i) {
      tokens.push_back('a' + static_cast<Token>(random() % 26));
    }
  }

  const Day& day_;
  std::vector<Session> sessions_;
};

}  // namespace holdfast::serve
