#include "cost_state.h"

#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <vector>

#include "cache/state_cache.h"
#include "engine/llama/llama_config.h"
#include "env/clock.h"
#include "state/grid.h"

namespace holdfast::bench {

namespace {

constexpr SpaceKey kSpace{1, 1};
constexpr TokenPos kTurnTokens = 400;     // of a message in a long prompt
constexpr TokenPos kQuestionTokens = 64;  // of the one that is new
constexpr ByteCount kAmple = ByteCount{12} << 30;
constexpr double kMebibyte = 1 << 20;

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

// --- prompts -------------------------------------------------------------------------

// Noise that is cut where a conversation would be.
class PromptMaker {
 public:
  PromptMaker(const engine::TextModel& text, unsigned seed) : random_(seed) {
    if (!text.turn_ends().empty()) turn_end_ = text.turn_ends().front();
  }

  // A message of so many tokens, its end included.
  Tokens turn(TokenPos count) {
    Tokens tokens = noise(count - length_of(turn_end_));
    tokens.insert(tokens.end(), turn_end_.begin(), turn_end_.end());
    return tokens;
  }
  // Messages of so many tokens in all.
  Tokens turns(TokenPos count) {
    Tokens tokens;
    while (length_of(tokens) < count) {
      const TokenPos left = count - length_of(tokens);
      const Tokens one = turn(left < 2 * kTurnTokens ? left : kTurnTokens);
      tokens.insert(tokens.end(), one.begin(), one.end());
    }
    return tokens;
  }
  // What opens an answer.
  Tokens header() { return noise(3); }

 private:
  Tokens noise(TokenPos count) {
    Tokens tokens;
    for (TokenPos i = 0; i < count; ++i) tokens.push_back(static_cast<Token>(random_() % 256));
    return tokens;
  }

  std::mt19937 random_;
  Tokens turn_end_;
};

Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// --- one slot with a cache over it, driven as the scheduler does ---------------------

struct ReadTimes {
  double plan_ms = 0;
  double begin_ms = 0;    // what the plan says: keeping, cutting, restoring
  double prefill_ms = 0;  // in the engine
  double note_ms = 0;     // around it: checkpoints
  cache::Receipt receipt;

  [[nodiscard]] double all_ms() const { return plan_ms + begin_ms + prefill_ms + note_ms; }
};

class Driver {
 public:
  Driver(llama::LoadedModel& model, SlotId slot, ByteCount budget, const StateSetting& setting)
      : engine_(*model.engine),
        slot_(slot),
        clock_(clock_for(setting)),
        grid_(GridRule{setting.grid_step, model.text->turn_ends()}),
        cache_({.engine = &engine_, .clock = &clock_}, options_with(budget)) {}

  // Reads the prompt as far as its last token's logits.
  Result<ReadTimes> read(const Tokens& prompt) {
    const auto cuts = grid_.cuts(prompt);
    cache::Prompt asked;
    asked.space = kSpace;
    asked.tokens = prompt;
    asked.keys = prompt;  // as always but in deterministic mode
    asked.cuts = cuts;
    ReadTimes times;
    auto mark = clock_.now();
    const auto lap = [&] {
      const auto before = mark;
      mark = clock_.now();
      return env::ms_between(before, mark);
    };
    const cache::StartChoice outlook = cache_.admission().plan(asked, {&slot_, 1});
    times.plan_ms = lap();
    cache_.begin(asked, outlook, times.receipt);
    times.begin_ms = lap();
    for (TokenPos at = times.receipt.restored; at < length_of(prompt);) {
      const TokenPos end = cache_.growth().chunk_end(slot_);
      const auto chunk = TokenSpan(prompt).subspan(static_cast<std::size_t>(at),
                                                   static_cast<std::size_t>(end - at));
      if (auto ready = cache_.growth().before_chunk(slot_); !ready) return ready.error();
      times.note_ms += lap();
      const bool last = end == length_of(prompt);
      auto run = engine_.prefill(slot_, chunk,
                                 last ? engine::LogitsOf::kLastToken : engine::LogitsOf::kNone);
      if (!run) return run.error();
      if (last) (void)engine_.logits(slot_);  // waits for them
      times.prefill_ms += lap();
      cache_.growth().prefilled(slot_, chunk, times.receipt);
      times.note_ms += lap();
      at = end;
    }
    cache_.growth().note_prefill_speed(times.receipt.recomputed, times.prefill_ms);
    cache_.end(slot_);
    return times;
  }

