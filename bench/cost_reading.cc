#include "cost_reading.h"

#include <time.h>

#include <chrono>
#include <cstdio>

namespace holdfast::bench {

namespace {

constexpr SpaceKey kSpace{1, 1};
constexpr TokenPos kTurnTokens = 400;  // of a message in a long prompt

// Time that this thread has run: what others do on the machine takes none of it.
// Holds with one engine thread, which is this one.
class ThreadTime final : public env::Clock {
 public:
  [[nodiscard]] TimePoint now() const override {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

const env::Clock& clock_for(const StateSetting& setting) {
  static const env::SteadyClock steady;
  static const ThreadTime thread_time;
  if (setting.thread_time) return thread_time;
  return steady;
}

cache::CacheOptions options_with(ByteCount budget) {
  cache::CacheOptions options;
  options.memory.budget = budget;
  return options;
}

// Time between its calls.
class Laps {
 public:
  explicit Laps(const env::Clock& clock) : clock_(clock), mark_(clock.now()) {}
  [[nodiscard]] double lap_ms() {
    const auto before = mark_;
    mark_ = clock_.now();
    return env::ms_between(before, mark_);
  }

 private:
  const env::Clock& clock_;
  env::Clock::TimePoint mark_;
};

}  // namespace

// --- prompts -------------------------------------------------------------------------

PromptMaker::PromptMaker(const engine::TextModel& text, unsigned seed) : random_(seed) {
  if (!text.turn_ends().empty()) turn_end_ = text.turn_ends().front();
}

Tokens PromptMaker::turn(TokenPos count) { return noise(count - length_of(turn_end_)) + turn_end_; }

Tokens PromptMaker::turns(TokenPos count) {
  Tokens tokens;
  while (length_of(tokens) < count) {
    const TokenPos left = count - length_of(tokens);
    tokens = std::move(tokens) + turn(left < 2 * kTurnTokens ? left : kTurnTokens);
  }
  return tokens;
}

Tokens PromptMaker::noise(TokenPos count) {
  Tokens tokens;
  for (TokenPos i = 0; i < count; ++i) tokens.push_back(static_cast<Token>(random_() % 256));
  return tokens;
}

Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// --- reading -------------------------------------------------------------------------

CachedReader::CachedReader(llama::LoadedModel& model, SlotId slot, ByteCount budget,
                           const StateSetting& setting)
    : engine_(*model.engine),
      slot_(slot),
      clock_(clock_for(setting)),
      grid_(GridRule{setting.grid_step, model.text->turn_ends()}),
      cache_({.engine = &engine_, .clock = &clock_}, options_with(budget)) {}

Result<ReadTimes> CachedReader::read(const Tokens& prompt) {
  const auto cuts = grid_.cuts(prompt);
  cache::Prompt asked;
  asked.space = kSpace;
  asked.tokens = prompt;
  asked.keys = prompt;  // where prompts are exact these would be other keys
  asked.cuts = cuts;
  ReadTimes times;
  Laps laps(clock_);
  const cache::StartChoice choice = cache_.admission().plan(asked, {&slot_, 1});
  times.plan_ms = laps.lap_ms();
  cache_.begin(asked, choice, times.receipt);
  times.begin_ms = laps.lap_ms();
  if (auto read = prefill(prompt, times); !read) return read.error();
  cache_.growth().note_prefill_speed(times.receipt.recomputed, times.prefill_ms);
  cache_.end(slot_);
  return times;
}

Result<void> CachedReader::prefill(const Tokens& prompt, ReadTimes& times) {
  Laps laps(clock_);
  for (TokenPos at = times.receipt.restored; at < length_of(prompt);) {
    const TokenPos end = cache_.growth().chunk_end(slot_);
    const auto chunk =
        TokenSpan(prompt).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(end - at));
    if (auto ready = cache_.growth().before_chunk(slot_); !ready) return ready;
    times.note_ms += laps.lap_ms();
    const bool last = end == length_of(prompt);
    auto run = engine_.prefill(slot_, chunk,
                               last ? engine::LogitsOf::kLastToken : engine::LogitsOf::kNone);
    if (!run) return run;
    if (last) (void)engine_.logits(slot_);  // waits for them
    times.prefill_ms += laps.lap_ms();
    cache_.growth().prefilled(slot_, chunk, times.receipt);
    times.note_ms += laps.lap_ms();
    at = end;
  }
  return {};
}

Result<llama::LoadedModel> load_model(const StateSetting& setting, int slots, TokenPos context) {
  llama::set_llama_log([](int level, const std::string& line) {
    if (level >= 3) std::fprintf(stderr, "%s", line.c_str());
  });
  llama::LlamaConfig config;
  config.model_path = setting.model;
  config.slots = slots;
  config.context_tokens = context;
  config.threads = setting.thread_time ? 1 : setting.threads;
  auto loaded = llama::load_llama_model(config, nullptr);
  if (loaded) {
    std::fprintf(stderr, "%s: %s\n", setting.model.c_str(),
                 loaded->engine->shape().describe().c_str());
  }
  return loaded;
}

std::string described(const StateSetting& setting, const llama::LoadedModel& model) {
  const auto slash = setting.model.find_last_of('/');
  return setting.model.substr(slash + 1) + " (" + model.engine->shape().describe() + "), " +
         (setting.thread_time ? "time of one thread, " : "") + std::to_string(setting.tokens) +
         " tokens";
}

}  // namespace holdfast::bench
