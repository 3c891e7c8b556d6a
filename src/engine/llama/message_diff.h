// MessageDiff: what a message that the library has parsed adds to what was seen of it before.
//
// The library parses a reply from its beginning each time, and gives the whole message. Clients get
// deltas. Where the library changes its mind about text that was already reported, nothing is
// reported until its message agrees with that text again.
#pragma once

#include <chat.h>

#include <string_view>
#include <vector>

#include "engine/text.h"

namespace holdfast::llama {

class MessageDiff {
 public:
  // `one_call_only`: tool calls after the first are not reported.
  MessageDiff(const common_chat_parser_params& params, bool one_call_only);

  // The deltas that lead from `seen` to the message; `seen` has them afterwards. `final`: no more
  // text will come.
  [[nodiscard]] std::vector<engine::ReplyDelta> advance(engine::Reply& seen,
                                                        const common_chat_msg& message,
                                                        bool final) const;

 private:
  void advance_tool_calls(const engine::Reply& seen, const common_chat_msg& message, bool final,
                          std::vector<engine::ReplyDelta>& deltas) const;

  const bool one_call_only_;
  engine::Reply baseline_;  // the beginning of a continued message, which is not sent again
};

// Appends what the deltas say.
void add_to(engine::Reply& reply, const std::vector<engine::ReplyDelta>& deltas);

}  // namespace holdfast::llama
