#include "cli/exact_view.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/chat_view.h"
#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kFailuresShown = 3;
constexpr std::size_t kDifferingShown = 5;

std::string padded(const std::string& text, std::size_t width, bool left = false) {
  const std::string space(width - std::min(width, text.size()), ' ');
  return left ? text + space : space + text;
}

std::string apart(double value) {
  if (value == 0.0) return "0";
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

std::string count(std::uint64_t number) { return with_commas(static_cast<std::int64_t>(number)); }

std::string row(const std::string& name, const ExactSum& sum, bool needles) {
  std::string line = "  " + padded(name, 24, true) + padded(count(sum.requests), 9) +
                     padded(count(sum.prompts), 9) + padded(count(sum.first_tokens), 13) +
                     padded(apart(sum.first_apart), 9) + padded(count(sum.texts), 9);
  if (needles && sum.needles > 0) {
    line +=
        padded(count(sum.found) + ", " + count(sum.found_cold) + " of " + count(sum.needles), 16);
  }
  return line + "\n";
}

std::string table(const std::string& head, const ExactSums& sums, bool needles) {
  const auto line = [&](const char* name, std::initializer_list<const char*> names) {
    const std::size_t widths[] = {9, 9, 13, 9, 9, 16};
    std::string text = "  " + padded(name, 24, true);
    std::size_t i = 0;
    for (const char* one : names) text += padded(one, widths[i++]);
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text =
      line("", {"", "prompt", "1st logprob", "by at", "text", needles ? "needles: here," : ""}) +
      line(head.c_str(),
           {"requests", "differs", "differs", "most", "differs", needles ? "cold" : ""});
  for (const auto& [name, sum] : sums) text += row(name, sum, needles);
  return text;
}

std::string differing_lines(const ExactTotals& totals) {
  std::string text;
  std::size_t shown = 0;
  for (const Json& one : totals.differing) {
    if (!one.value("prompt_differs", false)) continue;
    if (++shown > kDifferingShown) break;
    const Json& running = one["running"];
    text += "  " + one.value("where", "") + ": " + one.value("reuse", "") + ", " +
            std::to_string(running.value("restored_tokens", 0)) + " of " +
            std::to_string(one.value("prompt_tokens", 0)) + " tokens reused; " +
            running.value("prompt_hash", "") + " here, " + one["cold"].value("prompt_hash", "") +
            " cold\n";
  }
  return text;
}

std::string notes(const ExactTotals& totals) {
  std::string text;
  if (totals.other_tokens > 0)
    text += count(totals.other_tokens) +
            " more were read as other tokens by the two servers (an answer as it was sampled, or "
            "tokenised again: --no-token-history), and say nothing about exactness.\n";
  if (totals.cold_reused > 0)
    text += count(totals.cold_reused) +
            " answers of the cold server began with states that it had kept: it was not cold.\n";
  if (totals.failed > 0) text += count(totals.failed) + " requests failed:\n";
  for (std::size_t i = 0; i < std::min(kFailuresShown, totals.failures.size()); ++i)
    text += "  " + harmless(totals.failures[i]) + "\n";
  return text;
}

std::string verdict(const ExactTotals& totals, const ExactRunFacts& facts) {
  if (totals.all.prompts > 0)
    return count(totals.all.prompts) + " of " + count(totals.all.requests) +
           " prompts differ from cold ones.\n" + differing_lines(totals);
  if (totals.all.requests == 0) return "Nothing was compared.\n";
  const std::string all = facts.control ? "prompt read twice by two cold servers" : "prompt";
  return "No " + all + " of " + count(totals.all.requests) + " differs by a bit.\n";
}

Json json_of(const ExactSum& sum) {
  Json json = {{"requests", sum.requests},
               {"prompts_differing", sum.prompts},
               {"first_tokens_differing", sum.first_tokens},
               {"first_logprob_apart_max", sum.first_apart},
               {"logprob_apart_max", sum.apart},
               {"texts_differing", sum.texts}};
  if (sum.needles > 0) {
    json["needles"] = {
        {"hidden", sum.needles}, {"found", sum.found}, {"found_cold", sum.found_cold}};
  }
  return json;
}

Json json_of(const ExactSums& sums) {
  Json json = Json::object();
  for (const auto& [name, sum] : sums) json[name] = json_of(sum);
  return json;
}

}  // namespace

std::string exact_text(const ExactTotals& totals, const ExactRunFacts& facts) {
  const bool needles = totals.all.needles > 0;
  std::string text = facts.what + ", " + std::to_string(facts.clients) +
                     (facts.clients == 1 ? " client" : " clients") + ", pauses of " +
                     fixed(facts.pause_s, 1) + " s, restarts: " + std::to_string(facts.restarts) +
                     "; " + fixed(facts.seconds, 0) + " s\n\n";
  text += table("what was reused", totals.by_reuse, needles) + "\n";
  text += table("what the client did", totals.by_occasion, needles) + "\n";
  text += row("all", totals.all, needles) + "\n";
  if (!facts.complete) text += "It was broken off.\n";
  return text + notes(totals) + verdict(totals, facts);
}

Json exact_json(const ExactTotals& totals, const ExactRunFacts& facts) {
  return {{"what", facts.what},
          {"seed", facts.seed},
          {"clients", facts.clients},
          {"pause_s", facts.pause_s},
          {"restarts", facts.restarts},
          {"control", facts.control},
          {"seconds", facts.seconds},
          {"complete", facts.complete},
          {"all", json_of(totals.all)},
          {"by_reuse", json_of(totals.by_reuse)},
          {"by_occasion", json_of(totals.by_occasion)},
          {"other_tokens", totals.other_tokens},
          {"cold_reused", totals.cold_reused},
          {"failed", totals.failed},
          {"failures", totals.failures},
          {"differing", totals.differing}};
}

int exact_exit_code(const ExactTotals& totals, const ExactRunFacts& facts) {
  if (totals.all.prompts > 0) return 1;
  const bool whole = facts.complete && totals.all.requests > 0 && totals.failed == 0;
  return whole && totals.cold_reused == 0 ? 0 : 2;
}

}  // namespace holdfast::cli
