// A file as text, whether or not it is compressed with zstd.
#pragma once

#include <string>

#include "base/result.h"

namespace holdfast::policy {

// An Error names the file. A compressed file that ends too early, is damaged or would
// take more than `bytes_max` is one.
[[nodiscard]] Result<std::string> read_text(const std::string& path,
                                            std::size_t bytes_max = std::size_t{4} << 30);
// `packed` as it was before compression; plain text comes back as it is.
[[nodiscard]] Result<std::string> unpack_text(std::string packed, const std::string& name,
                                              std::size_t bytes_max = std::size_t{4} << 30);

}  // namespace holdfast::policy
