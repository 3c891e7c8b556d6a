// What the next prompt of a conversation will begin with, so that it can be read while its client
// thinks (serve/prewarmer.h).
//
//   request    messages, tools                    as this client sent them
//   answer     as this client sends answers back: with thoughts or without
//   after it   a word of the user, or results of the tools that were called: templates show an
//              answer differently once its turn is over
//
// The prompt is rendered and tokenised as the next request's will be, and ends with the answer.
// A guess that is wrong costs idle time and nothing else: it is a prompt like any other.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/backend.h"
#include "api/openai_request.h"
#include "api/worker_pool.h"
#include "engine/text.h"
#include "serve/prewarm.h"
#include "state/space.h"

namespace holdfast::api {

// What was asked, kept until it is answered.
struct AskedChat {
  ChatRequest request;
  SpaceKey space;
};

// Whether a client sends an answer's thoughts back: as it did with the answers that the request
// holds; where there are none, as clients of its protocol do.
[[nodiscard]] bool returns_thoughts(const ChatRequest& request);

// The request with this answer, and with something after it.
[[nodiscard]] ChatRequest with_answer(const ChatRequest& request, const engine::Reply& reply,
                                      const std::string& answer_id);

// nullopt: it cannot be rendered, or the template does not show where an answer ends.
[[nodiscard]] std::optional<serve::PrewarmPrompt> next_prompt(const Backend& backend,
                                                              const AskedChat& asked,
                                                              const engine::Reply& reply,
                                                              const std::string& answer_id);

// Offers the answer to the scheduler; the prompt is made on the worker, if it is asked for.
// REQUIRES: the pool outlives the scheduler's thread.
void offer_next_turn(const std::shared_ptr<const Backend>& backend, const Worker& worker,
                     std::shared_ptr<const AskedChat> asked, const engine::Reply& reply,
                     const std::string& answer_id, const std::string& request);

}  // namespace holdfast::api
