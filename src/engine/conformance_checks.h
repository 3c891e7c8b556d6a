// The kinds of batch that a check (conformance.h) computes beside the plain way.
#pragma once

#include <vector>

#include "engine/conformance_book.h"
#include "engine/conformance_plain.h"
#include "engine/conformance_probe.h"

namespace holdfast::engine {

// What every kind is computed and compared with. All of it outlives the check.
struct CheckParts {
  EngineProbe& probe;
  PlainWay& plain;
  KindBook& book;
};

// All slots begin together. Needs no plain way, and comes first.
void add_beginning_kind(CheckParts parts);
// Everything else needs the plain way.
// As many slots as there are, with one token each and with the most.
void add_fullest_step_kinds(CheckParts parts);
// Other numbers of slots and of tokens in one step.
void add_step_kinds(CheckParts parts);
// A state comes back whole, from its parts, and in place.
void add_restored_kinds(CheckParts parts);
// The last tokens of a step are taken back.
void add_taken_back_kinds(CheckParts parts);
// A prompt is read in pieces of several sizes.
void add_chunk_kinds(CheckParts parts);

// The first slots, or the last ones.
[[nodiscard]] std::vector<int> neighbours(const EngineProbe& probe, int count);
// Up to 8 every number from 1 on; beyond, the powers of two and `most`.
[[nodiscard]] std::vector<int> sizes_up_to(int most);

}  // namespace holdfast::engine
