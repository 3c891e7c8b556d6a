#include "cli/cache_view.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "cache/space_facts.h"
#include "cli/chat_view.h"
#include "cli/text_parts.h"
#include "cli/text_wrap.h"
#include "state/parts.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kShortHex = 12;  // of keys and spaces in tables; ls --json has all
constexpr std::size_t kModelCharacters = 28;
constexpr std::size_t kLineCharacters = 76;

std::string dumped(const Json& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string number(std::uint64_t value) { return with_commas(static_cast<std::int64_t>(value)); }

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string left(std::string text, std::size_t width) {
  const std::size_t size = characters_in(text);
  return text + std::string(width > size ? width - size : 0, ' ');
}
std::string right(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string model_of(const std::optional<tier::SpaceNote>& note) {
  if (!note || note->model.empty()) return "(unknown)";
  return note->model;
}

Json note_json(const std::optional<tier::SpaceNote>& note) {
  if (!note) return nullptr;
  return {{"model", note->model}, {"settings", note->settings}, {"tenant", note->tenant}};
}

// What a note says fact by fact; null where it cannot be read so.
Json facts_json(const std::optional<tier::SpaceNote>& note) {
  const cache::Facts facts = note ? cache::parse_facts(note->settings) : cache::Facts();
  if (facts.empty()) return nullptr;
  Json json = Json::object();
  for (const cache::Fact& fact : facts) json[fact.name] = fact.value;
  return json;
}

// "variant=zen4 grid=512"
std::string facts_text(const cache::Facts& facts) {
  std::vector<std::string> parts;
  for (const cache::Fact& fact : facts) {
    parts.push_back(fact.name + "=" + one_line(fact.value, kLineCharacters));
  }
  return join(parts, " ");
}

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
                                              {Hint::kStep, "step"},
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

}  // namespace

// --- small things -------------------------------------------------------------------------

std::string ago(std::int64_t then_ms, std::int64_t now_ms) {
  if (then_ms < 0) return "at no known time";  // so that nothing overflows below
  const std::int64_t seconds = now_ms > then_ms ? (now_ms - then_ms) / 1000 : 0;
  struct Unit {
    std::int64_t seconds;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits = {
      {{31'557'600, "year"}, {86'400, "day"}, {3600, "hour"}, {60, "minute"}}};
  for (const Unit& unit : kUnits) {
    if (seconds >= unit.seconds)
      return counted(static_cast<std::uint64_t>(seconds / unit.seconds), unit.name) + " ago";
  }
  return "just now";
}

std::string counted(std::uint64_t count, const std::string& noun) {
  return number(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string one_line(std::string_view text, std::size_t characters) {
  std::string line = harmless(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  if (characters_in(line) <= characters) return line;
  std::size_t at = 0;
  for (std::size_t seen = 0; at < line.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(line[at]) & 0xC0U) != 0x80U;
    if (begins && ++seen > characters - 3) break;
  }
  return line.substr(0, at) + "...";
}

// --- ls -----------------------------------------------------------------------------------

CacheListing survey_cache(tier::DiskStore& store, std::string folder) {
  CacheListing listing{.folder = std::move(folder)};
  const auto notes = store.space_notes();
  std::map<SpaceKey, std::vector<tier::BlobSummary>> by_space;
  for (const tier::BlobSummary& blob : store.list()) by_space[blob.space].push_back(blob);
  for (const auto& [space, blobs] : by_space) {
    SpaceRow row{.space = space, .blobs = blobs.size(), .used_ms = INT64_MIN};
    if (const auto note = notes.find(space); note != notes.end()) row.note = note->second;
    for (const tier::BlobSummary& blob : blobs) {
      row.bytes += blob.bytes;
      row.used_ms = std::max(row.used_ms, blob.used_ms);
    }
    row.paths = tier::count_paths(store.paths_of(blobs));
    listing.spaces.push_back(std::move(row));
  }
  std::ranges::stable_sort(listing.spaces, std::greater{}, &SpaceRow::used_ms);
  listing.quarantine_files = store.stats().quarantine_files;
  listing.quarantine_bytes = store.stats().quarantine_bytes;
  return listing;
}

namespace {

// Under each row: what tells it from the other spaces of its model; of a model's only space, all.
std::vector<std::string> settings_lines(const std::vector<SpaceRow>& rows) {
  std::map<std::string, std::vector<std::size_t>> by_model;
  std::vector<std::string> lines(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].note) continue;
    lines[i] = one_line(rows[i].note->settings, kLineCharacters);
    by_model[rows[i].note->model].push_back(i);
  }
  for (const auto& [model, alike] : by_model) {
    std::vector<cache::Facts> lists;
    for (const std::size_t i : alike) lists.push_back(cache::parse_facts(rows[i].note->settings));
    const bool parsed = std::ranges::none_of(lists, &cache::Facts::empty);
    if (alike.size() < 2 || !parsed) continue;
    const std::vector<cache::Facts> apart = cache::telling_apart(lists);
    for (std::size_t n = 0; n < alike.size(); ++n) lines[alike[n]] = facts_text(apart[n]);
  }
  return lines;
}

}  // namespace

std::string listing_text(const CacheListing& listing, std::int64_t now_ms) {
  std::string text = one_line(listing.folder, 4096) + "\n\n";
  std::uint64_t blobs = 0;
  ByteCount bytes = 0;
  if (!listing.spaces.empty())
    text += "SPACE         " + left("MODEL", kModelCharacters) +
            "  PATHS     TOKENS      SIZE  LAST USED\n";
  const std::vector<std::string> lines = settings_lines(listing.spaces);
  for (std::size_t i = 0; i < listing.spaces.size(); ++i) {
    const SpaceRow& row = listing.spaces[i];
    blobs += row.blobs;
    bytes += row.bytes;
    text += tier::hex_of(row.space).substr(0, kShortHex) + "  " +
            left(one_line(model_of(row.note), kModelCharacters), kModelCharacters) +
            right(number(row.paths.paths), 7) + right(number(row.paths.tokens), 11) + "  " +
            right(human_bytes(row.bytes), 8) + "  " + ago(row.used_ms, now_ms) + "\n";
    std::string settings = lines[i];
    if (row.note && row.note->tenant) settings += settings.empty() ? "a tenant's" : ", a tenant's";
    if (!settings.empty()) text += wrap_text(settings, kLineCharacters + 2, 2);
  }
  if (!listing.spaces.empty()) text += "\n";
  text += blobs == 0 ? "Nothing is kept here yet.\n"
                     : counted(listing.spaces.size(), "space") + ", " + counted(blobs, "blob") +
                           ", " + human_bytes(bytes) + ".\n";
  if (listing.quarantine_bytes > 0)
    text += "In quarantine: " + counted(listing.quarantine_files, "damaged blob") + ", " +
            human_bytes(listing.quarantine_bytes) + "; `holdfast cache gc` removes them.\n";
  return text;
}

std::string listing_json(const CacheListing& listing) {
  Json spaces = Json::array();
  ByteCount bytes = 0;
  std::uint64_t blobs = 0;
  for (const SpaceRow& row : listing.spaces) {
    bytes += row.bytes;
    blobs += row.blobs;
    spaces.push_back({{"space", tier::hex_of(row.space)},
                      {"note", note_json(row.note)},
                      {"facts", facts_json(row.note)},
                      {"blobs", row.blobs},
                      {"bytes", row.bytes},
                      {"paths", row.paths.paths},
                      {"tokens", row.paths.tokens},
                      {"deepest", row.paths.deepest},
                      {"used_ms", row.used_ms}});
  }
  return dumped(
      {{"folder", listing.folder},
       {"spaces", std::move(spaces)},
       {"blobs", blobs},
       {"bytes", bytes},
       {"quarantine", {{"files", listing.quarantine_files}, {"bytes", listing.quarantine_bytes}}}});
}

// --- show ---------------------------------------------------------------------------------

namespace {

void count_block(const ExtentBlock& block, BlobDetails& details) {
  ++details.blocks;
  details.rows_bytes += block.bytes().size();
  details.companion_bytes += block.companion().bytes.size();
}

void count_place(const tier::PlaceBlob& place, BlobDetails& details) {
  details.logits_bytes = place.logits.bytes.size();
  if (place.snapshot == nullptr) return;
  for (const ExtentBlockPtr& block : place.snapshot->window()) count_block(*block, details);
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
  const bool rows = details.facts.kind == tier::BlobKind::kRows;
  add((rows ? "rows in " : "window in ") + counted(details.blocks, "block") + ",",
      details.rows_bytes);
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
      {"size", human_bytes(facts.bytes) + " (" + number(facts.bytes) + " bytes)"},
      {"parts", parts_text(details)},
      {"saves", counted(facts.saves, "token") + " of reading again"},
      {"created", ago(facts.created_ms, now_ms)},
      {"used", details.used_ms ? ago(*details.used_ms, now_ms) : ""},
      {"checks", details.damage.empty() ? "every part's checksum and the digests are right"
                                        : "DAMAGED: " + one_line(details.damage, 200)}};
  std::string text;
  for (const auto& [name, value] : lines) {
    if (!value.empty()) text += left(name, 10) + value + "\n";
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
  return dumped(json);
}

// --- verify, import -----------------------------------------------------------------------

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
  return dumped({{"checked", report.checked},
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
  const bool cut = !report.announced && !report.ended.empty();
  std::string text = "Imported " + number(here) + (cut ? " of at least " : " of ") +
                     counted(report.announced.value_or(report.read + (cut ? 1 : 0)), "blob") +
                     ", " + human_bytes(report.stored_bytes) + " of it new.\n";
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
  return dumped(json);
}

}  // namespace holdfast::cli
