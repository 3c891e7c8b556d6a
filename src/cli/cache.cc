#include "cli/cache.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/cache_view.h"
#include "cli/text_parts.h"
#include "env/log.h"
#include "tier/answer_log.h"
#include "tier/blob_transfer.h"
#include "tier/cache_folder.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr int kExitFailed = 1;
constexpr ByteCount kUnlimited = std::numeric_limits<std::int64_t>::max();
// An import leaves this much of the volume: a full disk hurts more than a cold start.
constexpr ByteCount kFreeMin = ByteCount{1} << 30;

Error failure(ErrorCode code, std::string sentence) { return {code, std::move(sentence), {}}; }

// --- opening ------------------------------------------------------------------------------

enum class Access {
  kLook,    // never the writer
  kTidy,    // the writer if nobody else is
  kChange,  // the writer, or not at all
  kFill,    // the same, and the folder is made where it is missing
};

Error no_cache(const std::string& folder) {
  return failure(ErrorCode::kNotFound,
                 "There is no cache in " + folder +
                     ". `holdfast serve` makes one when it runs; say where yours is with "
                     "--cache-dir.");
}

Error not_ours_to_change(const std::string& folder) {
  if (::access(folder.c_str(), W_OK) != 0)
    return failure(ErrorCode::kIo, "You may not write to " + folder +
                                       ", so it can be listed and exported only. Run this as its "
                                       "owner.");
  return failure(ErrorCode::kUnavailable,
                 "The cache in " + folder +
                     " is in use by a running server, and only that may change it. Stop the "
                     "server and try again; DELETE /cache empties it while it runs.");
}

Result<tier::CacheFolder> open_cache(const CacheCommandOptions& options,
                                     const CacheCommandWorld& world, Access access) {
  const std::string& folder = options.folder;
  std::error_code ignored;
  const bool there = fs::exists(fs::path(folder) / "FORMAT", ignored);
  const bool empty = !fs::exists(folder, ignored) || fs::is_empty(folder, ignored);
  if (!there && empty && access != Access::kFill) return no_cache(folder);
  tier::DiskOptions disk;
  disk.budget = access == Access::kFill && options.to ? *options.to : kUnlimited;
  disk.free_min = kFreeMin;
  disk.role = access == Access::kLook ? tier::StoreRole::kReader : tier::StoreRole::kWriter;
  auto opened = tier::CacheFolder::open(folder, std::move(disk), world.now_ms);
  if (!opened) {
    if (opened.error().code == ErrorCode::kNotFound) return no_cache(folder);
    return failure(opened.error().code, "The cache cannot be opened: " + opened.error().message +
                                            ". Say where yours is with --cache-dir.");
  }
  const bool changes = access == Access::kChange || access == Access::kFill;
  if (changes && (*opened)->role() == tier::StoreRole::kReader) return not_ours_to_change(folder);
  return opened;
}

// --- names --------------------------------------------------------------------------------

template <typename Item, typename HexOf>
Result<Item> only_one(const std::vector<Item>& items, const std::string& front, HexOf hex,
                      const std::string& noun) {
  std::vector<Item> found;
  for (const Item& item : items) {
    if (hex(item).starts_with(front)) found.push_back(item);
  }
  if (found.size() == 1) return found.front();
  const std::string said = one_line(front, 70);
  if (found.empty())
    return failure(ErrorCode::kNotFound, "No " + noun + " begins with \"" + said +
                                             "\"; `holdfast cache ls --json` names them.");
  std::vector<std::string> some;
  for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 3); ++i)
    some.push_back(hex(found[i]).substr(0, std::max<std::size_t>(front.size() + 4, 12)));
  return failure(ErrorCode::kInvalidArgument,
                 std::to_string(found.size()) + " " + noun + "s begin with \"" + said + "\": " +
                     join(some, ", ") + (found.size() > 3 ? ", ..." : "") + ". Give more of it.");
}

Result<tier::BlobSummary> find_blob(const std::vector<tier::BlobSummary>& blobs,
                                    const std::string& front) {
  return only_one(
      blobs, front, [](const tier::BlobSummary& blob) { return blob.key.hex(); }, "blob");
}

Result<SpaceKey> find_space(const std::vector<tier::BlobSummary>& blobs, const std::string& front) {
  std::vector<SpaceKey> spaces;
  for (const tier::BlobSummary& blob : blobs) spaces.push_back(blob.space);
  std::ranges::sort(spaces);
  spaces.erase(std::unique(spaces.begin(), spaces.end()), spaces.end());
  return only_one(
      spaces, front, [](SpaceKey space) { return tier::hex_of(space); }, "space");
}

