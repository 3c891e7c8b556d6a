// The cache folder as the commands of `holdfast cache` open it, and what they name in it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cache.h"
#include "tier/cache_folder.h"

namespace holdfast::cli {

enum class Access {
  kLook,    // never the writer
  kTidy,    // the writer if nobody else is
  kChange,  // the writer, or not at all
  kFill,    // the same, and the folder is made where it is missing
};

[[nodiscard]] Result<tier::CacheFolder> open_cache(const CacheCommandOptions& options,
                                                   const CacheCommandWorld& world, Access access);

// The sentence for one who may only read there: another process writes, or its owner is another.
[[nodiscard]] Error not_ours_to_change(const std::string& folder);

// The one blob or space whose name begins with `front`; an Error where there is none, or several.
[[nodiscard]] Result<tier::BlobSummary> find_blob(const std::vector<tier::BlobSummary>& blobs,
                                                  const std::string& front);
[[nodiscard]] Result<SpaceKey> find_space(const std::vector<tier::BlobSummary>& blobs,
                                          const std::string& front);

// What a command answers with where it fails: one sentence that says what to do.
[[nodiscard]] inline Error failure(ErrorCode code, std::string sentence) {
  return {code, std::move(sentence), {}};
}

// For progress lines.
[[nodiscard]] inline double fraction(ByteCount done, ByteCount total) {
  return total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
}

}  // namespace holdfast::cli
