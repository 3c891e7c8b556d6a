#include "cli/cache_access.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "cli/cache_text.h"
#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

constexpr ByteCount kUnlimited = std::numeric_limits<std::int64_t>::max();
// An import leaves this much of the volume: a full disk hurts more than a cold start.
constexpr ByteCount kFreeMin = ByteCount{1} << 30;

Error no_cache(const std::string& folder) {
  return failure(ErrorCode::kNotFound,
                 "There is no cache in " + folder +
                     ". `holdfast serve` makes one when it runs; say where yours is with "
                     "--cache-dir.");
}

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

}  // namespace

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

}  // namespace holdfast::cli
