// FolderSurvey: how much of a cache folder a server can use, and what made the rest.
//
// Whether a space is of this server's facts is read from its note: a tenant's space cannot be
// computed without the tenant. So this is for people and for receipts; what is really used is
// decided by the spaces themselves.
//
// Invariants, verified by the tests:
//   SURVEY-1  usable and rest together are the bytes of all spaces
//   SURVEY-2  nothing in it tells one tenant from another
//
// Pure.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cache/foreign_states.h"
#include "state/parts.h"
#include "tier/blob_index.h"
#include "tier/space_note.h"

namespace holdfast::cache {

struct FolderSurvey {
  struct Rest {
    std::string what;  // goes on after a size: "was made by another engine (...) and is not used"
    ByteCount bytes = 0;
  };
  ByteCount usable = 0;
  std::vector<Rest> rest;            // the largest first
  std::vector<ForeignMaker> makers;  // of this model's states, those of most bytes first

  // More are not asked about: each costs names of the whole prompt.
  static constexpr std::size_t kMakersMax = 8;
};

// `own` is what this server notes on its own spaces.
[[nodiscard]] FolderSurvey survey_folder(std::span<const tier::SpaceTotal> totals,
                                         const std::map<SpaceKey, tier::SpaceNote>& notes,
                                         const tier::SpaceNote& own);

// "12.0 MiB of it was made by ...", one line for each kind of rest; the smallest ones share one.
[[nodiscard]] std::vector<std::string> rest_lines(const FolderSurvey& survey);

}  // namespace holdfast::cache
