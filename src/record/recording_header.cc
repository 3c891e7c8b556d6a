// The header of a recording.
#include <cmath>

#include "record/recording_events.h"

namespace holdfast::record {

namespace {

constexpr std::size_t kPartsMax = 8;
constexpr std::uint64_t kSlotSnapshotsMax = 1'000'000;
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 40U;

void put_odds(RecordWriter& out, const plan::ReuseOdds& odds) {
  out.real(odds.weight);
  out.real(odds.tau_s);
}

plan::ReuseOdds get_odds(RecordReader& in) {
  plan::ReuseOdds odds;
  odds.weight = in.real();
  odds.tau_s = in.real();
  const auto sane = [](double value) { return std::isfinite(value) && value >= 0 && value < 1e12; };
  if (!sane(odds.weight) || !sane(odds.tau_s) || odds.tau_s == 0) in.fail();
  return odds;
}

void put_options(RecordWriter& out, const cache::CacheOptions& options) {
  out.number(options.memory.budget);
  out.number(options.memory.ghost_tokens_max);
  out.number(options.memory.nodes_max);
  const plan::EvictionPolicy& policy = options.memory.eviction;
  put_odds(out, policy.tip_after_tool_call);
  put_odds(out, policy.tip);
  put_odds(out, policy.interior);
  put_odds(out, policy.proven);
  out.number(policy.candidates_max);
  out.truth(options.has_exact_prompts());
  out.position(options.checkpoint_every);
  out.truth(options.checkpoints);
  out.text(options.fingerprint);
}

cache::CacheOptions get_options(RecordReader& in) {
  cache::CacheOptions options;
  options.memory.budget = in.number(std::numeric_limits<ByteCount>::max() / 2);
  options.memory.ghost_tokens_max = in.number(kCountMax);
  options.memory.nodes_max = in.number(kCountMax);
  plan::EvictionPolicy& policy = options.memory.eviction;
  policy.tip_after_tool_call = get_odds(in);
  policy.tip = get_odds(in);
  policy.interior = get_odds(in);
  policy.proven = get_odds(in);
  policy.candidates_max = in.number(kCountMax);
  if (policy.candidates_max == 0) in.fail();
  options.exact = in.truth() ? Exactness::kPrompt : Exactness::kOff;
  options.checkpoint_every = in.position(kRecordedContextMax);
  options.checkpoints = in.truth();
  options.fingerprint = in.text();
  return options;
}

void put_shape(RecordWriter& out, const StateShape& shape) {
  out.number(shape.parts.size());
  for (const Part& part : shape.parts) {
    out.byte(static_cast<std::uint8_t>(part.kind));
    out.number(part.bytes_per_token);
    out.number(part.bytes_fixed);
    out.position(part.window);
    out.position(part.rollback_depth);
  }
}

StateShape get_shape(RecordReader& in) {
  StateShape shape;
  shape.parts.resize(in.number(kPartsMax));
  for (Part& part : shape.parts) {
    const std::uint8_t kind = in.byte();
    if (kind > static_cast<std::uint8_t>(PartKind::kSnapshot)) in.fail();
    part.kind = static_cast<PartKind>(in.failed() ? 0 : kind);
    part.bytes_per_token = in.number(kRecordedStateMax);
    part.bytes_fixed = in.number(kRecordedStateMax);
    part.window = in.position(kRecordedContextMax);
    part.rollback_depth = in.position(kRecordedContextMax);
  }
  const tree::StateNeeds needs = tree::StateNeeds::of(shape);
  if (!needs.blocks && !needs.snapshot) in.fail();
  return shape;
}

}  // namespace

std::string encode_header(const RecordingHeader& header) {
  RecordWriter out;
  out.truth(header.private_form);
  out.text(header.build);
  out.signed_number(header.unix_ms);
  put_options(out, header.options);
  put_shape(out, header.shape);
  out.number(static_cast<std::uint64_t>(header.slots));
  out.position(header.context_tokens);
  out.position(header.chunk_tokens_max);
  out.text(header.companion);
  out.number(header.companion_shape.bytes_per_token);
  out.number(header.companion_shape.bytes_per_place);
  out.truth(header.lower);
  out.number(static_cast<std::uint64_t>(header.options.slot_snapshots));
  out.position(header.options.merged_chunk);
  out.truth(header.options.names_foreign);
  return out.take();
}

Result<RecordingHeader> decode_header(std::string_view payload) {
  RecordReader in(payload);
  RecordingHeader header;
  header.private_form = in.truth();
  header.build = in.text();
  header.unix_ms = in.unix_ms();
  header.options = get_options(in);
  header.shape = get_shape(in);
  header.slots = static_cast<int>(in.number(kRecordedSlotsMax));
  header.context_tokens = in.position(kRecordedContextMax);
  header.chunk_tokens_max = in.position(kRecordedContextMax);
  header.companion = in.text();
  header.companion_shape.bytes_per_token = in.number(kRecordedStateMax);
  header.companion_shape.bytes_per_place = in.number(kRecordedStateMax);
  header.lower = in.truth();
  // Older recordings end early: those of servers without slot snapshots here, those of servers that
  // read each chunk of the grid by itself one field later, and those of servers that did not name
  // foreign states two fields later.
  const auto more = [&] { return !in.failed() && !in.at_end(); };
  header.options.slot_snapshots = more() ? static_cast<int>(in.number(kSlotSnapshotsMax)) : 0;
  header.options.merged_chunk = more() ? in.position(kRecordedContextMax) : 0;
  header.options.names_foreign = more() && in.truth();
  const bool sound = header.slots > 0 && header.context_tokens > 0 && header.chunk_tokens_max > 0;
  if (in.failed() || !in.at_end() || !sound) {
    return Error{ErrorCode::kInvalidArgument,
                 "The recording's header is not one that a server writes.", ""};
  }
  return header;
}

}  // namespace holdfast::record
