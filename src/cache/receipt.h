// Receipt: what one request reused, what it did not, and why (H9).
//
// It is filled in by the code that carries the plan out, from the plan itself,
// and kept by ReceiptLog for those who ask later.
//
// Invariants, verified by check_receipt():
//   RECEIPT-1  restored + recomputed <= prompt_tokens; equal where the request finished, which a
//              receipt does not tell (serve/reuse_test.cc verifies it there)
//   RECEIPT-2  restored <= restorable <= prompt_tokens; restored is 0 iff source is kNothing
//   RECEIPT-3  a difference lies at `matched`, within the prompt
//   RECEIPT-4  a miss names its reason: restorable < matched comes with why != kNone, the last
//              prompt token aside, which is always read
//   RECEIPT-5  only kForeign names a maker, and it always does
//   RECEIPT-6  0 <= prewarmed <= restored
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "cache/prompt_hashes.h"
#include "cache/prompt_section.h"
#include "cache/request_notes.h"
#include "plan/start_plan.h"
#include "state/drafts.h"
#include "state/exactness.h"
#include "state/tokens.h"
#include "tree/types.h"

namespace holdfast::cache {

// Why tokens that were known were read again. With kForeign it was not this server that knew them.
enum class MissReason {
  kNone,        // nothing was missed
  kGrid,        // the prompt parts inside a chunk: the cut before it is the exact place
  kNeverTaken,  // no snapshot was taken between the restored place and the difference
  kEvicted,     // it was there; `evicted` says when it went and why
  kDamaged,     // it was there and failed its verification
  kDeclined,    // the engine could not bring it back
  kReuseOff,    // the request asked for no reuse
  kCacheOff,    // there is no memory tier, and no slot held it
  kForeign,     // it lies in the folder, made under other facts; `made_by` says which
};
inline constexpr auto kMissReasonLast = MissReason::kForeign;
[[nodiscard]] const char* miss_reason_name(MissReason reason);

// Where a prompt leaves the nearest thing seen before.
struct Difference {
  TokenPos position = 0;
  Tokens known;   // a few tokens of the path that was known; empty: it ended here
  Tokens sent;    // a few tokens of the prompt; empty: it ended here
  int span = -1;  // index of the span that the position lies in, -1: none
  Role role = Role::kUnknown;
  TokenPos message_begin = 0;
  // What the client calls it, which is not recorded. nullopt: not known.
  std::optional<PromptSection> section = std::nullopt;
};

struct Missing {
  MissReason why = MissReason::kNone;
  TokenPos position = 0;        // the deepest place that would have served
  tree::EvictionNote evicted;   // with kEvicted and kDamaged
  double evicted_ago_ms = 0.0;  // before this request
  // With kEvicted: about as much memory would still have held it. Not recorded. 0: not known.
  ByteCount kept_with = 0;
  // With kForeign: "another engine (CPU variant haswell, here zen4)", and what a server would have
  // to be started with to use it; empty: not known.
  std::string made_by = {};
  std::string flags = {};
};

// What the companion (engine/companion.h) had, and what its drafts were worth.
struct CompanionReceipt {
  std::string name;
  TokenPos held = 0;         // of the restored tokens
  TokenPos from_memory = 0;  // of those, brought back
  std::string missing;       // why it had fewer than all; empty: it had all
  DraftCounts drafts;
};

// Ids of answers that a client sent (cache/answer_ids.h).
struct AnswerIdCounts {
  int used = 0;
  int ignored = 0;
};

struct Receipt {
  std::string id;        // of the generation
  std::string response;  // id of the answer that the client saw
  std::string tenant;    // whose it is: a receipt quotes text, and is shown to nobody else
  std::string session;   // that its client says it belongs to; empty: none. Not in recordings
  bool one_off = false;  // plan/one_offs.h; not in the receipts of recordings either
  std::int64_t unix_ms = 0;
  Exactness exact = Exactness::kOff;  // what was promised of its numbers. Not recorded

  int slot = -1;
  TokenPos prompt_tokens = 0;
  TokenPos matched = 0;     // agree with something seen before
  TokenPos restorable = 0;  // the deepest place that anything could have restored
  TokenPos restored = 0;
  plan::StartSource source = plan::StartSource::kNothing;
  TokenPos recomputed = 0;
  ByteCount bytes_in = 0;       // brought back
  ByteCount bytes_out = 0;      // kept for later
  int checkpoints = 0;          // taken while the prompt was read
  TokenPos kept = 0;            // of the prompt, up to the last of them in memory
  TokenPos history_tokens = 0;  // ids kept as they were sampled (token-exact history)
  AnswerIdCounts answer_ids;    // that helped with that, and that did not
  TokenPos prewarmed = 0;  // of the restored ones, read ahead (serve/prewarmer.h). Not recorded
  std::optional<CompanionReceipt> companion;  // nullopt: there is none
  RequestNotes notes;                         // not recorded

  std::optional<Difference> difference;
  Missing missing;

  double queued_ms = 0.0;
  std::string waited_for;  // a generation that was computing the same prefix
  double restore_ms = 0.0;
  TokenPos fetched = 0;         // up to here, brought up from the tier below for it
  ByteCount fetched_bytes = 0;  // by that
  double fetch_ms = 0.0;        // waited for that
  double prompt_ms = 0.0;
  double saved_ms = 0.0;  // what reading the restored tokens would have taken, as measured
  bool complete = false;  // the request has ended
  std::string advice;     // one sentence; empty: nothing to do better
  // What came of computing the restored state again: "equal", or how it differs. Empty: not done.
  std::string proof;
  // nullopt: no token was chosen. Not recorded: a replay has no logits.
  std::optional<PromptHashes> hashes;
};

[[nodiscard]] std::vector<std::string> check_receipt(const Receipt& receipt);

// The latest receipts, oldest first to go. Any thread.
class ReceiptLog {
 public:
  explicit ReceiptLog(std::size_t capacity = 512) : capacity_(capacity) {}
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  // Adds it, or replaces the one with the same id.
  void put(const Receipt& receipt);
  // By the generation's id or the response's; the latest one of several.
  [[nodiscard]] std::optional<Receipt> find(const std::string& id, const std::string& tenant) const;
  // Newest first. `session`: those of one alone; empty: all.
  [[nodiscard]] std::vector<Receipt> latest(std::size_t limit, const std::string& tenant,
                                            const std::string& session = "") const;
  // Whether another request of the same tenant and session is there.
  [[nodiscard]] bool has_session_of(const Receipt& receipt) const;
  // How many sessions of all tenants have begun a request since then.
  [[nodiscard]] std::size_t sessions_since(std::int64_t unix_ms) const;
  // A receipt quotes its prompt. Of everybody, or of one tenant.
  void clear();
  void clear(const std::string& tenant);

 private:
  const std::size_t capacity_;
  mutable Mutex mutex_;
  std::deque<Receipt> receipts_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::cache
