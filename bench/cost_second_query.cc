// (d) The first token of a prompt whose beginning is known, and (e) the bytes held for it.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "cost_footprint.h"
#include "cost_reading.h"
#include "cost_state.h"

namespace holdfast::bench {

namespace {

constexpr TokenPos kQuestionTokens = 64;  // of the message that is new
constexpr TokenPos kNewTokens = kQuestionTokens + PromptMaker::kHeaderTokens;
constexpr double kMebibyte = 1 << 20;

// Bytes per ms of copying this many at once between places that are not in a cache.
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

struct SecondQueries {
  ReadTimes cold;
  Samples memory_ms, memory_over_limit, restore_ms, restored_mib, limit_ms;
  Samples live_ms, live_over_limit;
  Samples plan_ms, prefill_ms, prefill_after_restore_ms, checkpoint_ms, copy_gb_s, store_other_ms;
};

// One round: another conversation takes the slot, then the first one is restored from memory, and
// then it continues while its state is live.
Result<void> second_queries(CachedReader& reader, PromptMaker& prompts, const Tokens& known,
                            SecondQueries& all) {
  const auto other = reader.read(prompts.turn(40) + prompts.header());
  if (!other) return other.error();
  const Tokens asked = known + prompts.turn(kQuestionTokens) + prompts.header();
  const auto memory = reader.read(asked);
  if (!memory) return memory.error();
  const auto live = reader.read(asked + prompts.turn(kQuestionTokens) + prompts.header());
  if (!live) return live.error();
  for (const auto& [times, wanted] :
       {std::pair{&*memory, plan::StartSource::kMemory}, {&*live, plan::StartSource::kLive}}) {
    const cache::Receipt& receipt = times->receipt;
    if (receipt.source == wanted && receipt.recomputed == kNewTokens) continue;
    return Error{
        ErrorCode::kUnsupported,
        std::string("This setting does not measure what it should: the prompt began from ") +
            plan::start_source_name(receipt.source) + ", and " +
            std::to_string(receipt.recomputed) + " tokens were read.",
        ""};
  }

  const ByteCount moved = memory->receipt.bytes_in + memory->receipt.bytes_out;
  const double speed = copy_speed(moved, reader.clock());
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
  auto model = load_model(setting, 1, setting.tokens + 1024);
  if (!model) return model.error();
  PromptMaker prompts(*model->text, setting.seed);
  CachedReader reader(*model, SlotId{0}, kAmpleBudget, setting);
  if (auto warmed = reader.read(prompts.turn(300)); !warmed) return warmed.error();
  (void)copy_speed(0, reader.clock());

  const Footprint before(reader.cache());
  const Tokens known = prompts.turns(setting.tokens);
  std::fprintf(stderr, "reading %d tokens ...\n", setting.tokens);
  auto cold = reader.read(known + prompts.header());
  if (!cold) return cold.error();
  std::fprintf(stderr, "cold: %.0f ms\n", cold->all_ms());
  report.add(held_bytes(setting, *model, before, Footprint(reader.cache())));

  SecondQueries all;
  all.cold = *cold;
  for (int round = 0; round < setting.rounds; ++round) {
    if (auto done = second_queries(reader, prompts, known, all); !done) return done.error();
  }
  const std::string under = described(setting, *model) + " known, " + std::to_string(kNewTokens) +
                            " new, " + std::to_string(setting.rounds) + " rounds";
  report.add(from_memory(under, all));
  report.add(from_live(under, all));
  return {};
}

}  // namespace holdfast::bench
