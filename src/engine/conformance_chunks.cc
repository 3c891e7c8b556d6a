// Prompts that are read in chunks of several sizes.
#include <algorithm>
#include <optional>

#include "engine/conformance_checks.h"

namespace holdfast::engine {

namespace {

// The longest pieces that the plain way was compared with, and the tile of flash attention.
constexpr TokenPos kPlainPiece = 8;
constexpr TokenPos kTile = 64;

// Long chunks are computed by other kernels, whose rounding is not the one that was measured: so
// any row passes that is nearer to the right state than to one that is a token off.
Outcome chunk_of(CheckParts parts, TokenPos chunk, TokenPos piece) {
  EngineProbe& probe = parts.probe;
  const TokenSpan all = probe.tokens(0, chunk);
  std::vector<TokenPos> pieces(static_cast<std::size_t>(chunk / piece), piece);
  if (chunk % piece > 0) pieces.push_back(chunk % piece);
  const auto in_pieces = probe.read(SlotId{0}, all, pieces);
  const auto whole = in_pieces ? probe.read(SlotId{0}, all, {chunk}) : std::nullopt;
  if (!whole) return probe.failed();
  probe.engine().clear(SlotId{0});
  Outcome outcome{0.0, parts.plain.farthest(), {}};
  outcome.compare(*whole, *in_pieces, "its last token");
  return outcome;
}

void add_chunk_kind(CheckParts parts, TokenPos chunk, TokenPos piece) {
  const double cost = 1.0 + chunk / piece + 2.0 * chunk / kTokensPerStep;
  parts.book.add("a chunk of " + counted(chunk, "token"), Formed::kAlways, cost,
                 [&] { return chunk_of(parts, chunk, piece); });
}

// One slot is long and the others are short.
Outcome step_with_a_long_slot(CheckParts parts) {
  auto& [probe, plain, book] = parts;
  const TokenPos length = probe.longest_chunk();
  const SlotId slot{0};
  const TokenSpan next = probe.tokens(length, length + 1);
  const auto before = probe.read(slot, probe.tokens(0, length), {length});
  const auto alone = before ? probe.decode_one(slot, next) : std::nullopt;
  if (!alone || !probe.read(slot, probe.tokens(0, length), {length})) return probe.failed();
  std::vector<DecodeStep> steps{{slot, next}};
  for (int i = 1; i < probe.slots(); ++i) {
    if (!plain.bring(SlotId{i})) return probe.failed();
    const TokenPos at = PlainWay::length_in(i);
    steps.push_back({SlotId{i}, probe.tokens(at, at + 1)});
  }
  if (!probe.step(steps)) return probe.failed();
  Outcome outcome{0.0, plain.bound(), {}};
  outcome.compare(probe.row_of(slot), *alone, "the long slot");
  for (int i = 1; i < probe.slots(); ++i) {
    outcome.compare(probe.row_of(SlotId{i}), plain.row_after(PlainWay::length_in(i)),
                    "slot " + std::to_string(i));
  }
  for (int i = 0; i < probe.slots(); ++i) probe.engine().clear(SlotId{i});
  return outcome;
}

}  // namespace

// Each size is compared with smaller pieces, and those in turn with pieces that the plain way has
// been compared with.
void add_chunk_kinds(CheckParts parts) {
  const TokenPos longest = parts.probe.longest_chunk();
  if (longest > kPlainPiece) add_chunk_kind(parts, std::min(kTile, longest), kPlainPiece);
  if (longest > kTile) add_chunk_kind(parts, longest, kTile);
  if (parts.probe.slots() < 2 || longest <= kHistory + kLengths) return;
  parts.book.add(counted(parts.probe.slots(), "slot") + ", one of them long", Formed::kTogether,
                 3.0 + 2.0 * longest / kTokensPerStep,
                 [&] { return step_with_a_long_slot(parts); });
}

}  // namespace holdfast::engine
