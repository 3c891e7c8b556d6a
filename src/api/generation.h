// From a decoded request to running generations.
//
// prepare_*() does the slow, pure part (template, tokens, grammar) and may run
// on any thread; Generations submits the result and reads what comes back.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/backend.h"
#include "api/http_server.h"
#include "api/mailbox.h"
#include "api/next_turn.h"
#include "api/openai_request.h"

namespace holdfast::api {

// One generation to run, and how its reply is to be read.
struct PreparedChoice {
  serve::GenerateRequest request;
  std::string echo;       // text to put before the reply (completions)
  std::string answer_id;  // what the client may call the answer by; empty: none
};

struct Prepared {
  std::vector<PreparedChoice> choices;
  std::shared_ptr<const engine::ReplyFormat> format;  // null for plain completions
  Mailbox::EndsInCall ends_in_call;                   // null for plain completions
  std::shared_ptr<const AskedChat> asked;             // null: its answer is not read ahead
  // Set: the prompt cannot fit, and was not tokenised to say so. There is one choice, without a
  // prompt, and submit() answers with this error.
  std::optional<Error> too_long;
  TokenPos tokens_at_least = 0;  // of a prompt that is too long
};

// `space`: which states the generations may use and add to.
[[nodiscard]] Result<Prepared> prepare_chat(const Backend& backend, const ChatRequest& request,
                                            SpaceKey space);
[[nodiscard]] Result<Prepared> prepare_text(const Backend& backend, const TextRequest& request,
                                            SpaceKey space);

// Where the generations of one HTTP request come from.
struct Origin {
  std::string client;          // for fairness
  std::string tenant;          // whose states and receipts they share
  std::string response;        // id of the answer that they are for
  std::string session;         // session_of(); empty: none was named
  bool agent_session = false;  // a header names it
};

// The running generations of one HTTP request. What is still running when this
// is destroyed, or when the client goes, is cancelled.
class Generations {
 public:
  Generations(const Backend& backend, boost::asio::any_io_executor executor);
  ~Generations();
  Generations(const Generations&) = delete;
  Generations& operator=(const Generations&) = delete;

  // All or none: on an Error nothing runs.
  [[nodiscard]] Result<void> submit(Prepared prepared, const Origin& origin);
  void cancel();
  // The answer to this choice called a tool, so its client will soon be back.
  void note_tool_call(std::size_t choice);
  [[nodiscard]] const std::string& id(std::size_t choice) const { return ids_[choice]; }

  [[nodiscard]] bool done() const { return running_ == 0; }
  // The next letters, none after `patience`; counts the ends among them.
  [[nodiscard]] boost::asio::awaitable<std::vector<Mailbox::Letter>> take(
      std::chrono::milliseconds patience);

 private:
  const Backend& backend_;
  std::shared_ptr<Mailbox> mailbox_;
  std::vector<std::string> ids_;
  std::size_t running_ = 0;
};

// A random name such as "chatcmpl-Xa3..." for a response or a request.
[[nodiscard]] std::string new_id(const std::string& prefix);

}  // namespace holdfast::api
