// ls, show and verify: what is in the cache, and whether it is intact.
#include <utility>

#include "cli/cache_access.h"
#include "cli/cache_actions.h"
#include "cli/cache_view.h"
#include "env/log.h"

namespace holdfast::cli {
Result<CacheAnswer> list_cache(const CacheCommandOptions& options, const CacheCommandWorld& world) {
  auto cache = open_cache(options, world, Access::kLook);
  if (!cache) return cache.error();
  const CacheListing listing = survey_cache(**cache, options.folder);
  return CacheAnswer{options.json ? listing_json(listing) : listing_text(listing, world.now_ms)};
}

namespace {

Result<BlobDetails> examine(tier::DiskStore& store, const tier::BlobKey& key) {
  const auto blob = store.load(key, tier::Verify::kPartsAndDigest);
  if (blob) return details_of(*blob);
  auto facts = store.inventory().facts_of(key);  // of a damaged one, what can still be said
  if (!facts || facts->key != key)
    return failure(blob.error().code, "The blob " + key.hex().substr(0, 12) +
                                          " cannot be read: " + blob.error().message +
                                          ". `holdfast cache verify` sets it aside.");
  BlobDetails details{.facts = std::move(*facts)};
  details.damage = blob.error().message;
  return details;
}

}  // namespace

Result<CacheAnswer> show_blob(const CacheCommandOptions& options, const CacheCommandWorld& world) {
  auto cache = open_cache(options, world, Access::kLook);
  if (!cache) return cache.error();
  const auto found = find_blob((*cache)->inventory().blobs(), options.keys.front());
  if (!found) return found.error();
  auto details = examine(**cache, found->key);
  if (!details) return details.error();
  details->used_ms = found->used_ms;
  const auto notes = (*cache)->space_notes();
  if (const auto note = notes.find(found->space); note != notes.end()) details->note = note->second;
  return CacheAnswer{options.json ? details_json(*details) : details_text(*details, world.now_ms),
                     details->damage.empty()};
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
      options.rebuild ? tier::Rebuild::kYes : tier::Rebuild::kNo);
  line.finish();
  report.damaged += before;
  return CacheAnswer{options.json ? verify_json(report) : verify_text(report, read_only),
                     report.damaged == 0 && report.unreadable == 0};
}

}  // namespace holdfast::cli
