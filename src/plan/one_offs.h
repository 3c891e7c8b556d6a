// OneOffs: which requests of an agent's session nobody is likely to come back to.
//
//   main conversation  [====== 104,000 tokens ======]--[turn]--[turn]--> comes back, and takes two
//                                                                        minutes to read again
//   title of it        [= 900 =]                                         asked for once
//   quota probe        [8]                                               asked for once
//
// What comes last is likely to come back, so by age alone each of these counts for more than the
// conversation that it belongs to, and where memory is short pushes it out. A one-off is a request
//
//   - at most a quarter as long as the longest of its session: little is lost if this is wrong, and
//   - more than half of which was not known: it goes on from nothing.
//
// A subagent is one with its first prompt, and no longer with its second, which is known by then.
// Compacting is none: it goes on from the conversation. A conversation that begins with the summary
// may be one for a turn. The longest of a session comes down by an eighth with each request that is
// shorter and no one-off, so that a conversation that was left for a shorter one is not the measure
// for ever.
//
// Only sessions count that are of one agent (api/session_id.h). At most kSessionsMax are
// remembered, those whose requests came last.
//
// Invariants, verified by one_offs_test.cc:
//   ONEOFF-1  the first request of a session is none, and neither is one that is longer than a
//             quarter of the longest so far or known by half
//   ONEOFF-2  sessions do not count for one another
//   ONEOFF-3  no more than kSessionsMax sessions are remembered
//
// Counts requests and never time. No I/O, no clock.
#pragma once

#include <cstddef>
#include <list>
#include <string>

#include "state/tokens.h"

namespace holdfast::plan {

class OneOffs {
 public:
  static constexpr std::size_t kSessionsMax = 256;

  struct PromptFacts {
    TokenPos length = 0;
    TokenPos known = 0;  // of it, whether or not the states are still there
  };

  // A request of this session begins. Returns whether it is a one-off.
  bool note(const std::string& session, const PromptFacts& prompt);
  [[nodiscard]] std::size_t sessions() const { return sessions_.size(); }

 private:
  struct Session {
    std::string name;
    TokenPos longest = 0;
  };
  Session& use(const std::string& name);

  std::list<Session> sessions_;  // used last first
};

}  // namespace holdfast::plan
