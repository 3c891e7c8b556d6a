#include "cli/doctor.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/free_memory.h"
#include "cache/folder_survey.h"
#include "cli/build_name.h"
#include "cli/cache_dir.h"
#include "cli/check_memory.h"
#include "cli/checked_model.h"
#include "cli/engine_settings.h"
#include "cli/machine_facts.h"
#include "cli/option_kinds.h"
#include "engine/llama/llama_config.h"
#include "env/clock.h"
#include "env/escaped_text.h"
#include "env/log.h"
#include "tier/cache_folder.h"

namespace holdfast::cli {

namespace {

ModelFacts facts_of(const CheckedModel& checked) {
  const llama::LoadedModel& model = checked.model;
  const engine::ModelCard& card = model.text->card();
  ModelFacts facts;
  facts.path = card.path;
  facts.name = card.name;
  facts.architecture = card.architecture;
  facts.type = card.file_type;
  facts.parameters = card.parameters;
  facts.size = static_cast<ByteCount>(card.size_bytes);
  facts.digest = checked.digest;
  facts.slots = model.engine->slot_count();
  facts.context = model.engine->context_tokens();
  facts.trained = card.context_train;
  facts.shape = model.engine->shape();
  facts.slot_bytes = (facts.shape.bytes_per_token() * static_cast<ByteCount>(facts.context) +
                      facts.shape.bytes_per_snapshot()) *
                     static_cast<ByteCount>(facts.slots);
  facts.free_after = free_memory().value_or(0);
  facts.on_gpu = model.on_gpu;
  if (model.companion != nullptr) facts.companion = model.companion->name();
  facts.load_seconds = checked.load_seconds;
  return facts;
}

// What the whole check found is what the server would: it begins there.
void remember(const ServeOptions& options, const CheckedModel& checked) {
  if (!checked.key.empty()) CheckMemory(options.reuse.dir).remember(checked.key, checked.record);
}

// What of the folder this engine could use, with the model and these options.
std::optional<UsableStates> states_for(const ServeOptions& options, const CheckedModel& checked) {
  if (options.reuse.dir.empty() || options.reuse.dir == "off") return std::nullopt;
  if (checked.digest.empty()) return std::nullopt;  // nothing would be written or restored
  tier::DiskOptions disk;
  disk.role = tier::StoreRole::kReader;
  const auto folder =
      tier::CacheFolder::open(options.reuse.dir, std::move(disk), env::SteadyClock().unix_ms());
  if (!folder) return std::nullopt;
  const engine::ModelCard& card = checked.model.text->card();
  const bool stretched = checked.model.engine->context_tokens() > card.context_original;
  const cache::Fingerprint facts =
      fingerprint_of(options, {checked.digest, checked.standing.setting,
                               grid_step(options, checked.model.on_gpu), stretched});
  const cache::FolderSurvey survey =
      cache::survey_folder((*folder)->inventory().space_totals(), (*folder)->space_notes(),
                           {card.name, facts.describe(), false});
  UsableStates states;
  states.usable = states.all = survey.usable;
  for (const cache::FolderSurvey::Rest& rest : survey.rest) {
    states.all += rest.bytes;
    states.others.push_back(human_bytes(rest.bytes) + " " + rest.what);
  }
  return states;
}

void examine_model(const ServeOptions& options, DoctorReport& report) {
  const CheckMemory memory(options.reuse.dir);
  auto checked = load_checked_model(options, CheckExtent::kWhole, memory, nullptr);
  if (!checked) {
    report.problems.push_back(checked.error().message);
    return;
  }
  remember(options, *checked);
  report.model = facts_of(*checked);
  report.standing = checked->standing;
  report.check = checked->report;
  report.states = states_for(options, *checked);
  if (!checked->standing.given_up.empty()) {
    report.problems.push_back("As it is, this engine answers wrongly here (" +
                              checked->standing.fault + "). The server runs " +
                              checked->standing.given_up + ", which passes.");
  }
}

void look_for_problems(const ServeOptions& options, DoctorReport& report) {
  if (!report.disk.trouble.empty()) {
    report.problems.push_back("States will not survive a restart: " + report.disk.trouble + " (" +
                              report.disk.folder + "). Choose another folder with --cache-dir.");
  }
  if (!report.model) return;
  const ModelFacts& model = *report.model;
  if (options.context.size == 0 && model.context < model.trained) {
    report.problems.push_back(
        "A slot holds " + std::to_string(model.context) + " of the " +
        std::to_string(model.trained) +
        " tokens that the model was trained for. Fewer slots (-np), a smaller type of the KV cache "
        "(-ctk q8_0 -ctv q8_0) or more memory make room for more.");
  }
}

int complain(const std::string& sentence) {
  std::fprintf(stderr, "holdfast doctor: %s\n", env::escaped_line(sentence).c_str());
  return kExitUsage;
}

bool take_flag(std::vector<std::string>& args, std::string_view name) {
  return std::erase(args, name) > 0;
}

}  // namespace

CommandSyntax doctor_syntax(DoctorFlags& o) {
  return {
      .command = "holdfast doctor",
      .intro =
          "holdfast doctor - look at the machine, the engine, the disk and the states on it, and "
          "check every kind of batch that the server would form with this model and these "
          "options. What it finds is remembered for the server.",
      .body =
          "Examples:\n"
          "  holdfast doctor                       this machine, with the small model that comes "
          "along\n"
          "  holdfast doctor -m my.gguf -c 32k     your model, with the options that will serve "
          "it\n"
          "  holdfast doctor -m my.gguf --json     the same for a bug report or a program\n",
      .groups = {{"Options",
                  {{"--json", "", option_kinds::flag(o.json), "The answer for programs."},
                   option_kinds::help_option(o.show_help)}}},
      .closing =
          "All other options are those of `holdfast serve`. Leaves with 1 where something is "
          "wrong.",
      .options_of = "serve"};
}

std::string doctor_help(int width) {
  DoctorFlags flags;
  return command_help(doctor_syntax(flags), width);
}

int doctor_main(std::vector<std::string> args, const Environment& env) {
  const bool json = take_flag(args, "--json");
  auto parsed = parse_serve_options(args, env);
  if (!parsed) return complain(parsed.error().message + " Try 'holdfast doctor --help'.");
  ServeOptions& options = parsed->options;
  if (options.show_help) {
    std::fputs(doctor_help().c_str(), stdout);
    return 0;
  }
  if (options.reuse.dir.empty()) options.reuse.dir = default_cache_dir(env);
  (void)env::Log::configure(
      {.level = env::LogLevel::kWarn, .format = env::LogFormat::kText, .file = ""});
  llama::set_llama_log([](int, const std::string&) {});

  DoctorReport report;
  report.program = build_name();
  report.machine = machine_facts();
  report.disk = disk_facts(options.reuse.dir);
  examine_model(options, report);
  report.engine = llama::llama_library_info();
  report.engine_folder = llama::engine_folder();
  report.variants = llama::cpu_variants();
  report.variant = llama::cpu_variant_in_use();
  report.devices = llama::engine_devices();
  look_for_problems(options, report);
  std::fputs((json ? doctor_json(report) : doctor_text(report)).c_str(), stdout);
  return report.problems.empty() ? 0 : 1;
}

}  // namespace holdfast::cli