// --- what only looks ----------------------------------------------------------------------

Result<CacheAnswer> list_cache(const CacheCommandOptions& options, const CacheCommandWorld& world) {
  auto cache = open_cache(options, world, Access::kLook);
  if (!cache) return cache.error();
  const CacheListing listing = survey_cache(**cache, options.folder);
  return CacheAnswer{options.json ? listing_json(listing) : listing_text(listing, world.now_ms)};
}

Result<BlobDetails> examine(tier::DiskStore& store, const tier::BlobKey& key) {
  const auto blob = store.load(key, tier::Verify::kPartsAndDigest);
  if (blob) return details_of(*blob);
  auto facts = store.facts_of(key);  // of a damaged one, what can still be said
  if (!facts || facts->key != key)
    return failure(blob.error().code, "The blob " + key.hex().substr(0, 12) +
                                          " cannot be read: " + blob.error().message +
                                          ". `holdfast cache verify` sets it aside.");
  BlobDetails details{.facts = std::move(*facts)};
  details.damage = blob.error().message;
  return details;
}

Result<CacheAnswer> show_blob(const CacheCommandOptions& options, const CacheCommandWorld& world) {
  auto cache = open_cache(options, world, Access::kLook);
  if (!cache) return cache.error();
  const auto found = find_blob((*cache)->list(), options.keys.front());
  if (!found) return found.error();
  auto details = examine(**cache, found->key);
  if (!details) return details.error();
  details->used_ms = found->used_ms;
  const auto notes = (*cache)->space_notes();
  if (const auto note = notes.find(found->space); note != notes.end()) details->note = note->second;
  return CacheAnswer{options.json ? details_json(*details) : details_text(*details, world.now_ms),
                     details->damage.empty()};
}

double fraction(ByteCount done, ByteCount total) {
  return total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
}

Result<CacheAnswer> verify_cache(const CacheCommandOptions& options,
                                 const CacheCommandWorld& world) {
  auto cache = open_cache(options, world, Access::kTidy);
  if (!cache) return cache.error();
  const bool read_only = (*cache)->role() == tier::StoreRole::kReader;
  if (read_only && options.rebuild) return not_ours_to_change(options.folder);
  // What opening it as the writer has found already counts as well.
  const std::uint64_t before = (*cache)->stats().quarantined;
  env::ProgressLine line(env::Log::logger(), "verifying the cache");
  tier::VerifyReport report = (*cache)->verify(
      [&](ByteCount done, ByteCount total) {
        line.update(fraction(done, total));
        return true;
      },
      options.rebuild ? tier::DiskStore::Rebuild::kYes : tier::DiskStore::Rebuild::kNo);
  line.finish();
  report.damaged += before;
  return CacheAnswer{options.json ? verify_json(report) : verify_text(report, read_only),
                     report.damaged == 0 && report.unreadable == 0};
}

// --- less of it ---------------------------------------------------------------------------

// What went, but for blobs, in bytes.
struct Besides {
  ByteCount quarantine = 0;
  ByteCount answers = 0;
};

CacheAnswer freed_answer(const CacheCommandOptions& options, tier::DiskStore& store,
                         std::uint64_t blobs, ByteCount bytes, Besides besides) {
  const ByteCount all = bytes + besides.quarantine + besides.answers;
  if (options.json) {
    const Json json = {{"removed_blobs", blobs},
                       {"freed_bytes", all},
                       {"freed_quarantine_bytes", besides.quarantine},
                       {"freed_answers_bytes", besides.answers},
                       {"blobs", store.stats().blobs()},
                       {"bytes", store.stats().bytes()}};
    return {json.dump(2) + "\n"};
  }
  std::string text = "Freed " + human_bytes(all) + ": " + counted(blobs, "blob");
  if (besides.quarantine > 0)
    text += ", and " + human_bytes(besides.quarantine) + " of the quarantine";
  if (besides.answers > 0) text += ", and " + human_bytes(besides.answers) + " of answers";
  return {text + ". " + counted(store.stats().blobs(), "blob") + ", " +
          human_bytes(store.stats().bytes()) + " are left.\n"};
}

Result<CacheAnswer> collect(const CacheCommandOptions& options, const CacheCommandWorld& world) {
  auto cache = open_cache(options, world, Access::kChange);
  if (!cache) return cache.error();
  tier::DiskStore& store = **cache;
  const std::uint64_t before = store.stats().blobs();
  const ByteCount quarantine = store.discard_quarantine();
  const ByteCount bytes = options.to ? store.shrink_to(*options.to, world.now_ms) : 0;
  store.tidy_space_notes();
  return freed_answer(options, store, before - store.stats().blobs(), bytes, {quarantine, 0});
}

