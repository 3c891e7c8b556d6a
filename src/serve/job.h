// Job: a request from its arrival to its end, in parts that each belong to one stage.
//
//   input      what the API asked for                         never changes
//   prompt     the same as the cache sees it                  made on the worker
//   queued     what it waits for in the queue                 cache::Admission, RequestQueue
//   answer     what has been sampled, and its text            Decoding
//   draft      what may follow                                Speculator
//   times, timings, receipt                                   what its client is told
#pragma once

#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cache/admission.h"
#include "cache/prompt.h"
#include "cache/prompt_logits.h"
#include "cache/receipt.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "plan/acceptance.h"
#include "serve/request.h"
#include "serve/text_assembler.h"

namespace holdfast::serve {

struct QueueState {
  cache::Admission::State waits;
  bool held_back = false;  // bringing its state back would hold those up who write
};

struct AnswerState {
  explicit AnswerState(const std::vector<std::string>& stops) : assembler(stops) {}

  // Sampled, not yet computed: the latest token, and before it those whose state had
  // to be taken back together with a draft.
  Tokens uncomputed;
  TokenPos companion_synced = 0;   // of those, what the companion knows already
  cache::LogitsPtr stored_logits;  // of the prompt's last token, where nothing was read
  TextAssembler assembler;
  std::vector<TokenReport> reports;  // tokens whose text is still held back
  Tokens tokens;                     // sampled so far, without the one that ended it
};

struct DraftState {
  Tokens tokens;          // what may follow the uncomputed ones, in the step at hand
  TokenPos proposed = 0;  // of those; the rest fills a batch up
  TokenPos budget = 0;    // tokens of the draft that were chosen by the pace
  // The state that the step began with, where only that brings it back.
  std::optional<engine::SavedState> rollback_state;
  plan::AcceptanceByPosition acceptance;  // of drafts whose budget the pace chose
  double last_yield = 1.0;                // tokens that the latest step gave
  std::minstd_rand pretence{1};           // for SchedulerOptions::synthetic_acceptance
  DraftCounts counts;
};

struct JobTimes {
  env::Clock::TimePoint submitted;
  env::Clock::TimePoint started{};      // left the queue
  env::Clock::TimePoint first_token{};  // the prompt is read
  env::Clock::TimePoint last_step{};    // since then: its latest step
  double read_ms = 0.0;                 // spent in the engine on this prompt
};

// Stays where it was made: `prompt` refers to `input`.
struct Job {
  // REQUIRES: `request.prepared` is of its prompt (PromptPreparer).
  Job(GenerateRequest request, env::Clock::TimePoint now)
      : input(std::move(request)),
        prompt{.space = input.space,
               .tokens = input.prompt,
               .keys = input.prepared->keys_of(input.prompt),
               .cuts = input.prepared->cuts,
               .spans = input.spans,
               .reuse = input.reuse,
               .header_end = input.header_end,
               .names = input.prepared->names,
               .end = input.prepared->end,
               .sections = input.sections},
        answer(input.stops),
        times{now} {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] TokenPos prompt_length() const { return length_of(input.prompt); }

  const GenerateRequest input;
  cache::Prompt prompt;  // its number is that of the request, in the order of arrival
  QueueState queued;
  AnswerState answer;
  DraftState draft;
  JobTimes times;
  Timings timings;
  cache::Receipt receipt;
};

}  // namespace holdfast::serve
