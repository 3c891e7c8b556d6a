// What `holdfast cache ls` shows.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cache/space_facts.h"
#include "cli/cache_view.h"
#include "cli/text_parts.h"
#include "cli/text_wrap.h"
#include "state/parts.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kModelCharacters = 28;

std::string right(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
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

CacheListing survey_cache(tier::DiskStore& store, std::string folder) {
  CacheListing listing{.folder = std::move(folder)};
  const auto notes = store.space_notes();
  std::map<SpaceKey, std::vector<tier::BlobSummary>> by_space;
  for (const tier::BlobSummary& blob : store.inventory().blobs())
    by_space[blob.space].push_back(blob);
  for (const auto& [space, blobs] : by_space) {
    SpaceRow row{.space = space, .blobs = blobs.size(), .used_ms = INT64_MIN};
    if (const auto note = notes.find(space); note != notes.end()) row.note = note->second;
    for (const tier::BlobSummary& blob : blobs) {
      row.bytes += blob.bytes;
      row.used_ms = std::max(row.used_ms, blob.used_ms);
    }
    row.paths = tier::count_paths(store.inventory().paths_of(blobs));
    listing.spaces.push_back(std::move(row));
  }
  std::ranges::stable_sort(listing.spaces, std::greater{}, &SpaceRow::used_ms);
  listing.quarantine_files = store.stats().quarantine_files;
  listing.quarantine_bytes = store.stats().quarantine_bytes;
  return listing;
}

std::string listing_text(const CacheListing& listing, std::int64_t now_ms) {
  std::string text = one_line(listing.folder, 4096) + "\n\n";
  std::uint64_t blobs = 0;
  ByteCount bytes = 0;
  if (!listing.spaces.empty())
    text += "SPACE         " + padded("MODEL", kModelCharacters) +
            "  PATHS     TOKENS      SIZE  LAST USED\n";
  const std::vector<std::string> lines = settings_lines(listing.spaces);
  for (std::size_t i = 0; i < listing.spaces.size(); ++i) {
    const SpaceRow& row = listing.spaces[i];
    blobs += row.blobs;
    bytes += row.bytes;
    text += tier::hex_of(row.space).substr(0, kShortHex) + "  " +
            padded(one_line(model_of(row.note), kModelCharacters), kModelCharacters) +
            right(number_text(row.paths.paths), 7) + right(number_text(row.paths.tokens), 11) +
            "  " + right(human_bytes(row.bytes), 8) + "  " + ago(row.used_ms, now_ms) + "\n";
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
  return json_text(
      {{"folder", listing.folder},
       {"spaces", std::move(spaces)},
       {"blobs", blobs},
       {"bytes", bytes},
       {"quarantine", {{"files", listing.quarantine_files}, {"bytes", listing.quarantine_bytes}}}});
}

}  // namespace holdfast::cli