Result<std::vector<tier::BlobKey>> chosen(const CacheCommandOptions& options,
                                          const std::vector<tier::BlobSummary>& blobs) {
  std::vector<tier::BlobKey> keys;
  if (!options.space.empty()) {
    const auto space = find_space(blobs, options.space);
    if (!space) return space.error();
    for (const tier::BlobSummary& blob : blobs) {
      if (blob.space == *space) keys.push_back(blob.key);
    }
  } else if (options.all) {
    for (const tier::BlobSummary& blob : blobs) keys.push_back(blob.key);
  }
  for (const std::string& front : options.keys) {
    const auto found = find_blob(blobs, front);
    if (!found) return found.error();
    keys.push_back(found->key);
  }
  return keys;
}

Result<void> ask_about_all(const CacheCommandOptions& options, const CacheCommandWorld& world,
                           const tier::StoreStats& stats) {
  if (!options.all || options.yes) return {};
  if (!world.ask)
    return failure(ErrorCode::kInvalidArgument,
                   "`cache rm --all` removes everything; say --yes where nobody can be asked.");
  const bool yes =
      world.ask("Remove all " + counted(stats.blobs(), "blob") + " (" + human_bytes(stats.bytes()) +
                ") and all answers from " + options.folder + "?");
  if (!yes) return failure(ErrorCode::kCancelled, "Nothing was removed.");
  return {};
}

Result<CacheAnswer> remove_blobs(const CacheCommandOptions& options,
                                 const CacheCommandWorld& world) {
  auto cache = open_cache(options, world, Access::kChange);
  if (!cache) return cache.error();
  tier::DiskStore& store = **cache;
  const auto keys = chosen(options, store.list());
  if (!keys) return keys.error();
  if (auto asked = ask_about_all(options, world, store.stats()); !asked) return asked.error();
  const std::uint64_t before = store.stats().blobs();
  // All means all: also what the index does not know, and what answers were made of.
  const ByteCount bytes = options.all ? store.shrink_to(0, world.now_ms) : store.remove(*keys);
  store.tidy_space_notes();
  Besides besides;
  if (options.all) {
    const auto erased = tier::AnswerLog::erase(cache->files());
    if (!erased)
      return failure(ErrorCode::kIo,
                     "Not everything could be removed: " + erased.error().message + ".");
    besides.answers = *erased;
  }
  CacheAnswer answer = freed_answer(options, store, before - store.stats().blobs(), bytes, besides);
  if (store.stats().failed > 0)
    return failure(ErrorCode::kIo, "Not everything could be removed: " +
                                       store.stats().last_failure + ". " + answer.text);
  return answer;
}

// --- elsewhere ----------------------------------------------------------------------------

struct OutsideFile {
  std::unique_ptr<tier::RealFiles> folder;
  std::string name;
};

// The folder that a file outside of the cache lies in, and its name there.
Result<OutsideFile> place_outside(const std::string& file) {
  const fs::path path(file);
  const std::string name = path.filename().string();
  if (name.empty() || name == "." || name == "..")
    return failure(ErrorCode::kInvalidArgument, "\"" + file + "\" is no name of a file.");
  const fs::path parent = path.parent_path();
  auto folder = tier::RealFiles::open(parent.empty() ? "." : parent.string(),
                                      tier::RealFiles::Missing::kFail);
  if (!folder)
    return failure(folder.error().code,
                   "The file " + file + " has no place: " + folder.error().message + ".");
  return OutsideFile{std::move(*folder), name};
}

// Whole under its name, or not there.
Result<tier::ExportReport> write_export(tier::DiskStore& store, const OutsideFile& target,
                                        std::optional<SpaceKey> space) {
  const std::string part = target.name + ".part";
  auto file = tier::uninterrupted([&] { return target.folder->create(part); });
  if (file.error == EEXIST)
    return failure(ErrorCode::kIo, part +
                                       " is there: another export is running, or was broken "
                                       "off. Remove it and try again.");
  if (!file.ok()) return tier::io_error(part + " cannot be made", file.error);
  env::ProgressLine line(env::Log::logger(), "exporting the cache");
  auto report = tier::export_blobs(store, *file.value, space, [&](ByteCount done, ByteCount total) {
    line.update(fraction(done, total));
  });
  int error = 0;
  if (report) error = tier::uninterrupted([&] { return target.folder->rename(part, target.name); });
  if (report && error == 0) {
    static_cast<void>(tier::uninterrupted([&] { return target.folder->sync_folder(""); }));
    line.finish();
    return report;
  }
  line.abandon();
  static_cast<void>(tier::uninterrupted([&] { return target.folder->remove(part); }));
  if (!report)
    return failure(report.error().code,
                   "The export failed: " + report.error().message + ". Nothing was written.");
  return tier::io_error("the export cannot be given its name", error);
}

