// What `holdfast cache verify` and `import` report.
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/cache_view.h"
#include "state/parts.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

}  // namespace

std::string verify_text(const tier::VerifyReport& report, bool read_only) {
  std::string text =
      "Read " + counted(report.checked, "blob") + ", " + human_bytes(report.checked_bytes) + ".\n";
  for (const tier::VerifyReport::Failure& failure : report.failures)
    text +=
        "  " + failure.key.hex().substr(0, kShortHex) + "  " + one_line(failure.why, 100) + "\n";
  const auto add = [&](std::uint64_t count, const std::string& noun, const std::string& rest) {
    if (count > 0) text += counted(count, noun) + " " + rest + "\n";
  };
  add(report.damaged, "damaged blob",
      read_only ? "left in place, because another process has the folder."
                : "moved to quarantine; `holdfast cache gc` removes what is there.");
  add(report.unreadable, "blob", "could not be read.");
  add(report.unknown, "blob", read_only ? "not in the index." : "added to the index.");
  add(report.missing, "entry", "of the index without a blob.");
  add(report.strangers, "file", "that is no blob, left alone.");
  if (report.damaged == 0 && report.unreadable == 0) text += "Everything is intact.\n";
  return text;
}

std::string verify_json(const tier::VerifyReport& report) {
  Json failures = Json::array();
  for (const tier::VerifyReport::Failure& failure : report.failures)
    failures.push_back({{"key", failure.key.hex()}, {"why", failure.why}});
  return json_text({{"checked", report.checked},
                    {"checked_bytes", report.checked_bytes},
                    {"damaged", report.damaged},
                    {"unreadable", report.unreadable},
                    {"unknown", report.unknown},
                    {"missing", report.missing},
                    {"strangers", report.strangers},
                    {"failures", std::move(failures)}});
}

std::string import_text(const tier::ImportReport& report) {
  const std::uint64_t here = report.stored + report.present;
  // A file that was cut off does not say how many it had.
  const bool ends_early = !report.announced && !report.ended.empty();
  std::string text =
      "Imported " + number_text(here) + (ends_early ? " of at least " : " of ") +
      counted(report.announced.value_or(report.read + (ends_early ? 1 : 0)), "blob") + ", " +
      human_bytes(report.stored_bytes) + " of it new.\n";
  const auto add = [&](std::uint64_t count, const std::string& rest) {
    if (count > 0) text += counted(count, "blob") + " " + rest + "\n";
  };
  add(report.present, "had been there already.");
  add(report.declined, "did not fit; see --to, and what is free on the disk.");
  add(report.refused, "refused: " + one_line(report.why, 100) + ".");
  add(report.failed, "could not be written: " + one_line(report.why, 100) + ".");
  if (!report.ended.empty())
    text += "The file could not be read to its end: " + one_line(report.ended, 100) +
            ". What came before is imported; get a whole copy for the rest.\n";
  return text;
}

std::string import_json(const tier::ImportReport& report) {
  Json json = {{"read", report.read},          {"stored", report.stored},
               {"present", report.present},    {"declined", report.declined},
               {"refused", report.refused},    {"failed", report.failed},
               {"bytes", report.stored_bytes}, {"whole", report.whole()}};
  if (report.announced) json["announced"] = *report.announced;
  if (!report.why.empty()) json["why"] = report.why;
  if (!report.ended.empty()) json["ended"] = report.ended;
  return json_text(json);
}

}  // namespace holdfast::cli