  [[nodiscard]] const cache::StateCache& cache() const { return cache_; }
  [[nodiscard]] const env::Clock& clock() const { return clock_; }

 private:
  static cache::CacheOptions options_with(ByteCount budget) {
    cache::CacheOptions options;
    options.memory.budget = budget;
    return options;
  }

  engine::Engine& engine_;
  SlotId slot_;
  const env::Clock& clock_;
  Grid grid_;
  cache::StateCache cache_;
};

Result<llama::LoadedModel> load(const StateSetting& setting, int slots, TokenPos context) {
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

// --- what the machine can do -----------------------------------------------------------

// Bytes per ms of copying so many at once between places that are not in a cache.
double copy_speed(ByteCount bytes, const env::Clock& clock) {
  static StateBytes from;
  static StateBytes to;
  const auto size = static_cast<std::size_t>(std::max<ByteCount>(bytes, ByteCount{64} << 20));
  if (from.size() < size) {
    from.assign(size, std::byte{1});
    to.assign(size, std::byte{2});
  }
  const auto start = clock.now();
  std::memcpy(to.data(), from.data(), size);
  const double ms = env::ms_between(start, clock.now());
  asm volatile("" : : "g"(to.data()) : "memory");
  return static_cast<double>(size) / ms;
}

ByteCount resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  ByteCount pages = 0;
  ByteCount resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<ByteCount>(::sysconf(_SC_PAGESIZE));
}

ByteCount allocated_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// --- (e) ---------------------------------------------------------------------------------

struct Footprint {
  explicit Footprint(const cache::StateCache& cache) : status(cache.status()) {}

