#include "plan/placement.h"

#include <algorithm>
#include <cstdint>

#include "plan/cuts.h"

namespace holdfast::plan {

bool always_kept(CheckpointKind kind) { return kind >= CheckpointKind::kJunction; }

namespace {

bool ends_message(std::span<const MessageSpan> spans, TokenPos position) {
  return std::ranges::binary_search(spans, position, {}, &MessageSpan::end);
}

// The last cut that closes a message: what follows is the generation header.
TokenPos prompt_end(const PlacementInput& input) {
  if (input.prompt_end) return *input.prompt_end;
  for (auto it = input.cuts.rbegin(); it != input.cuts.rend(); ++it) {
    if (ends_message(input.spans, *it)) return *it;
  }
  return input.cuts.empty() ? 0 : input.cuts.back();
}

// Ascending.
std::vector<TokenPos> near_end_positions(const PlacementInput& input) {
  std::vector<TokenPos> positions;
  const TokenPos step = input.near.step;
  if (step == 0) return positions;
  for (const TokenPos cut : input.cuts) {
    if (cut > input.length - step) positions.push_back(cut);
  }
  for (std::int64_t distance = step; distance < input.length; distance *= input.near.factor) {
    positions.push_back(floor_of(input.cuts, input.length - static_cast<TokenPos>(distance)));
  }
  std::ranges::sort(positions);
  return positions;
}

bool stays(const PlacementInput& input, const Checkpoint& checkpoint) {
  if (always_kept(checkpoint.kind) || checkpoint.near_end) return true;
  return input.keeps_messages && checkpoint.kind == CheckpointKind::kMessageEnd;
}

std::vector<Checkpoint> all_candidates(const PlacementInput& input) {
  const TokenPos system = system_end(input.spans);
  const TokenPos prompt = prompt_end(input);
  const TokenPos junction = input.junction ? floor_of(input.cuts, *input.junction) : 0;
  const std::vector<TokenPos> near = near_end_positions(input);
  std::vector<Checkpoint> candidates;
  for (const TokenPos cut : input.cuts) {
    if (cut <= input.from) continue;
    CheckpointKind kind = CheckpointKind::kGridStep;
    if (ends_message(input.spans, cut)) kind = CheckpointKind::kMessageEnd;
    if (cut == junction) kind = CheckpointKind::kJunction;
    if (cut == prompt) kind = CheckpointKind::kPromptEnd;
    if (cut == system) kind = CheckpointKind::kSystemEnd;
    candidates.push_back({cut, kind, std::ranges::binary_search(near, cut)});
  }
  return candidates;
}

}  // namespace

TokenPos system_end(std::span<const MessageSpan> spans) {
  TokenPos end = 0;
  for (const MessageSpan& span : spans) {
    if (span.role != Role::kSystem) break;
    end = span.end;
  }
  return end;
}

// Left to right; a candidate that comes too near to the last one kept makes way,
// unless it is always kept, and then the last one makes way if it can.
std::vector<Checkpoint> place_checkpoints(const PlacementInput& input) {
  std::vector<Checkpoint> placed;
  for (const Checkpoint& candidate : all_candidates(input)) {
    const bool near =
        !placed.empty() && candidate.position - placed.back().position < input.spacing_min;
    if (near && !stays(input, candidate)) continue;
    if (near && !stays(input, placed.back())) placed.pop_back();
    placed.push_back(candidate);
  }
  return placed;
}

std::vector<std::string> check_placement(const PlacementInput& input,
                                         std::span<const Checkpoint> placed) {
  std::vector<std::string> violations;
  TokenPos last = input.from;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const TokenPos p = placed[i].position;
    if (!std::ranges::binary_search(input.cuts, p) || p <= input.from) {
      violations.push_back("PLACE-1: " + std::to_string(p) + " is not a cut of what is computed");
    }
    if (p <= last) violations.push_back("PLACE-2: " + std::to_string(p) + " is out of order");
    const bool near = i > 0 && p - last < input.spacing_min;
    if (near && !stays(input, placed[i]) && !stays(input, placed[i - 1])) {
      violations.push_back("PLACE-3: " + std::to_string(p) + " is too near to its neighbour");
    }
    last = p;
  }
  for (TokenPos d = 1; input.near.step > 0 && input.length - d > input.from; ++d) {
    const auto beyond =
        std::ranges::upper_bound(placed, input.length - d, {}, &Checkpoint::position);
    const TokenPos place = beyond == placed.begin() ? input.from : std::prev(beyond)->position;
    if (place < input.length - input.near.factor * d - input.near.step) {
      violations.push_back("PLACE-4: nothing near " + std::to_string(d) + " before the end");
      break;
    }
  }
  return violations;
}

std::size_t near_end_places(TokenPos length, const NearEnd& near) {
  if (near.step == 0) return 0;
  std::size_t places = 2;  // of the last step
  for (std::int64_t distance = near.step; distance < length; distance *= near.factor) ++places;
  return places;
}

NearEnd near_end_within(TokenPos length, TokenPos step, ByteCount snapshot, const Room& room) {
  // They may take this part of the room that is left, and the fewest that make sense a larger one:
  // a handful of snapshots is enough for them. Memory is full most of the time. The fewest then
  // take the room of what is worth less, if they are a small part of all.
  constexpr ByteCount kPart = 4;
  constexpr ByteCount kFewestPart = 2;
  constexpr ByteCount kFewestOfAllPart = 16;
  if (step == 0 || snapshot == 0) return {};
  const auto bytes = [&](const NearEnd& near) { return near_end_places(length, near) * snapshot; };
  for (const TokenPos factor : {2, 4, 8, 16}) {
    const NearEnd near{step, factor};
    if (bytes(near) <= room.left / kPart) return near;
  }
  const NearEnd fewest{step, 16};
  const ByteCount allowed = std::max(room.left / kFewestPart, room.all / kFewestOfAllPart);
  return bytes(fewest) <= allowed ? fewest : NearEnd{};
}

TokenPos scarce_spacing(const StateShape& shape, TokenPos fallback) {
  const Part* extent = shape.find(PartKind::kExtent);
  if (extent == nullptr || extent->bytes_per_token == 0) return fallback;
  ByteCount checkpoint = shape.bytes_per_snapshot();
  if (const Part* window = shape.find(PartKind::kWindow)) {
    checkpoint += window->bytes_per_token * static_cast<ByteCount>(window->window);
  }
  return static_cast<TokenPos>(checkpoint / extent->bytes_per_token / 2);
}

}  // namespace holdfast::plan
