// Files of one slot each: what POST /slots/{id}?action=save writes and action=restore reads.
//
// Such a file is a file of blobs (docs/formats/cache-export.md): the rows of all tokens in
// stretches of 256, what is valid at their end, and a companion's parts within these. Its note
// says which tokens they are, because a state does not.
//
// Several tenants may share a folder. A file belongs to the one who saved it: nobody else is
// told that it exists, reads it or replaces it.
//
// Any bytes may be in such a file. Invariants, verified by the tests:
//   SLOTFILE-1  what was written is read back equal
//   SLOTFILE-2  what read_slot_file() gives is whole, of the space asked for, within the limits,
//               and its parts are of its tokens; a file that is not all of this is an Error that
//               says so
//   SLOTFILE-3  no more memory is asked for than the limits allow, and nothing throws
//   SLOTFILE-4  a file is there whole or not at all; another owner's, and one that is no such file,
//               is never replaced
//
// Codes of Errors: kTooLarge - it does not fit into the quota of the folder; kNotFound - there is
// none of this owner; kInvalidArgument - the file is not fit to be used, or the name is taken; kIo;
// kUnavailable - no memory, or another process writes there.
//
// One thread at a time for each FileSystem.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cache/slot_state.h"
#include "tier/file_system.h"

namespace holdfast::cache {

// Who saved a file. A tenant's name cannot be read from it.
using SlotOwner = std::array<std::byte, 16>;
[[nodiscard]] SlotOwner slot_owner(std::string_view tenant);

// What a state may be here.
struct SlotLimits {
  SpaceKey space;
  TokenPos tokens_max = 0;
  Token vocabulary = 0;
  ByteCount bytes_max = 0;  // of the file
};

// Names of files are a client's. Nothing where it may be one: a plain name that is not hidden.
[[nodiscard]] const char* bad_slot_file_name(std::string_view name);

// Returns the file's bytes. REQUIRES: the name is not bad; the state has tokens.
[[nodiscard]] Result<ByteCount> write_slot_file(tier::FileSystem& files, const std::string& name,
                                                const SlotState& state, const SlotOwner& owner,
                                                std::int64_t now_ms);

struct SlotFile {
  SlotState state;
  ByteCount bytes = 0;  // of the file
};
[[nodiscard]] Result<SlotFile> read_slot_file(tier::FileSystem& files, const std::string& name,
                                              const SlotOwner& owner, const SlotLimits& limits);
// The same of bytes from anywhere.
[[nodiscard]] Result<SlotFile> read_slot_bytes(tier::ByteSource& source, const SlotOwner& owner,
                                               const SlotLimits& limits);

}  // namespace holdfast::cache
