// QuotaFiles: a FileSystem whose root folder holds at most `bytes_max` bytes.
//
// Counted are the plain files of the root folder itself, when a file is created. A write that would
// go beyond is refused as the system would refuse it (EDQUOT), and what it was part of fails. A
// file that takes the place of another needs room beside it for a moment.
//
// Invariant, verified by the test of the same number (quota_files_test.cc):
//   QUOTA-1  appending through it never makes the files of the root larger than `bytes_max`
//            together, as long as nobody else writes there
#pragma once

#include <memory>

#include "tier/file_system.h"

namespace holdfast::tier {

[[nodiscard]] std::unique_ptr<FileSystem> with_quota(std::shared_ptr<FileSystem> files,
                                                     ByteCount bytes_max);

}  // namespace holdfast::tier
