// The doctor's page: as text for people and as JSON for programs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/cache_text.h"
#include "cli/chat_view.h"
#include "cli/doctor.h"
#include "cli/text_parts.h"

namespace holdfast::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLabel = 14;
constexpr int kWidth = 100;
// Of one value. A model's file names itself, and may say anything.
constexpr std::size_t kCharactersMax = 4096;

std::string section(const std::string& title) { return "\n" + title + "\n"; }

std::string line(const std::string& label, const std::string& value) {
  if (value.empty()) return "";
  const std::size_t indent = 2 + kLabel;
  std::string text = wrap_text(one_line(value, kCharactersMax), kWidth, static_cast<int>(indent));
  const std::string left = "  " + label + std::string(kLabel - std::min(kLabel, label.size()), ' ');
  return left + text.substr(std::min(indent, text.size()));
}

std::string decimal(double value, const char* format = "%.2f") {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string machine_text(const DoctorReport& report) {
  const MachineFacts& machine = report.machine;
  return section("Machine") + line("system", machine.system) +
         line("processor", machine.processor + ", " + std::to_string(machine.cores) + " cores") +
         line("usable", machine.usable_cores) +
         line("memory", human_bytes(machine.memory) + ", " + human_bytes(machine.memory_free) +
                            " of it free");
}

std::string engine_text(const DoctorReport& report) {
  std::vector<std::string> run;
  std::vector<std::string> cannot;
  std::string distrusted;
  for (const llama::CpuVariant& variant : report.variants) {
    if (!variant.distrust.empty()) {
      distrusted +=
          line("not trusted", variant.name + (variant.runs() ? "" : " (does not run here)") + ": " +
                                  variant.distrust);
    } else if (variant.runs() && variant.name != report.variant) {
      run.push_back(variant.name);
    } else if (!variant.runs()) {
      cannot.push_back(variant.name);
    }
  }
  std::string text = section("Engine") + line("library", report.engine) +
                     line("folder", report.engine_folder) + line("CPU variant", report.variant) +
                     line("others", join(run, ", ")) + distrusted +
                     line("do not run", join(cannot, ", "));
  for (const llama::EngineDevice& device : report.devices) {
    std::string words = device.name + ", " + device.description;
    if (device.total_bytes > 0) {
      words += ", " + human_bytes(device.free_bytes) + " of " + human_bytes(device.total_bytes) +
               " free";
    }
    text += line(device.kind == "cpu" ? "processor" : "device", words);
  }
  return text;
}

std::string model_text(const ModelFacts& model) {
  const std::string fits = "with all slots full " + human_bytes(model.slot_bytes) + ", and " +
                           human_bytes(model.free_after) + " of memory are free beside it";
  return section("Model") + line("file", model.path) +
         line("model", model.name + ", " + model.architecture + ", " +
                           std::to_string(model.parameters / 1000000) + "M parameters, " +
                           model.type + ", " + human_bytes(model.size)) +
         line("digest", model.digest) + line("state", model.shape.describe()) +
         line("slots", std::to_string(model.slots) + " of " + with_commas(model.context) +
                           " tokens (trained for " + with_commas(model.trained) + "): " + fits) +
         line("computed on", model.on_gpu ? "a GPU" : "the processor") +
         line("drafts", model.companion.empty() ? "none" : model.companion);
}

std::string check_text(const DoctorReport& report) {
  const engine::ConformanceReport& check = report.check;
  const engine::EngineStanding& standing = *report.standing;
  std::string text = section("Check");
  text += line("result",
               engine::standing_in_words(standing).substr(std::string("engine check: ").size()));
  text += line("cost", decimal(check.ms / 1000.0) + " s; loading took " +
                           decimal(report.model->load_seconds) + " s");
  text += line("rounding", decimal(check.rounding, "%.2g") +
                               " of a row of logits; a missing token makes " +
                               decimal(check.effect, "%.2g") + "; the same batch gives " +
                               (check.repeats ? "the same bits" : "other bits each time"));
  for (const engine::CheckedKind& kind : check.kinds) {
    if (kind.verdict == engine::CheckVerdict::kFailed)
      text += line("failed", kind.name + ": " + kind.finding);
  }
  return text;
}

std::string disk_text(const DiskFacts& disk) {
  if (disk.folder.empty())
    return section("Disk") + line("folder", "off: states end with the server");
  std::string speed;
  if (disk.write_mb_s > 0.0) {
    speed = "writes " + decimal(disk.write_mb_s, "%.0f") + " MB/s, reads " +
            decimal(disk.read_mb_s, "%.0f") + " MB/s (64 MiB, once)";
  }
  return section("Disk") + line("folder", disk.folder) + line("free", human_bytes(disk.free)) +
         line("speed", speed) + line("trouble", disk.trouble);
}

std::string states_text(const UsableStates& states) {
  std::string text = section("States on disk") +
                     line("usable", human_bytes(states.usable) + " of " + human_bytes(states.all) +
                                        " with this engine and these options");
  for (const std::string& other : states.others) text += line("not usable", other);
  return text;
}

std::string verdict_text(const DoctorReport& report) {
  if (report.problems.empty()) return "\nNothing is wrong.\n";
  std::string text = section("Problems");
  for (const std::string& problem : report.problems)
    text += wrap_text("- " + one_line(problem, kCharactersMax), kWidth, 2);
  return text;
}

// --- JSON -------------------------------------------------------------------------

Json variants_json(const DoctorReport& report) {
  Json all = Json::array();
  for (const llama::CpuVariant& variant : report.variants) {
    all.push_back(
        {{"name", variant.name},
         {"runs", variant.runs()},
         {"score", variant.score},
         {"in_use", variant.name == report.variant},
         {"distrust", variant.distrust.empty() ? Json(nullptr) : Json(variant.distrust)}});
  }
  return all;
}

Json devices_json(const DoctorReport& report) {
  Json all = Json::array();
  for (const llama::EngineDevice& device : report.devices) {
    all.push_back({{"name", device.name},
                   {"description", device.description},
                   {"kind", device.kind},
                   {"free_bytes", device.free_bytes},
                   {"total_bytes", device.total_bytes}});
  }
  return all;
}

Json model_json(const ModelFacts& model) {
  return {{"path", model.path},
          {"name", model.name},
          {"architecture", model.architecture},
          {"type", model.type},
          {"parameters", model.parameters},
          {"bytes", model.size},
          {"digest", model.digest},
          {"slots", model.slots},
          {"context", model.context},
          {"context_trained", model.trained},
          {"state", model.shape.describe()},
          {"bytes_per_token", model.shape.bytes_per_token()},
          {"bytes_per_snapshot", model.shape.bytes_per_snapshot()},
          {"slot_bytes", model.slot_bytes},
          {"memory_free_after", model.free_after},
          {"on_gpu", model.on_gpu},
          {"drafts", model.companion.empty() ? Json(nullptr) : Json(model.companion)},
          {"load_seconds", model.load_seconds}};
}

// JSON has no infinity.
Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json check_json(const DoctorReport& report) {
  const engine::EngineStanding& standing = *report.standing;
  Json kinds = Json::array();
  for (const engine::CheckedKind& kind : report.check.kinds) {
    kinds.push_back({{"name", kind.name},
                     {"verdict", engine::check_verdict_name(kind.verdict)},
                     {"distance", number_json(kind.distance)},
                     {"allowed", number_json(kind.allowed)},
                     {"finding", kind.finding.empty() ? Json(nullptr) : Json(kind.finding)}});
  }
  return {{"result", standing.check},
          {"given_up", standing.given_up.empty() ? Json(nullptr) : Json(standing.given_up)},
          {"fault", standing.fault.empty() ? Json(nullptr) : Json(standing.fault)},
          {"cpu_variant", standing.setting.cpu_variant},
          {"extra_buffers", standing.setting.extra_buffers},
          {"slots_together", standing.setting.together},
          {"drafts", standing.setting.drafts},
          {"seconds", report.check.ms / 1000.0},
          {"rounding", number_json(report.check.rounding)},
          {"effect", number_json(report.check.effect)},
          {"repeats", report.check.repeats},
          {"kinds", std::move(kinds)}};
}

Json disk_json(const DiskFacts& disk) {
  if (disk.folder.empty()) return nullptr;
  return {{"folder", disk.folder},
          {"free_bytes", disk.free},
          {"write_mb_s", disk.write_mb_s},
          {"read_mb_s", disk.read_mb_s},
          {"trouble", disk.trouble.empty() ? Json(nullptr) : Json(disk.trouble)}};
}

}  // namespace

