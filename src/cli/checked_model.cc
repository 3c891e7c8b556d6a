#include "cli/checked_model.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/engine_settings.h"
#include "cli/load_files.h"
#include "engine/llama/llama_backends.h"
#include "env/log.h"

namespace holdfast::cli {

namespace {

// A start may take this much longer: a share of what loading took, or this if it is more.
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
  for (const llama::CpuVariant& variant : llama::cpu_variants()) {
    if (variant.runs() && variant.distrust.empty() && variant.name != asked) {
      names.push_back(variant.name);
    }
  }
  if (names.size() > kVariantsTried) {
    names.erase(names.begin() + kVariantsTried - 1, names.end() - 1);
  }
  return names;
}

// Another build of a library has another size or age.
std::string build_of(const std::string& library) {
  struct stat status {};
  if (library.empty() || ::stat(library.c_str(), &status) != 0) return "";
  return std::to_string(status.st_size) + "/" + std::to_string(status.st_mtime);
}

// What a check depends on: the engine and its devices, the model, and all that shapes batches.
std::string key_of(const ServeOptions& options, const engine::EngineSetting& asked,
                   const ModelDigests& digests) {
  const auto number = [](auto value) { return std::to_string(value); };
  const ThreadCounts threads = thread_counts(options.compute);
  cache::Fingerprint facts =
      fingerprint_of(options, {digests.model, asked, options.reuse.grid_step, false});
  facts.add("check", number(engine::kConformanceVersion))
      .add("slots", number(options.context.parallel) + "/" + number(asked.together))
      .add("context", number(options.context.size))
      .add("drafts", number(asked.drafts) + "/" + number(static_cast<int>(options.drafts.source)) +
                         "/" + number(options.drafts.max))
      .add("threads", number(threads.generate) + "/" + number(threads.read))
      .add("libllama", build_of(llama::engine_folder() + "/libllama.so"));
  if (!digests.draft.empty()) facts.add("draft model", digests.draft);
  for (const llama::CpuVariant& variant : llama::cpu_variants()) {
    if (variant.name == asked.cpu_variant) facts.add("library", build_of(variant.path));
  }
  for (const llama::EngineDevice& device : llama::engine_devices()) {
    facts.add("device", device.name + " " + device.description);
  }
  return facts.hex();
}

class Loader {
 public:
  Loader(const ServeOptions& options, const LoadFiles& files, CheckExtent extent,
         const llama::LoadProgress& progress)
      : options_(options), files_(files), extent_(extent), progress_(progress) {}

  // What passed before is not checked again, with the setting that it passed with.
  void know(const CheckRecord& record) {
    known_ = record;
    must_ = record.failed;
  }

  Result<engine::ConformanceReport> attempt(const engine::EngineSetting& setting) {
    out_.model.companion.reset();  // it refers to the engine
    out_.model = {};               // first: two do not fit
    const auto began = std::chrono::steady_clock::now();
    llama::LlamaConfig config = files_.named_in(with_setting(engine_config(options_), setting));
    // What is checked is warm.
    if (extent_ != CheckExtent::kOff && !known_) config.warm_up = false;
    auto loaded = llama::load_llama_model(config, progress_);
    if (!loaded) return loaded.error();
    out_.model = std::move(*loaded);
    out_.load_seconds = seconds_since(began);
    if (extent_ == CheckExtent::kOff) return engine::ConformanceReport{};
    out_.how = how_to_check(setting);
    engine::ConformanceReport report =
        engine::check_conformance(*out_.model.engine, limited(out_.how));
    // A rung below has to show that it does not have the same fault.
    for (const engine::CheckedKind& kind : report.kinds) {
      if (kind.verdict == engine::CheckVerdict::kFailed) must_.insert(kind.name);
    }
    return report;
  }

  CheckedModel take() { return std::move(out_); }

 private:
  [[nodiscard]] engine::ConformanceOptions how_to_check(
      const engine::EngineSetting& setting) const {
    engine::ConformanceOptions how;
    how.chunk = grid_step(options_, out_.model.on_gpu);
    how.together = setting.together;
    how.drafts = setting.drafts;
    how.repeats = !out_.model.on_gpu;
    const bool same = known_ && known_->setting == setting && extent_ == CheckExtent::kShort;
    if (same) how.known = known_->passed;
    for (const std::string& name : must_) how.known.erase(name);
    return how;
  }

