// Slot: one of the engine's sequences and who uses it. What it holds, the cache knows.
#pragma once

#include <memory>
#include <optional>

#include "cache/state_cache.h"
#include "env/clock.h"
#include "plan/acceptance.h"
#include "serve/request.h"
#include "serve/text_assembler.h"

namespace holdfast::serve {

// A request at work on a slot.
struct Job {
  Job(GenerateRequest r, env::Clock::TimePoint now)
      : request(std::move(r)), assembler(request.stops), submitted(now) {}

  [[nodiscard]] TokenPos prompt_length() const { return length_of(request.prompt); }
  [[nodiscard]] cache::Prompt prompt() const {
    const TokenSpan filed_under = keys.empty() ? TokenSpan(request.prompt) : TokenSpan(keys);
    return {request.space, request.prompt,     filed_under, cuts, request.spans,
            request.reuse, request.header_end, names,       end,  number};
  }

  GenerateRequest request;
  std::uint64_t number = 0;  // in the order of arrival
  TextAssembler assembler;
  env::Clock::TimePoint submitted;
  env::Clock::TimePoint started{};      // left the queue
  env::Clock::TimePoint first_token{};  // the prompt is read
  env::Clock::TimePoint last_step{};    // since then: its latest step
  Timings timings;
  std::vector<TokenPos> cuts;         // the prompt's grid
  Tokens keys;                        // StateCache::keys_for
  std::vector<tier::PathName> names;  // StateCache::names_for
  cache::EndKey end;                  // of the prompt, if it may use what is kept
  double read_ms = 0.0;               // spent in the engine on this prompt
  cache::LogitsPtr kept_logits;       // of the prompt's last token, where nothing was read
  // Sampled, not yet computed: the latest token, and before it those whose state had
  // to be taken back together with a draft.
  Tokens pending;
  TokenPos told = 0;                         // of those, what the companion knows already
  Tokens draft;                              // what may follow them, in the step at hand
  TokenPos proposed = 0;                     // of those; the rest fills a batch up
  std::optional<engine::SavedState> before;  // the state that the step began with, where only
                                             // that brings it back
  std::vector<TokenReport> reports;          // tokens whose text is still held back
  Tokens answer;                             // sampled so far, without the one that ended it
  DraftCounts drafts;
  TokenPos asked = 0;                     // tokens of the draft that were chosen by the pace
  plan::AcceptanceByPosition acceptance;  // of such drafts
  double last_yield = 1.0;                // tokens that the latest step gave
  std::optional<cache::Awaited> awaited;  // waits in the queue for another's prefix
  std::optional<cache::ColdFetch> fetch;  // asked the tier below, and may wait for it
  bool held_back = false;                 // bringing its state back would hold those up who write
  cache::Receipt receipt;
};

struct Slot {
  SlotId id;
  std::unique_ptr<Job> job;  // null: idle

  [[nodiscard]] bool idle() const { return job == nullptr; }
  [[nodiscard]] bool decoding() const { return job != nullptr && !job->pending.empty(); }
};

}  // namespace holdfast::serve
