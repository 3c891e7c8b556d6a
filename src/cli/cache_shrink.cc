// gc and rm: less of the cache.
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/cache_access.h"
#include "cli/cache_actions.h"
#include "cli/cache_text.h"
#include "tier/answer_log.h"
#include "tier/response_files.h"

namespace holdfast::cli {
namespace {

// What went, but for blobs, in bytes.
struct Besides {
  ByteCount quarantine = 0;
  ByteCount answers = 0;
  ByteCount responses = 0;
};

CacheAnswer freed_answer(const CacheCommandOptions& options, tier::DiskStore& store,
                         std::uint64_t blobs, ByteCount bytes, Besides besides) {
  const ByteCount all = bytes + besides.quarantine + besides.answers + besides.responses;
  if (options.json) {
    const nlohmann::json json = {{"removed_blobs", blobs},
                                 {"freed_bytes", all},
                                 {"freed_quarantine_bytes", besides.quarantine},
                                 {"freed_answers_bytes", besides.answers},
                                 {"freed_responses_bytes", besides.responses},
                                 {"blobs", store.stats().blobs()},
                                 {"bytes", store.stats().bytes()}};
    return {json.dump(2) + "\n"};
  }
  std::string text = "Freed " + human_bytes(all) + ": " + counted(blobs, "blob");
  if (besides.quarantine > 0)
    text += ", and " + human_bytes(besides.quarantine) + " of the quarantine";
  if (besides.answers > 0) text += ", and " + human_bytes(besides.answers) + " of answers";
  if (besides.responses > 0) text += ", and " + human_bytes(besides.responses) + " of responses";
  return {text + ". " + counted(store.stats().blobs(), "blob") + ", " +
          human_bytes(store.stats().bytes()) + " are left.\n"};
}

}  // namespace

Result<CacheAnswer> collect_garbage(const CacheCommandOptions& options,
                                    const CacheCommandWorld& world) {
  auto cache = open_cache(options, world, Access::kChange);
  if (!cache) return cache.error();
  tier::DiskStore& store = **cache;
  const std::uint64_t before = store.stats().blobs();
  const ByteCount quarantine = store.discard_quarantine();
  const ByteCount bytes = options.to ? store.shrink_to(*options.to, world.now_ms) : 0;
  store.tidy_space_notes();
  return freed_answer(options, store, before - store.stats().blobs(), bytes, {quarantine, 0});
}

namespace {

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
                "), all answers and all stored responses from " + options.folder + "?");
  if (!yes) return failure(ErrorCode::kCancelled, "Nothing was removed.");
  return {};
}

// What answers and stored responses are kept in. Each goes, whatever becomes of the other.
Result<Besides> erase_besides(tier::FileSystem& files) {
  const auto answers = tier::AnswerLog::erase(files);
  const auto responses = tier::ResponseFiles(files).erase();
  if (!answers) return answers.error();
  if (!responses) return responses.error();
  return Besides{.answers = *answers, .responses = *responses};
}

}  // namespace

Result<CacheAnswer> remove_blobs(const CacheCommandOptions& options,
                                 const CacheCommandWorld& world) {
  auto cache = open_cache(options, world, Access::kChange);
  if (!cache) return cache.error();
  tier::DiskStore& store = **cache;
  const auto keys = chosen(options, store.inventory().blobs());
  if (!keys) return keys.error();
  if (auto asked = ask_about_all(options, world, store.stats()); !asked) return asked.error();
  const std::uint64_t before = store.stats().blobs();
  // All means all: also what the index does not know, and what answers were made of.
  const ByteCount bytes = options.all ? store.shrink_to(0, world.now_ms) : store.remove(*keys);
  store.tidy_space_notes();
  Besides besides;
  if (options.all) {
    const auto erased = erase_besides(cache->files());
    if (!erased)
      return failure(ErrorCode::kIo,
                     "Not everything could be removed: " + erased.error().message + ".");
    besides = *erased;
  }
  CacheAnswer answer = freed_answer(options, store, before - store.stats().blobs(), bytes, besides);
  if (store.stats().failed > 0)
    return failure(ErrorCode::kIo, "Not everything could be removed: " +
                                       store.stats().last_failure + ". " + answer.text);
  return answer;
}

}  // namespace holdfast::cli