std::string doctor_text(const DoctorReport& report) {
  std::string text = report.program + "\n" + machine_text(report) + engine_text(report);
  if (report.model) text += model_text(*report.model);
  if (report.standing && report.model) text += check_text(report);
  text += disk_text(report.disk);
  if (report.states) text += states_text(*report.states);
  return text + verdict_text(report);
}

std::string doctor_json(const DoctorReport& report) {
  Json json = {{"program", report.program},
               {"machine",
                {{"system", report.machine.system},
                 {"processor", report.machine.processor},
                 {"cores", report.machine.cores},
                 {"usable_cores", report.machine.usable_cores},
                 {"memory_bytes", report.machine.memory},
                 {"memory_free_bytes", report.machine.memory_free}}},
               {"engine",
                {{"library", report.engine},
                 {"folder", report.engine_folder},
                 {"cpu_variants", variants_json(report)},
                 {"devices", devices_json(report)}}},
               {"model", report.model ? model_json(*report.model) : Json(nullptr)},
               {"check", report.standing ? check_json(report) : Json(nullptr)},
               {"disk", disk_json(report.disk)}};
  if (report.states) {
    json["states"] = {{"usable_bytes", report.states->usable},
                      {"bytes", report.states->all},
                      {"others", report.states->others}};
  }
  json["problems"] = report.problems;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::cli
