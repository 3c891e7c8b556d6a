// A scheduler with its cache over the real engine, with a companion or without, turned
// by hand; what its requests answered; and when two answers count as the same.
//
// Every token is chosen from the primary's logits. The batch that computes a row shows
// in its last bits (docs/engine.md, section 4), so two runs may part where the two best
// tokens are all but equal. That is the only difference that is allowed, and counted.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "cached_server.h"
#include "engine/llama/llama_mtp.h"
#include "serve/scheduler.h"

namespace holdfast {

inline constexpr TokenPos kDraftMax = 3;
inline constexpr TokenPos kGridStep = 128;
// Two tokens whose logits are closer than this may change places. Last bits depend on the size of
// a batch, by how much on the processor: 0.0011 was seen on one without AVX-512.
inline constexpr float kNearTie = 5e-3F;

inline std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtoull(value, nullptr, 10) : fallback;
}

// --- models -----------------------------------------------------------------------

enum class Drafting { kOff, kMtp };

// How rows are kept. Quantised ones with flash attention do not depend on the batch.
enum class Rows { kF16, kQ8 };

inline llama::LlamaConfig speculation_config(Drafting drafting, int slots, Rows rows = Rows::kQ8) {
  llama::LlamaConfig config;
  config.context_tokens = 4096;
  config.slots = slots;
  config.threads = 1;  // tests share their cores
  config.ubatch = 256;
  config.warm_up = false;
  if (rows == Rows::kQ8) config.cache_type_k = config.cache_type_v = "q8_0";
  config.flash_attention = llama::FlashAttention::kOn;
  config.draft_source = drafting == Drafting::kMtp ? DraftSource::kMtp : DraftSource::kOff;
  config.draft_tokens_max = kDraftMax;
  // What the server chooses by itself. qwen3next cannot go back: its states are copied.
  config.rollback_depth = kDraftMax;
  return config;
}

// "pocket", or the architecture of a tiny one.
inline llama::LoadedModel load_model(const std::string& name, const llama::LlamaConfig& config) {
  llama::LlamaConfig named = config;
  named.model_path = HOLDFAST_POCKET_MODEL_PATH;
  auto loaded =
      name == "pocket" ? llama::load_llama_model(named, nullptr) : load_tiny(name, config);
  CHECK(loaded.ok());
  const bool drafts = config.draft_source == DraftSource::kMtp;
  CHECK((loaded->companion != nullptr) == drafts);
  CHECK(!drafts || loaded->engine->can_take_back(kDraftMax) == (name != "qwen3next"));
  return std::move(*loaded);
}

inline llama::LoadedModel load_model(const std::string& name, Drafting drafting, int slots = 1,
                                     Rows rows = Rows::kQ8) {
  return load_model(name, speculation_config(drafting, slots, rows));
}

inline llama::LlamaMtp& mtp_of(llama::LoadedModel& model) {
  return dynamic_cast<llama::LlamaMtp&>(*model.companion);
}

// --- answers ----------------------------------------------------------------------

struct Heard final : serve::EventSink {
  void on_event(serve::Event event) override {
    if (const auto* delta = std::get_if<serve::TextDelta>(&event)) {
      text += delta->text;
      reports.insert(reports.end(), delta->tokens.begin(), delta->tokens.end());
    }
    if (const auto* end = std::get_if<serve::Finished>(&event)) finished = *end;
    if (const auto* end = std::get_if<serve::Failed>(&event)) failed = end->error;
  }
  [[nodiscard]] bool ended() const { return finished || failed; }
  [[nodiscard]] const cache::Receipt& receipt() const { return *finished->receipt; }
  [[nodiscard]] DraftCounts drafts() const {
    return receipt().companion ? receipt().companion->drafts : DraftCounts{};
  }
  [[nodiscard]] Tokens tokens() const {
    Tokens all;
    for (const serve::TokenReport& report : reports) all.push_back(report.sampled.token);
    return all;
  }

  std::string text;
  std::vector<serve::TokenReport> reports;
  std::optional<serve::Finished> finished;
  std::optional<Error> failed;
};
using HeardPtr = std::shared_ptr<const Heard>;

// --- the server -------------------------------------------------------------------

class StandingClock final : public env::Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return {}; }
};

// Every look at it costs another time, so that the adaptive length keeps changing.
class RestlessClock final : public env::Clock {
 public:
  explicit RestlessClock(unsigned seed) : random_(seed) {}
  [[nodiscard]] TimePoint now() const override {
    now_ += std::chrono::microseconds(random_() % 4 == 0 ? random_() % 8000 : random_() % 400);
    return now_;
  }

 private:
  mutable std::mt19937 random_;
  mutable TimePoint now_{};
};

inline const StandingClock kStandingClock;

struct ServerOptions {
  engine::Companion* companion = nullptr;
  Exactness exact = Exactness::kOff;
  TokenPos deterministic_draft = 0;  // not 0: all is exact
  const env::Clock* clock = &kStandingClock;
  bool adaptive = false;
  ByteCount budget = kAmple;  // of the memory behind the slots
};

class SpeculatingServer {
 public:
  // Whatever the model's slots held is forgotten.
  SpeculatingServer(llama::LoadedModel& model, const ServerOptions& options = {})
      : model_(model), options_(options) {
    for (int i = 0; i < model.engine->slot_count(); ++i) {
      model.engine->clear(SlotId{i});
      if (options.companion != nullptr) (void)options.companion->follow(SlotId{i}, {});
    }
    serve::SchedulerOptions made;
    made.cache.memory.budget = options.budget;
    made.grid_step = kGridStep;
    made.exact = options.deterministic_draft > 0 ? Exactness::kAll : options.exact;
    made.deterministic_draft = options.deterministic_draft;
    scheduler_ =
        std::make_unique<serve::Scheduler>(*model.engine, *model.text, made, *options.clock,
                                           serve::SchedulerParts{.companion = options.companion});
  }