  // The part of it that is done before serving.
  [[nodiscard]] engine::ConformanceOptions limited(engine::ConformanceOptions how) const {
    how.must = must_;
    how.wanted = [this] { return progress_ && !progress_(1.0F); };
    if (extent_ != CheckExtent::kShort) return how;
    const auto all = engine::conformance_kinds(*out_.model.engine, how);
    const bool nothing_left =
        std::ranges::all_of(all, [&](const std::string& name) { return how.known.contains(name); });
    const double least = out_.model.on_gpu ? kMsOnGpu : kMsOnProcessor;
    how.ms_max = nothing_left ? 0.0 : std::max(least, kShareOfLoading * out_.load_seconds * 1000.0);
    return how;
  }

  const ServeOptions& options_;
  const LoadFiles& files_;
  const CheckExtent extent_;
  const llama::LoadProgress& progress_;
  std::optional<CheckRecord> known_;
  std::set<std::string> must_;
  CheckedModel out_;
};

void tell_fall(const std::string& fault, const engine::Rung& next) {
  env::Log::warn("engine check failed (" + fault + "); trying again " + next.words);
}

// The rungs from the one that held before, without those that take back what it gave up.
std::vector<engine::Rung> rungs_after(std::vector<engine::Rung> rungs, const CheckRecord& known) {
  const auto held = std::ranges::find(rungs, known.setting, &engine::Rung::setting);
  rungs.erase(rungs.begin(), held);
  std::erase_if(rungs, [&](const engine::Rung& rung) {
    const engine::EngineSetting& setting = rung.setting;
    return (setting.together && !known.setting.together) ||
           (setting.drafts && !known.setting.drafts) ||
           (setting.extra_buffers && !known.setting.extra_buffers);
  });
  return rungs;
}

bool holds(const std::vector<engine::Rung>& rungs, const CheckRecord& record) {
  return std::ranges::find(rungs, record.setting, &engine::Rung::setting) != rungs.end();
}

}  // namespace

void CheckedModel::note(const engine::ConformanceReport& found) {
  record.passed.merge(found.good());
  record.failed.clear();
  for (const engine::CheckedKind& kind : found.kinds) {
    if (kind.verdict != engine::CheckVerdict::kFailed) continue;
    record.passed.erase(kind.name);
    record.failed.insert(kind.name);
  }
  standing.unchecked = standing.kinds - std::min(standing.kinds, record.passed.size());
  standing.check_ms += found.ms;
  if (!found.passed()) {
    standing.check = "failed";
  } else {
    standing.check = standing.unchecked > 0 ? "passed in part" : "passed";
  }
}

Result<CheckedModel> load_checked_model(const ServeOptions& options, CheckExtent extent,
                                        const CheckMemory& memory,
                                        const llama::LoadProgress& progress) {
  const auto asked = asked_setting(options);
  if (!asked) return asked.error();
  const LoadFiles files(engine_config(options));
  const auto digests = files.digests();
  const std::string key = digests ? key_of(options, *asked, *digests) : "";
  auto rungs = engine::rungs_from(*asked, other_variants(asked->cpu_variant));
  std::optional<CheckRecord> known;
  if (extent == CheckExtent::kShort && !key.empty()) known = memory.recall(key);
  if (known && !holds(rungs, *known)) known.reset();

  Loader loader(options, files, extent, progress);
  if (known) {
    loader.know(*known);
    rungs = rungs_after(std::move(rungs), *known);
  }
  auto climbed = engine::climb(
      rungs, [&](const engine::EngineSetting& setting) { return loader.attempt(setting); },
      tell_fall);
  if (!climbed) return climbed.error();
  if (auto same = files.check_unchanged(); !same) return same.error();

  CheckedModel checked = loader.take();
  checked.digest = digests ? digests->model : "";
  if (!digests) checked.digest_error = digests.error().message;
  checked.key = key;
  checked.report = std::move(climbed->report);
  engine::EngineStanding& standing = checked.standing;
  standing.setting = climbed->rung.setting;
  standing.version = llama::llama_library_version();
  if (extent == CheckExtent::kOff) return checked;

  // Where the rung that held before still holds, it is for the same reason.
  const bool as_before = known && known->setting == standing.setting && climbed->fault.empty();
  standing.given_up = as_before ? known->words : climbed->rung.words;
  standing.fault = as_before ? known->fault : climbed->fault;
  standing.kinds = checked.report.kinds.size();
  checked.record = {standing.setting, standing.given_up, standing.fault, {}, {}};
  if (known && known->setting == standing.setting) checked.record.passed = known->passed;
  const bool before = checked.report.count(engine::CheckVerdict::kPassed) <= 1 && as_before &&
                      known->passed.size() >= standing.kinds;
  checked.note(checked.report);
  if (before) standing.check = "passed before";
  return checked;
}

}  // namespace holdfast::cli
