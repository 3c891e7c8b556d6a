// The commands of `holdfast cache`, one function each; run_cache() (cache.h) chooses among them.
#pragma once

#include "base/result.h"
#include "cli/cache.h"

namespace holdfast::cli {

// cache_look.cc: what only looks.
[[nodiscard]] Result<CacheAnswer> list_cache(const CacheCommandOptions& options,
                                             const CacheCommandWorld& world);
[[nodiscard]] Result<CacheAnswer> show_blob(const CacheCommandOptions& options,
                                            const CacheCommandWorld& world);
[[nodiscard]] Result<CacheAnswer> verify_cache(const CacheCommandOptions& options,
                                               const CacheCommandWorld& world);

// cache_shrink.cc: less of it.
[[nodiscard]] Result<CacheAnswer> collect_garbage(const CacheCommandOptions& options,
                                                  const CacheCommandWorld& world);
[[nodiscard]] Result<CacheAnswer> remove_blobs(const CacheCommandOptions& options,
                                               const CacheCommandWorld& world);

// cache_transfer.cc: all of it, elsewhere.
[[nodiscard]] Result<CacheAnswer> export_cache(const CacheCommandOptions& options,
                                               const CacheCommandWorld& world);
[[nodiscard]] Result<CacheAnswer> import_file(const CacheCommandOptions& options,
                                              const CacheCommandWorld& world);

}  // namespace holdfast::cli
