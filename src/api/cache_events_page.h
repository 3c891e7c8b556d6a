// GET /cache/events?after=ID: what happens to requests and states, as server-sent events.
//
//   id: 1795127470123456
//   event: request.started
//   data: {"time":"2026-11-19T21:11:10.123Z","request":"...","response":"chatcmpl-...",
//          "session":null,"slot":0,"prompt_tokens":812,"reused_tokens":768}
//
//   request.started    it has a slot: slot, prompt_tokens, reused_tokens
//   request.read       a piece of its prompt was read: prompt_tokens, reused_tokens,
//                      processed_tokens (reused ones included)
//   request.finished   slot, finish_reason, prompt_tokens, reused_tokens, read_tokens,
//                      written_tokens, read_ms, written_ms, kept_tokens (of the prompt, in memory)
//   request.failed     cancelled: its client left, or it failed
//   state.evicted      held ("snapshot" or "rows"), position (in tokens), bytes, reason
//   conversation.dropped, cache.cleared
//                      freed_bytes
//   events.missed      some came too fast, or before this server; look at /cache again
//
// It begins now, or behind `after` or the header Last-Event-ID, where the server still has what
// came then. A key that does not see all is told of its own requests and states alone.
// Bounded: at most CacheEvents::kWatchersMax watch, and a client too slow for its stream loses it.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/answer_context.h"
#include "api/http_server.h"

namespace holdfast::api {

boost::asio::awaitable<void> show_cache_events(AnswerContext context, const HttpRequest& request,
                                               HttpResponder& responder);

}  // namespace holdfast::api
