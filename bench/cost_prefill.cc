// (c) What checkpoints cost while a prompt is read.
#include <cstdio>
#include <optional>
#include <utility>

#include "cost_reading.h"
#include "cost_state.h"

namespace holdfast::bench {

Result<void> measure_prefill(const StateSetting& setting, Report& report) {
  auto model = load_model(setting, 2, setting.tokens + 512);
  if (!model) return model.error();
  PromptMaker prompts(*model->text, setting.seed);
  CachedReader without(*model, SlotId{0}, 0, setting);
  CachedReader with(*model, SlotId{1}, kAmpleBudget, setting);

  Samples ratio, cost_share, without_ms, with_ms, checkpoints;
  for (int round = -1; round < setting.rounds; ++round) {
    const Tokens prompt =
        prompts.turns(setting.tokens - PromptMaker::kHeaderTokens) + prompts.header();
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

}  // namespace holdfast::bench
