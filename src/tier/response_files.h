// ResponseFiles: stored responses in files of a cache folder, one file for each.
//
//   responses/000000000003.hfr   numbers ascend: the oldest response has the lowest
//   responses/000000000004.hfr
//
// A file is written once and verified when it is read. What a crash leaves of the latest ones is
// whole or is noticed. Losing one costs its client a conversation that must be sent again.
//
// One owning thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "state/parts.h"
#include "tier/file_system.h"
#include "tier/stored_response.h"

namespace holdfast::tier {

class ResponseFiles {
 public:
  // Larger ones are not read. The store above holds less than this in all.
  static constexpr ByteCount kFileBytesMax = ByteCount{128} << 20;

  // What was found, beside the responses.
  struct Survey {
    std::uint64_t last_number = 0;
    std::vector<std::uint64_t> damaged;  // numbers of files that hold no response
    std::string unread;                  // why a file could not be read; empty: all could
  };

  // REQUIRES: `files` outlives it.
  explicit ResponseFiles(FileSystem& files) : files_(&files) {}

  // Hands over what is there, oldest first. A reader's part.
  [[nodiscard]] Survey read(
      const std::function<void(std::uint64_t number, StoredResponse response)>& take) const;

  // A new file. In the hands of the system when it returns: a crash of this process does not lose
  // it. After an Error nothing of it is there, if that can be helped.
  [[nodiscard]] Result<void> write(std::uint64_t number, const StoredResponse& response) const;
  // One that is not there is removed already.
  [[nodiscard]] Result<void> remove(std::uint64_t number) const;
  // Removes all files of responses, and says how many bytes they had.
  [[nodiscard]] Result<ByteCount> erase() const;

 private:
  FileSystem* files_;
};

}  // namespace holdfast::tier
