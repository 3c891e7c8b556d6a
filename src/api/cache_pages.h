// What the state cache shows of itself: receipts (receipt_json.h), status, clearing.
//
// GET /cache tells a key that sees all (access.h) of everybody, sizes and ages alone. Another key
// is told of its own conversations; `memory`, `disk` and `totals` are null then, because they would
// tell what others do.
//
// Of the JSON, what is held by conversation. A conversation is a path of the token tree that ends
// where nothing deeper is held; a branch is one of its own:
//
//   conversations       null: the server was too busy to list them within two seconds; ask again
//     count             that memory holds
//     own_bytes         of all of them: held for one conversation alone
//     shared_bytes      held once for several; both together are memory.resident_bytes
//     latest            at most 32, used last first:
//       tokens          that bytes are held of
//       bytes           own and shared: what it takes to come back to it
//       own_row_bytes, own_snapshots (how many), own_snapshot_bytes
//                       would be freed with it
//       shared_bytes, shared_snapshots
//                       are needed by others too
//       idle_seconds    since a request came through here
//       slot            null, or one that holds all of it as well
//       disk_tokens     at most this many lie on disk too, as far as is known without a read;
//                       null: there is no disk, or another server writes to it
//
// A receipt quotes its prompt. Every function that shows one takes the tenant who
// asks, and shows nobody else's.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "api/answer_context.h"
#include "api/http_server.h"
#include "cache/cache_status.h"
#include "cache/conversation_status.h"

namespace holdfast::api {

// This many tokens of a conversation lie on disk.
using TokensOnDisk = std::function<std::optional<TokenPos>(const cache::ConversationStatus&)>;
[[nodiscard]] std::string conversations_json(const cache::ConversationsStatus& conversations,
                                             const TokensOnDisk& on_disk);
// `conversations` is JSON.
enum class CacheScope { kAll, kOwn };
[[nodiscard]] std::string cache_status_json(const cache::CacheStatus& status,
                                            std::string_view conversations = "null",
                                            CacheScope scope = CacheScope::kAll);

// --- endpoints ----------------------------------------------------------------

// GET /cache. Waits a little for the scheduler's next turn, which lists the conversations.
boost::asio::awaitable<void> show_cache(AnswerContext context, const HttpRequest& request,
                                        HttpResponder& responder);
// DELETE /cache. A key that does not see all drops what is its own, with the salt of
// ?cache_salt=...; stored responses go too. Waits until memory and the cache folder are empty of
// it, and holds no thread up meanwhile. Of the JSON, `left_on_disk`: null, or what stays in the
// folder, and why.
boost::asio::awaitable<void> clear_cache(AnswerContext context, const HttpRequest& request,
                                         HttpResponder& responder);
// GET /cache/receipts?limit=N&session=ID, newest first; `session`: of one session (session_id.h)
// alone. `key_name` is that of the
// asker. The receipts of salted requests are shown to those who name the salt:
// ?cache_salt=...
[[nodiscard]] HttpResponse list_receipts(const Backend& backend, const HttpRequest& request,
                                         const std::string& key_name);
// GET /cache/receipts/ID, by the generation's id or the response's.
[[nodiscard]] HttpResponse show_receipt(const Backend& backend, const HttpRequest& request,
                                        const std::string& key_name, const std::string& id);

}  // namespace holdfast::api
