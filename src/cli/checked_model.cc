#include "cli/checked_model.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "cli/engine_settings.h"
#include "cli/version.h"
#include "engine/llama/llama_backends.h"
#include "env/log.h"

namespace holdfast {

namespace {

// A start may take so much longer: a share of what loading took, or this if it is more.
constexpr double kShareOfLoading = 0.05;
constexpr double kMsOnProcessor = 450.0;
constexpr double kMsOnGpu = 2500.0;
// Other variants that are tried: the next best, and the plainest.
constexpr std::size_t kVariantsTried = 3;

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

std::vector<std::string> other_variants(const std::string& asked) {
  std::vector<std::string> names;
  for (const CpuVariant& variant : cpu_variants()) {
    if (variant.runs() && variant.distrust.empty() && variant.name != asked) {
      names.push_back(variant.name);
    }
  }
  if (names.size() > kVariantsTried) {
    names.erase(names.begin() + kVariantsTried - 1, names.end() - 1);
  }
  return names;
}

// What a check depends on: the engine and its devices, the model, and all that shapes batches.
std::string key_of(const ServeOptions& options, const EngineSetting& asked,
                   const std::string& digest) {
  const auto number = [](auto value) { return std::to_string(value); };
  Fingerprint facts = fingerprint_of(options, {digest, asked, options.grid_step, false});
  facts.add("slots", number(options.parallel) + "/" + number(asked.together))
      .add("drafts", number(asked.drafts) + "/" + number(static_cast<int>(options.spec)) + "/" +
                         number(options.draft_max))
      .add("threads", number(options.threads) + "/" + number(options.threads_batch));
  for (const EngineDevice& device : engine_devices()) {
    facts.add("device", device.name + " " + device.description);
  }
  return facts.hex();
}

class Loader {
 public:
  Loader(const ServeOptions& options, CheckExtent extent, const LoadProgress& progress)
      : options_(options), extent_(extent), progress_(progress) {}

  // What passed before is not checked again with the setting that it passed with.
  void know(const CheckRecord& record) { known_ = record; }

  Result<ConformanceReport> attempt(const EngineSetting& setting) {
    out_.model = {};  // first: two do not fit
    const auto began = std::chrono::steady_clock::now();
    LlamaConfig config = with_setting(engine_config(options_), setting);
    // What is checked is warm.
    if (extent_ != CheckExtent::kOff && !known_) config.warm_up = false;
    auto loaded = load_llama_model(config, progress_);
    if (!loaded) return loaded.error();
    out_.model = std::move(*loaded);
    out_.load_seconds = seconds_since(began);
    if (extent_ == CheckExtent::kOff) return ConformanceReport{};
    if (extent_ == CheckExtent::kShort && known_ && known_->complete()) return ConformanceReport{};
    return check(setting);
  }

  CheckedModel take() { return std::move(out_); }

 private:
  ConformanceReport check(const EngineSetting& setting) {
    ConformanceOptions how;
    how.chunk = grid_step(options_, out_.model.on_gpu);
    how.together = setting.together;
    how.drafts = setting.drafts;
    how.repeats = !out_.model.on_gpu;
    if (extent_ == CheckExtent::kShort) {
      const double least = out_.model.on_gpu ? kMsOnGpu : kMsOnProcessor;
      how.ms_max = std::max(least, kShareOfLoading * out_.load_seconds * 1000.0);
      if (known_ && known_->setting == setting) how.known = known_->passed;
    }
    return check_conformance(*out_.model.engine, how);
  }

  const ServeOptions& options_;
  const CheckExtent extent_;
  const LoadProgress& progress_;
  std::optional<CheckRecord> known_;
  CheckedModel out_;
};

void tell_fall(const std::string& fault, const Rung& next) {
  Log::warn("engine check failed (" + fault + "); trying again " + next.words);
}

CheckRecord record_of(const Climb& climb) {
  CheckRecord record;
  record.setting = climb.rung.setting;
  record.words = climb.rung.words;
  record.fault = climb.fault;
  record.passed = climb.report.good();
  record.kinds = climb.report.kinds.size();
  return record;
}

EngineStanding standing_of(const CheckRecord& record, const ConformanceReport& report) {
  EngineStanding standing;
  standing.setting = record.setting;
  standing.given_up = record.words;
  standing.fault = record.fault;
  standing.kinds = record.kinds;
  standing.unchecked = record.kinds - std::min(record.kinds, record.passed.size());
  standing.check_ms = report.ms;
  standing.check = report.kinds.empty()     ? "passed before"
                   : standing.unchecked > 0 ? "passed in part"
                                            : "passed";
  return standing;
}

// The rungs from the one that held before.
std::vector<Rung> rungs_after(std::vector<Rung> rungs, const std::optional<CheckRecord>& known) {
  if (!known) return rungs;
  const auto held =
      std::ranges::find_if(rungs, [&](const Rung& rung) { return rung.setting == known->setting; });
  if (held != rungs.end()) rungs.erase(rungs.begin(), held);
  return rungs;
}

}  // namespace

Result<CheckedModel> load_checked_model(const ServeOptions& options, CheckExtent extent,
                                        const CheckMemory& memory, const LoadProgress& progress) {
  const auto asked = asked_setting(options);
  if (!asked) return asked.error();
  const auto digest = model_digest(engine_config(options).model_path);
  std::string key = digest ? key_of(options, *asked, *digest) : "";
  const bool recalls = extent == CheckExtent::kShort && !key.empty();
  const auto known = recalls ? memory.recall(key) : std::nullopt;

  Loader loader(options, extent, progress);
  if (known) loader.know(*known);
  const auto rungs = rungs_after(rungs_from(*asked, other_variants(asked->cpu_variant)), known);
  auto climbed = climb(
      rungs, [&](const EngineSetting& setting) { return loader.attempt(setting); }, tell_fall);
  if (!climbed) return climbed.error();

  CheckedModel checked = loader.take();
  checked.digest = digest ? *digest : "";
  if (!digest) checked.digest_error = digest.error().message;
  checked.report = climbed->report;
  if (extent == CheckExtent::kOff) {
    checked.standing.setting = climbed->rung.setting;
  } else {
    const bool nothing_new = checked.report.kinds.empty();
    CheckRecord record = nothing_new ? *known : record_of(*climbed);
    if (known && record.fault.empty()) {
      record.words = known->words;
      record.fault = known->fault;
    }
    checked.standing = standing_of(record, checked.report);
    if (!nothing_new) checked.record = std::move(record);
  }
  checked.key = std::move(key);
  checked.standing.version = llama_library_version();
  return checked;
}

}  // namespace holdfast
