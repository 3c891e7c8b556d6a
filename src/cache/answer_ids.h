// AnswerIds signs names of answers, so that clients can carry them.
//
// A client that continues a conversation sends the answers back as text, often not as the
// model wrote it: arguments of tools are serialised again, white space is trimmed. Where the
// protocol has a field that clients send back untouched (a thought's `signature`, a reasoning
// item's `encrypted_content`, the id of a tool call), that field holds an answer's id, and
// the ids of the tokens that were sampled are found by it (cache/token_history.h).
//
//   hf1_  key tag  space tag  name   mac       39 bytes, 52 letters of base64url
//   3     4        4          12     16
//
// An id holds the name of a remembered answer and not its tokens, because it is handed out
// before they are known: a signature ends the thoughts and a call's id begins the call, both
// in the middle of an answer. Besides it stays short: clients send all of them with every
// request, and Codex counts long ones as a part of the context. What it names lies in the
// folder's answer log (tier/answer_log.h).
//
// The mac is HMAC-SHA256 over all before it and the whole space, which stands for the model,
// its settings and the tenant. The tags tell an id that another server or tenant was given
// (foreign) from one that was made up or damaged (forged). An id is a hint: whatever is wrong
// with it, the text is used, and it is counted.
//
// Promised, verified by answer_ids_test.cc:
//   ID-1  read(space, make(space, name)) gives the name
//   ID-2  no other text, space or key gives one
//
// Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "state/space.h"
#include "tier/answer_log.h"
#include "tier/secret.h"

namespace holdfast::cache {

// What came of an id that a client sent.
enum class AnswerIdFate {
  kUsed,      // the sampled ids stand in the prompt
  kNotShown,  // the template leaves a part of the answer out (old thoughts, usually)
  kEdited,    // the message is not what was answered
  kStale,     // the answer has been forgotten
  kForeign,   // of another server, tenant or model
  kForged,    // looks like ours and was not made here
  kSurplus,   // it was used in this request already, or the request quotes too much
};
inline constexpr std::size_t kAnswerIdFates = 7;
[[nodiscard]] const char* answer_id_fate_name(AnswerIdFate fate);

class AnswerIds {
 public:
  static constexpr std::size_t kLength = 52;
  static constexpr std::string_view kPrefix = "hf1_";

  explicit AnswerIds(const tier::Secret& key);

  [[nodiscard]] static tier::AnswerName new_name();
  [[nodiscard]] std::string make(SpaceKey space, const tier::AnswerName& name) const;

  struct Reading {
    std::optional<tier::AnswerName> name;
    AnswerIdFate fate = AnswerIdFate::kForeign;  // without a name: kForeign or kForged
  };
  [[nodiscard]] Reading read(SpaceKey space, std::string_view id) const;

  void count(AnswerIdFate fate) { ++counts_[static_cast<std::size_t>(fate)]; }
  [[nodiscard]] std::uint64_t counted(AnswerIdFate fate) const {
    return counts_[static_cast<std::size_t>(fate)];
  }

 private:
  const tier::Secret key_;
  std::array<std::atomic<std::uint64_t>, kAnswerIdFates> counts_{};
};

}  // namespace holdfast::cache
