#include "plan/placement.h"

#include <algorithm>

#include "plan/cuts.h"

namespace holdfast {

const char* checkpoint_kind_name(CheckpointKind kind) {
  switch (kind) {
    case CheckpointKind::kStep: return "step";
    case CheckpointKind::kMessageEnd: return "message end";
    case CheckpointKind::kJunction: return "junction";
    case CheckpointKind::kPromptEnd: return "prompt end";
    case CheckpointKind::kSystemEnd: return "system end";
    case CheckpointKind::kAnswerStart: return "answer start";
  }
  return "?";
}

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

std::vector<Checkpoint> all_candidates(const PlacementInput& input) {
  const TokenPos system = system_end(input.spans);
  const TokenPos prompt = prompt_end(input);
  const TokenPos junction = input.junction ? floor_of(input.cuts, *input.junction) : 0;
  std::vector<Checkpoint> candidates;
  for (const TokenPos cut : input.cuts) {
    if (cut <= input.from) continue;
    CheckpointKind kind = CheckpointKind::kStep;
    if (ends_message(input.spans, cut)) kind = CheckpointKind::kMessageEnd;
    if (cut == junction) kind = CheckpointKind::kJunction;
    if (cut == prompt) kind = CheckpointKind::kPromptEnd;
    if (cut == system) kind = CheckpointKind::kSystemEnd;
    candidates.push_back({cut, kind});
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
    if (near && !always_kept(candidate.kind)) continue;
    if (near && !always_kept(placed.back().kind)) placed.pop_back();
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
      violations.push_back("P1: " + std::to_string(p) + " is not a cut of what is computed");
    }
    if (p <= last) violations.push_back("P2: " + std::to_string(p) + " is out of order");
    const bool near = i > 0 && p - last < input.spacing_min;
    if (near && !always_kept(placed[i].kind) && !always_kept(placed[i - 1].kind)) {
      violations.push_back("P3: " + std::to_string(p) + " is too near to its neighbour");
    }
    last = p;
  }
  return violations;
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

}  // namespace holdfast
