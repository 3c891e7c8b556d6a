#include "record/recording_parts.h"

#include <cmath>
#include <utility>

namespace holdfast::record {

namespace {

constexpr ByteCount kBytesMax = ByteCount{1} << 50U;  // of what is only counted

void put_range(RecordWriter& out, TokenRange range) {
  out.position(range.begin);
  out.position(range.length());
}

// Never empty.
TokenRange get_range(RecordReader& in) {
  const TokenPos begin = in.position(kRecordedContextMax);
  const TokenPos length = in.position(kRecordedContextMax);
  if (length == 0) in.fail();
  return {begin, begin + length};
}

// --- what the world said ---------------------------------------------------------------

void put_answer(RecordWriter& out, const Answer& answer) {
  out.byte(static_cast<std::uint8_t>(static_cast<unsigned>(answer.kind) << 1U) |
           static_cast<std::uint8_t>(answer.yes ? 1 : 0));
  switch (answer.kind) {
    case AnswerKind::kSave:
    case AnswerKind::kSaveRows:
    case AnswerKind::kCompanionSave:
    case AnswerKind::kDeepest:
    case AnswerKind::kLogits:
      out.number(answer.numbers.size());
      for (const std::uint64_t number : answer.numbers) out.number(number);
      break;
    case AnswerKind::kFollow:
      out.number(answer.numbers[0]);
      out.number(answer.numbers[1]);
      out.text(answer.text);
      break;
    case AnswerKind::kBytesPerMs: out.real(answer.real); break;
    case AnswerKind::kForeign:
      out.number(answer.numbers[0]);
      out.text(answer.text);
      out.text(answer.more_text);
      break;
    default: break;
  }
}

Answer get_answer(RecordReader& in) {
  Answer answer;
  const std::uint8_t tag = in.byte();
  if ((tag >> 1U) > static_cast<std::uint8_t>(kAnswerKindLast)) in.fail();
  if (in.failed()) return answer;
  answer.kind = static_cast<AnswerKind>(tag >> 1U);
  answer.yes = (tag & 1U) != 0;
  switch (answer.kind) {
    case AnswerKind::kSave:
    case AnswerKind::kSaveRows:
    case AnswerKind::kCompanionSave:
    case AnswerKind::kDeepest:
    case AnswerKind::kLogits:
      answer.numbers.resize(in.count());
      for (std::uint64_t& number : answer.numbers) number = in.number(kRecordedStateMax);
      break;
    case AnswerKind::kFollow:
      answer.numbers = {in.number(kRecordedContextMax), in.number(kRecordedContextMax)};
      answer.text = in.text();
      break;
    case AnswerKind::kBytesPerMs:
      answer.real = in.real();
      if (!std::isfinite(answer.real) || answer.real <= 0) in.fail();
      break;
    case AnswerKind::kForeign:
      answer.numbers = {in.number(kRecordedContextMax)};
      answer.text = in.text();
      answer.more_text = in.text();
      break;
    default: break;
  }
  return answer;
}

}  // namespace

void put_world(RecordWriter& out, const CacheEvent& event) {
  out.number(event.clock_ns.size());
  for (const std::int64_t ns : event.clock_ns) out.signed_number(ns);
  out.number(event.answers.size());
  for (const Answer& answer : event.answers) put_answer(out, answer);
}

void get_world(RecordReader& in, CacheEvent& event, std::int64_t& total_ns) {
  event.clock_ns.resize(in.count());
  // At most a century in all, so that adding times cannot overflow.
  constexpr std::int64_t kMost = std::int64_t{100} * 366 * 86400 * 1000000000;
  for (std::int64_t& ns : event.clock_ns) {
    ns = in.signed_number();
    if (ns < 0 || ns > kMost - total_ns) in.fail();
    if (in.failed()) return;
    total_ns += ns;
  }
  event.answers.resize(in.count());
  for (Answer& answer : event.answers) answer = get_answer(in);
}

// --- what came from below ----------------------------------------------------------------

void put_found(RecordWriter& out, const tier::StoreMatch& found) {
  out.number(found.places.size());
  for (const tier::PlaceHit& place : found.places) {
    out.position(place.position);
    out.number(place.bytes);
    out.number(place.saves);
    out.number(bits_of(place.marks));
    out.truth(place.logits);
  }
  out.number(found.rows.size());
  for (const tier::RowsHit& rows : found.rows) {
    put_range(out, rows.range);
    out.number(rows.bytes);
  }
  out.position(found.covered);
}

tier::StoreMatch get_found(RecordReader& in) {
  tier::StoreMatch found;
  found.places.resize(in.count());
  for (tier::PlaceHit& place : found.places) {
    place.position = in.position(kRecordedContextMax);
    place.bytes = in.number(kBytesMax);
    place.saves = in.number();
    place.marks = hints_of(static_cast<std::uint16_t>(in.number(0xFFFF)));
    place.logits = in.truth();
    if (place.position == 0) in.fail();
  }
  found.rows.resize(in.count());
  for (tier::RowsHit& rows : found.rows) {
    rows.range = get_range(in);
    rows.bytes = in.number(kBytesMax);
  }
  found.covered = in.position(kRecordedContextMax);
  return found;
}

void put_came(RecordWriter& out, const BroughtOutline& came) {
  out.number(came.blocks.size());
  for (const BroughtOutline::Block& block : came.blocks) {
    put_range(out, block.range);
    out.number(block.bytes);
    out.number(block.companion);
  }
  out.number(came.uses.size());
  for (const BroughtOutline::Use& use : came.uses) {
    out.number(use.block);
    put_range(out, use.range);
  }
  out.position(came.place);
  out.number(came.place_bytes);
  out.number(came.place_companion);
  out.number(came.logits);
  out.number(came.marks);
  out.number(came.bytes);
  out.truth(came.all);
}

// Rows ascend and lie within their blocks, as ExtentBlock and TokenTree require.
BroughtOutline get_came(RecordReader& in) {
  BroughtOutline came;
  came.blocks.resize(in.count());
  for (BroughtOutline::Block& block : came.blocks) {
    block.range = get_range(in);
    block.bytes = in.number(kRecordedStateMax);
    block.companion = in.number(kRecordedStateMax);
    const bool one_tile = block.range.begin / kBlockTokens == (block.range.end - 1) / kBlockTokens;
    if (!one_tile || block.bytes == 0) in.fail();
  }
  came.uses.resize(in.count());
  TokenPos reached = 0;
  for (BroughtOutline::Use& use : came.uses) {
    use.block = in.number();
    use.range = get_range(in);
    const bool known = use.block < came.blocks.size();
    if (!known || use.range.begin < reached ||
        intersection(use.range, came.blocks[use.block].range) != use.range) {
      in.fail();
      return came;
    }
    reached = use.range.end;
  }
  came.place = in.position(kRecordedContextMax);
  came.place_bytes = in.number(kRecordedStateMax);
  came.place_companion = in.number(kRecordedStateMax);
  came.logits = in.number(kRecordedStateMax);
  if (came.logits % sizeof(float) != 0) in.fail();
  came.marks = static_cast<std::uint16_t>(in.number(0xFFFF));
  came.bytes = in.number(kBytesMax);
  came.all = in.truth();
  if (came.place > 0 && came.place_bytes == 0) in.fail();
  return came;
}

// --- receipts ------------------------------------------------------------------------------

void put_digest(RecordWriter& out, const MemoryDigest& digest) {
  for (const std::uint64_t value :
       {digest.resident, digest.snapshots, digest.nodes, digest.tokens, digest.declined,
        digest.evicted_snapshots, digest.evicted_rows, digest.evicted_bytes, digest.quarantined}) {
    out.number(value);
  }
}

MemoryDigest get_digest(RecordReader& in) {
  MemoryDigest digest;
  for (std::uint64_t* value : {&digest.resident, &digest.snapshots, &digest.nodes, &digest.tokens,
                               &digest.declined, &digest.evicted_snapshots, &digest.evicted_rows,
                               &digest.evicted_bytes, &digest.quarantined}) {
    *value = in.number();
  }
  return digest;
}

void put_cuts(RecordWriter& out, const std::vector<TokenPos>& cuts) {
  out.number(cuts.size());
  TokenPos last = 0;
  for (const TokenPos cut : cuts) out.position(cut - std::exchange(last, cut));
}

std::vector<TokenPos> get_cuts(RecordReader& in, TokenPos chunk_max, TokenPos length) {
  std::vector<TokenPos> cuts(in.count());
  TokenPos last = 0;
  for (TokenPos& cut : cuts) {
    const TokenPos distance = in.position(chunk_max);
    if (distance == 0 || distance > length - last) in.fail();
    if (in.failed()) return {};
    cut = last += distance;
  }
  return cuts;
}

}  // namespace holdfast::record
