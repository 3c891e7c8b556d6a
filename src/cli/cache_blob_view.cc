// What `holdfast cache show` shows.
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "cli/cache_view.h"
#include "cli/text_parts.h"
#include "state/parts.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

struct MarkName {
  Hint mark;
  const char* name;
};
constexpr std::array<MarkName, 10> kMarks = {{{Hint::kTip, "tip"},
                                              {Hint::kInterior, "interior"},
                                              {Hint::kJunction, "junction"},
                                              {Hint::kSystemEnd, "end of the system message"},
                                              {Hint::kPromptEnd, "end of a prompt"},
                                              {Hint::kMessageEnd, "end of a message"},
                                              {Hint::kGridStep, "step"},
                                              {Hint::kOffGrid, "off the grid"},
                                              {Hint::kToolCall, "tool call"},
                                              {Hint::kAnswerStart, "answer start"}}};

std::vector<std::string> names_of(Hints marks) {
  std::vector<std::string> names;
  for (const MarkName& known : kMarks) {
    if (marks.has(known.mark)) names.emplace_back(known.name);
  }
  return names;
}

void count_block(const ExtentBlock& block, BlobDetails& details) {
  ++details.blocks;
  details.rows_bytes += block.bytes().size();
  details.companion_bytes += block.companion().bytes.size();
}

void count_place(const tier::PlaceBlob& place, BlobDetails& details) {
  details.logits_bytes = place.logits.bytes.size();
  if (place.snapshot == nullptr) return;
  details.snapshot_bytes = place.snapshot->bytes().size();
  details.companion_bytes += place.snapshot->companion().bytes.size();
}

std::string range_text(const tier::BlobFacts& facts) {
  const TokenRange range = facts.path.range;
  if (facts.kind == tier::BlobKind::kPlace)
    return "place at " + with_commas(range.end) + ", with the tokens from " +
           with_commas(facts.path.first()) + " on";
  return "rows of the tokens " + with_commas(range.begin) + " to " + with_commas(range.end);
}

std::string parts_text(const BlobDetails& details) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& name, ByteCount bytes) {
    if (bytes > 0) parts.push_back(name + " " + human_bytes(bytes));
  };
  add("rows in " + counted(details.blocks, "block") + ",", details.rows_bytes);
  add("snapshot", details.snapshot_bytes);
  add("companion", details.companion_bytes);
  add("logits", details.logits_bytes);
  return join(parts, "; ");
}

}  // namespace

BlobDetails details_of(const tier::Blob& blob) {
  BlobDetails details{.facts = blob.facts};
  if (const auto* rows = std::get_if<tier::RowsBlob>(&blob.content)) {
    for (const BlockUse& use : rows->rows) count_block(*use.block, details);
  } else {
    count_place(std::get<tier::PlaceBlob>(blob.content), details);
  }
  return details;
}

std::string details_text(const BlobDetails& details, std::int64_t now_ms) {
  const tier::BlobFacts& facts = details.facts;
  const std::string settings = details.note ? details.note->settings : "";
  std::vector<std::pair<std::string, std::string>> lines = {
      {"key", facts.key.hex()},
      {"state", range_text(facts)},
      {"model", one_line(model_of(details.note), kLineCharacters)},
      {"settings", one_line(settings, 2 * kLineCharacters)},
      {"space", tier::hex_of(facts.path.space)},
      {"marks", join(names_of(facts.marks), ", ")},
      {"size", human_bytes(facts.bytes) + " (" + number_text(facts.bytes) + " bytes)"},
      {"parts", parts_text(details)},
      {"saves", counted(facts.saves, "token") + " of reading again"},
      {"created", ago(facts.created_ms, now_ms)},
      {"used", details.used_ms ? ago(*details.used_ms, now_ms) : ""},
      {"checks", details.damage.empty() ? "every part's checksum and the digests are right"
                                        : "DAMAGED: " + one_line(details.damage, 200)}};
  std::string text;
  for (const auto& [name, value] : lines) {
    if (!value.empty()) text += padded(name, 10) + value + "\n";
  }
  return text;
}

std::string details_json(const BlobDetails& details) {
  const tier::BlobFacts& facts = details.facts;
  const bool intact = details.damage.empty();
  Json json = {{"key", facts.key.hex()},
               {"kind", facts.kind == tier::BlobKind::kRows ? "rows" : "place"},
               {"space", tier::hex_of(facts.path.space)},
               {"note", note_json(details.note)},
               {"first", facts.path.first()},
               {"begin", facts.path.range.begin},
               {"end", facts.path.range.end},
               {"tokens", facts.path.tokens},
               {"marks", names_of(facts.marks)},
               {"bytes", facts.bytes},
               {"saves", facts.saves},
               {"created_ms", facts.created_ms},
               {"companion", facts.companion},
               {"logits", facts.logits},
               {"intact", intact}};
  if (details.used_ms) json["used_ms"] = *details.used_ms;
  if (!intact) json["damage"] = details.damage;
  if (intact)
    json["parts"] = {{"blocks", details.blocks},
                     {"rows_bytes", details.rows_bytes},
                     {"snapshot_bytes", details.snapshot_bytes},
                     {"companion_bytes", details.companion_bytes},
                     {"logits_bytes", details.logits_bytes}};
  return json_text(json);
}

}  // namespace holdfast::cli