  cache::CacheStatus status;
  ByteCount allocated = allocated_bytes();
  ByteCount resident = resident_bytes();
};

// The shape counts a few bytes a token for the library's own bookkeeping, which are
// not kept; so what is held may be a little less than `least`.
Measurement held_bytes(const StateSetting& setting, const llama::LoadedModel& model,
                       const Footprint& before, const Footprint& after) {
  const auto tokens = static_cast<double>(after.status.tokens - before.status.tokens);
  const auto count =
      static_cast<double>(after.status.snapshot_count - before.status.snapshot_count);
  const ByteCount counted = after.status.resident - before.status.resident;
  const ByteCount allocated = after.allocated - before.allocated;
  const StateShape& shape = model.engine->shape();
  const Part* extent = shape.find(PartKind::kExtent);
  const double rows = extent ? static_cast<double>(extent->bytes_per_token) : 0;
  const Part* window = shape.find(PartKind::kWindow);
  const double windowed = window ? static_cast<double>(window->bytes_per_token) *
                                       std::min(window->window, setting.tokens)
                                 : 0;
  const double least =
      rows * tokens + count * (windowed + static_cast<double>(shape.bytes_per_snapshot()));
  const auto per_token = [&](ByteCount bytes) { return static_cast<double>(bytes) / tokens; };
  Measurement result;
  result.what = "bytes held";
  result.under = described(setting, model);
  result.figures = {
      {"tokens", tokens},
      {"snapshots", count},
      {"least_bytes_per_token", least / tokens},
      {"counted_bytes_per_token", per_token(counted)},
      {"allocated_bytes_per_token", per_token(allocated)},
      {"process_bytes_per_token", per_token(after.resident - before.resident)},
      {"counted_over_least", static_cast<double>(counted) / least},
      {"allocated_over_least", static_cast<double>(allocated) / least},
  };
  return result;
}

}  // namespace

// --- (c) -----------------------------------------------------------------------------------

Result<void> measure_prefill(const StateSetting& setting, Report& report) {
  auto model = load(setting, 2, setting.tokens + 512);
  if (!model) return model.error();
  PromptMaker prompts(*model->text, setting.seed);
  Driver without(*model, SlotId{0}, 0, setting);
  Driver with(*model, SlotId{1}, kAmple, setting);

  Samples ratio, cost_share, without_ms, with_ms, checkpoints;
  for (int round = -1; round < setting.rounds; ++round) {
    const Tokens prompt = prompts.turns(setting.tokens - 3) + prompts.header();
    // Who goes first changes, so that what drifts during a round favours nobody.
    std::optional<ReadTimes> bare, kept;
    for (const bool first : {true, false}) {
      const bool bare_now = first == (round % 2 == 0);
      auto times = (bare_now ? without : with).read(prompt);
      if (!times) return times.error();
      (bare_now ? bare : kept) = *times;
    }
    if (round < 0) continue;  // both have run once: caches and clocks are warm
    std::fprintf(stderr, "round %d: %.0f ms without, %.0f ms with (%.1f ms in checkpoints)\n",
                 round + 1, bare->all_ms(), kept->all_ms(), kept->begin_ms + kept->note_ms);
    ratio.add(kept->all_ms() / bare->all_ms());
    cost_share.add((kept->plan_ms + kept->begin_ms + kept->note_ms) / kept->prefill_ms);
    without_ms.add(bare->all_ms());
    with_ms.add(kept->all_ms());
    checkpoints.add(kept->receipt.checkpoints);
  }
  Measurement result;
  result.what = "checkpoints while reading";
  result.under = described(setting, *model) + ", grid of " + std::to_string(setting.grid_step) +
                 ", by turns, " + std::to_string(setting.rounds) + " rounds";
  result.figures = spread("with_over_without", ratio);
  for (const auto& [name, samples] : {std::pair{"time_outside_engine_share", &cost_share},
                                      {"without_ms", &without_ms},
                                      {"with_ms", &with_ms}}) {
    for (const Figure& figure : spread(name, *samples)) result.figures.push_back(figure);
  }
  result.figures.push_back({"checkpoints", checkpoints.median()});
  result.judged = "with_over_without";
  result.goal = 1.03;
  report.add(result);
  return {};
}

// --- (d) -----------------------------------------------------------------------------------

namespace {

struct SecondQueries {
  ReadTimes cold;
  Samples memory_ms, memory_over_limit, restore_ms, restored_mib, limit_ms;
  Samples live_ms, live_over_limit;
  Samples plan_ms, prefill_ms, prefill_after_restore_ms, checkpoint_ms, copy_gb_s, store_other_ms;
};

// One round: another conversation takes the slot; the first comes back from memory;
// it goes on while it is live.
Result<void> second_queries(Driver& driver, PromptMaker& prompts, const Tokens& known,
                            SecondQueries& all) {
  const auto other = driver.read(prompts.turn(40) + prompts.header());
  if (!other) return other.error();
  const Tokens asked = known + prompts.turn(kQuestionTokens) + prompts.header();
  const auto memory = driver.read(asked);
  if (!memory) return memory.error();
  const auto live = driver.read(asked + prompts.turn(kQuestionTokens) + prompts.header());
  if (!live) return live.error();
  for (const auto& [times, wanted] :
       {std::pair{&*memory, plan::StartSource::kMemory}, {&*live, plan::StartSource::kLive}}) {
    const cache::Receipt& receipt = times->receipt;
    if (receipt.source == wanted && receipt.recomputed == kQuestionTokens + 3) continue;
    return Error{
        ErrorCode::kUnsupported,
        std::string("This setting does not measure what it should: the prompt began from ") +
            plan::start_source_name(receipt.source) + ", and " +
            std::to_string(receipt.recomputed) + " tokens were read.",
        ""};
  }

  const ByteCount moved = memory->receipt.bytes_in + memory->receipt.bytes_out;
  const double speed = copy_speed(moved, driver.clock());
  const double limit_ms = live->prefill_ms + static_cast<double>(moved) / speed;
  all.memory_ms.add(memory->all_ms());
  all.limit_ms.add(limit_ms);
  all.memory_over_limit.add(memory->all_ms() / limit_ms);
  all.restore_ms.add(memory->receipt.restore_ms);
  all.restored_mib.add(static_cast<double>(memory->receipt.bytes_in) / kMebibyte);
  all.prefill_after_restore_ms.add(memory->prefill_ms);
  all.plan_ms.add(memory->plan_ms);
  all.checkpoint_ms.add(memory->note_ms);
  all.store_other_ms.add(memory->begin_ms - memory->receipt.restore_ms);
  all.live_ms.add(live->all_ms());
  all.prefill_ms.add(live->prefill_ms);
  const double live_limit_ms =
      live->prefill_ms + static_cast<double>(live->receipt.bytes_out) / speed;
  all.live_over_limit.add(live->all_ms() / live_limit_ms);
  all.copy_gb_s.add(speed / 1e6);
  return {};
}

void add_all(Figures& figures, const Figures& more) {
  figures.insert(figures.end(), more.begin(), more.end());
}

Measurement from_memory(const std::string& under, const SecondQueries& all) {
  Measurement result;
  result.what = "second query from memory";
  result.under = under;
  result.figures = spread("over_limit", all.memory_over_limit);
  add_all(result.figures, spread("first_token_ms", all.memory_ms));
  for (const auto& [name, samples] : {std::pair{"limit_ms", &all.limit_ms},
                                      {"plan_ms", &all.plan_ms},
                                      {"store_other_ms", &all.store_other_ms},
                                      {"restore_ms", &all.restore_ms},
                                      {"prefill_ms", &all.prefill_after_restore_ms},
                                      {"checkpoint_ms", &all.checkpoint_ms},
                                      {"live_prefill_ms", &all.prefill_ms},
                                      {"restored_mib", &all.restored_mib},
                                      {"memcpy_gb_s", &all.copy_gb_s}}) {
    result.figures.push_back({name, samples->median()});
  }
  result.figures.push_back({"cold_ms", all.cold.all_ms()});
  result.figures.push_back({"cold_over_this", all.cold.all_ms() / all.memory_ms.median()});
  result.judged = "over_limit";
  result.goal = 1.15;
  return result;
}

Measurement from_live(const std::string& under, const SecondQueries& all) {
  Measurement result;
  result.what = "second query, still live";
  result.under = under;
  result.figures = spread("over_limit", all.live_over_limit);
  add_all(result.figures, spread("first_token_ms", all.live_ms));
  result.figures.push_back({"prefill_ms", all.prefill_ms.median()});
  result.figures.push_back({"cold_over_this", all.cold.all_ms() / all.live_ms.median()});
  result.judged = "over_limit";
  result.goal = 1.15;
  return result;
}

}  // namespace

Result<void> measure_second_query(const StateSetting& setting, Report& report) {
  auto model = load(setting, 1, setting.tokens + 1024);
  if (!model) return model.error();
  PromptMaker prompts(*model->text, setting.seed);
  Driver driver(*model, SlotId{0}, kAmple, setting);
  if (auto warmed = driver.read(prompts.turn(300)); !warmed) return warmed.error();
  (void)copy_speed(0, driver.clock());

  const Footprint before(driver.cache());
  const Tokens known = prompts.turns(setting.tokens);
  std::fprintf(stderr, "reading %d tokens ...\n", setting.tokens);
  auto cold = driver.read(known + prompts.header());
  if (!cold) return cold.error();
  std::fprintf(stderr, "cold: %.0f ms\n", cold->all_ms());
  report.add(held_bytes(setting, *model, before, Footprint(driver.cache())));

  SecondQueries all;
  all.cold = *cold;
  for (int round = 0; round < setting.rounds; ++round) {
    if (auto done = second_queries(driver, prompts, known, all); !done) return done.error();
  }
  const std::string under = described(setting, *model) + " known, " +
                            std::to_string(kQuestionTokens + 3) + " new, " +
                            std::to_string(setting.rounds) + " rounds";
  report.add(from_memory(under, all));
  report.add(from_live(under, all));
  return {};
}

}  // namespace holdfast::bench
