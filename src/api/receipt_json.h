// What one request reused, what not, and why, as JSON.
//
// The JSON of a receipt; a count is in tokens unless its name says otherwise:
//
//   id, response        of the generation, and of the answer that the client saw
//   session             null, or the session that the client named (session_id.h)
//   one_off             it was taken for one beside the session's conversation, and its states make
//                       way first (plan/one_offs.h)
//   time                ISO 8601, UTC
//   exact               "off" | "prompt" | "all": which of its numbers are those of a cold server,
//                       bit for bit (state/exactness.h)
//   slot
//   prompt_tokens       = restored_tokens + recomputed_tokens, once it has been read
//   matched_tokens      agree with something seen before
//   restorable_tokens   up to the deepest place that anything could have restored
//   restored_tokens     were not computed again
//   restored_from       "live slot" | "snapshot in place" | "memory" | "nothing"
//   recomputed_tokens
//   reuse               restored / prompt, 0..1; null without a prompt
//   bytes_restored, bytes_kept, checkpoints
//   kept_tokens         of the prompt, up to the last checkpoint that memory took
//   history_tokens      kept as they were once sampled
//   difference          null, or where the prompt leaves what was known:
//     position
//     in                what the client calls the place: "messages[3]", "input[2]", "system",
//                       "instructions", "tools"; null: it has no name for it
//     message           the index in the client's list; null: not in one
//     role,
//     known_text, sent_text, known_tokens, sent_tokens
//   missing             null, or why known tokens were read again:
//     why               "grid" | "never_taken" | "evicted" | "damaged" | "declined" |
//                       "reuse_off" | "cache_off" | "foreign": in the cache folder, made under
//                       other facts
//     position, evicted_at (null, or as `time`), evicted_for (null, or "budget", ...),
//     kept_with_bytes   null, or about how much memory would still have held it
//     made_by           null, or who made foreign states: "another engine (...)"
//     sentence          the same for people
//   answer_limit        tokens that the answer may have: the request's limit or what the
//                       context leaves, whichever is less
//   attribution_saved_tokens
//                       reused only because Claude Code's attribution line was left out, at most
//   notes               what the server did beyond what was asked for, a sentence each: tools and
//                       items that were left out, the attribution line, a limit of the answer
//   queued_ms, waited_for (null, or the generation that computed the same prefix),
//   restore_ms, prompt_ms, saved_ms
//   companion           null: none; else what drafted beside the model:
//     name              "mtp" | "draft" | "ngram"
//     held_tokens       of the restored ones; memory_tokens of those were brought back
//     missing           null, or why it held fewer, for people
//     drafted, accepted
//     by_place          [{tried, accepted}], by the place in the draft
//   proof               null: not made; "equal", or how the restored state differs from one that
//                       was computed again (--prove)
//   tokens_hash         16 hexadecimal digits: a hash of the prompt's ids
//   prompt_hash         the same of the raw bits of the logits after the prompt's last token, from
//                       which the first token is chosen, before any sampler. Both are null where no
//                       token was chosen
//   advice              one sentence for people; null: nothing to do better
//   complete            the request has ended
//
// A receipt quotes its prompt: it is for the tenant who asked, and nobody else.
#pragma once

#include <string>

#include "cache/receipt.h"
#include "engine/text.h"

namespace holdfast::api {

// `budget` is the cache's, for the advice; 0: not known. Text that is not UTF-8 is
// repaired with U+FFFD.
[[nodiscard]] std::string receipt_json(const cache::Receipt& receipt, const engine::TextModel& text,
                                       ByteCount budget = 0);

}  // namespace holdfast::api