  [[nodiscard]] serve::Scheduler& scheduler() { return *scheduler_; }

  [[nodiscard]] serve::GenerateRequest request(Tokens prompt, TokenPos max_tokens,
                                               const engine::SamplingParams& sampling) {
    serve::GenerateRequest made;
    made.id = "r" + std::to_string(++requests_);
    made.space = kSpace;
    made.prompt = std::move(prompt);
    made.max_tokens = max_tokens;
    made.ignore_eos = true;
    made.want_tokens = true;
    made.draft = {.max = kDraftMax, .adaptive = options_.adaptive};
    auto sampler = model_.text->make_sampler(sampling, nullptr);
    CHECK(sampler.ok());
    made.sampler = std::move(*sampler);
    return made;
  }
  // Greedy, with the logits' distances reported.
  [[nodiscard]] serve::GenerateRequest request(Tokens prompt, TokenPos max_tokens) {
    engine::SamplingParams greedy;
    greedy.temperature = 0.0F;
    greedy.top_logprobs = 2;
    return request(std::move(prompt), max_tokens, greedy);
  }

  [[nodiscard]] std::shared_ptr<Heard> submit(serve::GenerateRequest made) {
    auto reply = std::make_shared<Heard>();
    made.sink = reply;
    EXPECT_TRUE(scheduler_->submit(std::move(made)).ok());
    return reply;
  }
  void turn_until_ended(const Heard& reply) {
    while (!reply.ended()) run_round();
    EXPECT_TRUE(reply.finished.has_value()) << reply.failed->message;
  }
  [[nodiscard]] HeardPtr run(serve::GenerateRequest made) {
    auto reply = submit(std::move(made));
    turn_until_ended(*reply);
    return reply;
  }
  [[nodiscard]] HeardPtr run(Tokens prompt, TokenPos max_tokens) {
    return run(request(std::move(prompt), max_tokens));
  }
  // All at once, as many as there are slots.
  [[nodiscard]] std::vector<HeardPtr> run_all(const std::vector<Tokens>& prompts,
                                              TokenPos max_tokens) {
    std::vector<std::shared_ptr<Heard>> replies;
    for (const Tokens& prompt : prompts) replies.push_back(submit(request(prompt, max_tokens)));
    for (const auto& reply : replies) turn_until_ended(*reply);
    return {replies.begin(), replies.end()};
  }

  void run_round() {
    scheduler_->run_round();
    if (checks) check();
  }

  // Asked after every turn, beside the checks of the others.
  std::function<std::vector<std::string>()> also_check;
  // Off: nothing is checked, for thousands of requests.
  bool checks = true;

 private:
  void check() const {
    EXPECT_EQ(scheduler_->check(), std::vector<std::string>{});
    EXPECT_EQ(model_.engine->check(), std::vector<std::string>{});
    if (also_check) {
      EXPECT_EQ(also_check(), std::vector<std::string>{});
    }
  }

  llama::LoadedModel& model_;
  ServerOptions options_;
  std::unique_ptr<serve::Scheduler> scheduler_;
  int requests_ = 0;
};

// --- comparing --------------------------------------------------------------------

struct Sameness {
  std::size_t equal = 0;
  std::size_t near_ties = 0;  // parted where the two best were all but equal
  std::size_t tokens = 0;     // that were compared
};

// How far the chosen token's logit lies above the other's, as the report says.
inline float lead_over(const engine::Sampled& chosen, Token other) {
  for (const engine::TokenLogprob& one : chosen.top) {
    if (one.token == other) return chosen.logprob - one.logprob;
  }
  return INFINITY;
}

inline void expect_same(const Heard& seen, const Heard& wanted, Sameness& sum,
                        const std::string& what) {
  const Tokens a = seen.tokens();
  const Tokens b = wanted.tokens();
  const auto at = static_cast<std::size_t>(common_prefix(a, b));
  sum.tokens += at;
  if (at == a.size() && at == b.size()) {
    ++sum.equal;
    EXPECT_EQ(seen.text, wanted.text) << what;
    return;
  }
  ASSERT_TRUE(at < a.size() && at < b.size()) << what << ": one is longer";
  const float lead = lead_over(wanted.reports[at].sampled, a[at]);
  const float other_lead = lead_over(seen.reports[at].sampled, b[at]);
  EXPECT_LT(std::max(lead, other_lead), kNearTie)
      << what << ": token " << at << " is " << a[at] << " and not " << b[at] << ", which leads by "
      << lead << " there and lacks " << other_lead << " here";
  ++sum.near_ties;
}

inline std::string rates(const DraftCounts& drafts) {
  std::string text;
  for (std::size_t i = 0; i < kDraftMax; ++i) {
    const auto& [tried, accepted] = drafts.ranks[i];
    char one[64];
    std::snprintf(one, sizeof one, "  %llu/%llu = %.3f", static_cast<unsigned long long>(accepted),
                  static_cast<unsigned long long>(tried),
                  tried == 0 ? 0.0 : static_cast<double>(accepted) / static_cast<double>(tried));
    text += one;
  }
  return text;
}

}  // namespace holdfast