Result<CacheAnswer> export_cache(const CacheCommandOptions& options,
                                 const CacheCommandWorld& world) {
  auto cache = open_cache(options, world, Access::kLook);
  if (!cache) return cache.error();
  std::optional<SpaceKey> space;
  if (!options.space.empty()) {
    const auto found = find_space((*cache)->list(), options.space);
    if (!found) return found.error();
    space = *found;
  }
  auto target = place_outside(options.file);
  if (!target) return target.error();
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(options.file, ignored)))
    return failure(ErrorCode::kInvalidArgument,
                   options.file + " is there already: remove it, or choose another name.");
  const auto report = write_export(**cache, *target, space);
  if (!report) return report.error();
  const bool sound = report->left_out == 0;
  if (options.json) {
    const Json json = {{"file", options.file},
                       {"blobs", report->written},
                       {"left_out", report->left_out},
                       {"bytes", report->bytes}};
    return CacheAnswer{json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n", sound};
  }
  std::string text = "Exported " + counted(report->written, "blob") + ", " +
                     human_bytes(report->bytes) + ", to " + one_line(options.file, 4096) + ".\n";
  if (!sound)
    text += counted(report->left_out, "blob") + " left out: " + one_line(report->why, 100) +
            ". `holdfast cache verify` says more.\n";
  return CacheAnswer{std::move(text), sound};
}

Result<CacheAnswer> import_file(const CacheCommandOptions& options,
                                const CacheCommandWorld& world) {
  std::error_code error;
  const fs::path real = fs::canonical(options.file, error);
  auto place = place_outside(error ? options.file : real.string());
  if (!place) return place.error();
  auto file = tier::uninterrupted([&] { return place->folder->open(place->name); });
  if (!file.ok())
    return failure(
        ErrorCode::kIo,
        tier::io_error("The file " + options.file + " cannot be opened", file.error).message + ".");
  tier::FileSource source(*file.value);
  if (auto looked = tier::BlobArchiveReader::open(source);
      !looked)  // before a folder is made for it
    return failure(looked.error().code,
                   options.file + " cannot be imported: " + looked.error().message + ".");
  auto cache = open_cache(options, world, Access::kFill);
  if (!cache) return cache.error();
  env::ProgressLine line(env::Log::logger(), "importing");
  const auto report = tier::import_blobs(
      **cache, source, world.now_ms,
      [&](ByteCount done, ByteCount total) { line.update(fraction(done, total)); });
  line.finish();
  if (!report) return report.error();
  return CacheAnswer{options.json ? import_json(*report) : import_text(*report), report->whole()};
}

bool ask_on_terminal(const std::string& question) {
  std::cerr << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace

Result<CacheAnswer> run_cache(const CacheCommandOptions& options, const CacheCommandWorld& world) {
  switch (options.action) {
    case CacheAction::kHelp: return CacheAnswer{cache_help()};
    case CacheAction::kLs: return list_cache(options, world);
    case CacheAction::kShow: return show_blob(options, world);
    case CacheAction::kVerify: return verify_cache(options, world);
    case CacheAction::kGc: return collect(options, world);
    case CacheAction::kRm: return remove_blobs(options, world);
    case CacheAction::kExport: return export_cache(options, world);
    case CacheAction::kImport: return import_file(options, world);
  }
  return CacheAnswer{cache_help()};
}

int cache_main(std::span<const std::string> args, const Environment& env) {
  const auto options = parse_cache_options(args, env);
  if (!options) {
    std::cerr << "holdfast cache: " << options.error().message << "\n";
    return kExitUsage;
  }
  CacheCommandWorld world;
  world.now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count();
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1) world.ask = ask_on_terminal;
  const auto answer = run_cache(*options, world);
  if (!answer) {
    std::cerr << one_line(answer.error().message, 4096) << "\n";
    return kExitFailed;
  }
  std::cout << answer->text << std::flush;
  if (!std::cout) return kExitFailed;
  return answer->sound ? 0 : kExitFailed;
}

}  // namespace holdfast::cli
