// The key that ids of answers are signed with (cache/answer_ids.h), in a cache folder.
//
//   answers/key   32 random bytes, mode 0600; made once, by the first process that writes
//
// Who has the folder has the key, so ids outlive the server and move with the folder to
// another machine. Whoever could read the key could read the answers beside it.
#pragma once

#include <optional>

#include "base/result.h"
#include "tier/file_system.h"
#include "tier/secret.h"

namespace holdfast::tier {

// Nothing: there is none, or it is damaged. An error: it may be there and could not be read, so
// that it must not be replaced.
[[nodiscard]] Result<std::optional<Secret>> read_answer_key(FileSystem& files);

// Takes the place of what is there. A writer's part. A crash leaves the old one or this one.
[[nodiscard]] Result<void> write_answer_key(FileSystem& files, const Secret& key);

}  // namespace holdfast::tier
