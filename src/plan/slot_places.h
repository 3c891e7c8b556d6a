// Which of the places that a slot can go back to is missed least.
//
//   slot     [ s s s s s s | u u u u u u u u u u u u u u | a a a | u u u u u )
//                          *             *        *    *       *     *        end
//                                        ^ the next prompt parts here ...
//                          |<-- read again -->|    ... or anywhere up to the next place
//
// A place serves prompts that part from the slot's path between it and the next place; without it
// they go back to the one before. So it is missed by
//
//   (tokens from the place before) x (how likely a prompt parts here)
//
// Prompts part near the end more often than far from it: the likelihood falls with one over
// the distance. At the end of a message it is higher, and at the end of the system block and where
// prompts have parted before it does not fall. Inside the system block, which is sent again as it
// is, it is lower. From the last place most of them go on.
//
// Pure: no I/O, no clock.
#pragma once

#include <cstddef>
#include <span>

#include "plan/placement.h"

namespace holdfast::plan {

// What dropping place `index` costs, in tokens times likelihood.
// REQUIRES: places ascend, none lies beyond `end`, where the slot's path ends or will end.
[[nodiscard]] double missed_by(std::span<const Checkpoint> places, std::size_t index, TokenPos end);

// The place that is missed least; of equals the first.
// REQUIRES: as above, and there is one.
[[nodiscard]] std::size_t least_missed(std::span<const Checkpoint> places, TokenPos end);

}  // namespace holdfast::plan
