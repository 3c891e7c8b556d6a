// The prompt of a chat, with the answers that it quotes as they were sampled.
//
// A message that comes with the id of an answer (api/answer_refs.h) is compared twice before
// the sampled ids stand for it (cache/answer_quotes.h):
//   - what the client sent with what was answered, so that an edited message is read as it is;
//   - what the template made of it with what was answered, so that nothing is shown to the
//     model that the template leaves out, such as old thoughts.
// White space around content and thoughts, and the spelling of JSON arguments, are no
// difference. An id with which anything is wrong changes nothing; it is counted.
//
// An id is a few bytes that stand for a long answer. So each is used once in a request, and
// all together stand for at most kQuotedContexts contexts of tokens: memory and time are
// bounded by the server's settings and not by the number of ids.
#pragma once

#include <vector>

#include "api/backend.h"
#include "api/openai_request.h"
#include "cache/token_history.h"
#include "engine/text.h"

namespace holdfast::api {

// Thoughts that a template no longer shows are quoted too, so it is more than one.
inline constexpr TokenPos kQuotedContexts = 4;

struct QuotedChat {
  engine::RenderedChat chat;
  std::vector<cache::Quote> quotes;  // in its prompt
  int ids_used = 0;
  int ids_ignored = 0;
};

// The prompt of a chat, with the server's word where the request is silent.
[[nodiscard]] Result<engine::RenderedChat> render_chat(const Backend& backend,
                                                       engine::ChatInput input);

// What a client did not ask for is not counted among the ids that clients sent.
enum class AskedBy { kClient, kServer };
[[nodiscard]] Result<QuotedChat> render_quoting(const Backend& backend, const ChatRequest& request,
                                                SpaceKey space,
                                                AskedBy asked_by = AskedBy::kClient);

// Its tokens; those of quoted and remembered answers as they were sampled.
[[nodiscard]] cache::TokenizedPrompt tokenize_quoted(const Backend& backend, SpaceKey space,
                                                     const QuotedChat& quoted);

// Whether two replies say the same.
[[nodiscard]] bool says_the_same(const engine::Reply& a, const engine::Reply& b);

}  // namespace holdfast::api
