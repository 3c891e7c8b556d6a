#include "policy/weightless_engine.h"

namespace holdfast::policy {

WeightlessEngine::WeightlessEngine(const ModelShape& shape, TokenPos context_tokens,
                                   const Machine& machine, TraceClock& clock)
    : model_(shape),
      machine_(machine),
      clock_(clock),
      unit_(unit_for(shape)),
      context_tokens_(context_tokens) {
  const auto units = [&](ByteCount bytes) { return (bytes + unit_ - 1) / unit_; };
  shape_.parts.push_back({.kind = PartKind::kExtent, .bytes_per_token = units(shape.row_bytes)});
  if (shape.has_state()) {
    shape_.parts.push_back({.kind = PartKind::kSnapshot, .bytes_fixed = units(shape.state_bytes)});
  }
}

Result<void> WeightlessEngine::prefill(SlotId, TokenSpan chunk, engine::LogitsOf) {
  const TokenPos begin = length_;
  length_ += length_of(chunk);
  clock_.pass(machine_.read_ms(model_, begin, length_));
  return {};
}

Result<void> WeightlessEngine::decode(std::span<const engine::DecodeStep> steps) {
  for (const engine::DecodeStep& step : steps) length_ += length_of(step.tokens);
  return {};
}

Result<engine::Sampled> WeightlessEngine::sample(SlotId, engine::Sampler&, TokenPos) {
  return Error{ErrorCode::kUnsupported, "there is no model to sample from", {}};
}

bool WeightlessEngine::can_truncate(SlotId, TokenPos position) const {
  return shape_.truncates_anywhere() || position == length_ || position == 0;
}

engine::TruncateAnswer WeightlessEngine::truncate(SlotId slot, TokenPos position) {
  if (!can_truncate(slot, position)) return engine::TruncateAnswer::kRefused;
  length_ = position;
  return engine::TruncateAnswer::kDone;
}

Result<engine::SavedState> WeightlessEngine::save(SlotId, engine::SaveScope scope) const {
  engine::SavedState saved;
  saved.scope = scope;
  saved.length = length_;
  saved.bytes = StateBytes(shape_.bytes_per_snapshot());
  pass_copying(saved.bytes.size());
  return saved;
}

Result<void> WeightlessEngine::load(SlotId, const engine::SavedStateView& state) {
  length_ = state.length;
  pass_copying(state.bytes.size());
  return {};
}

Result<engine::ExtentRows> WeightlessEngine::save_rows(SlotId, TokenPos begin, TokenPos end) const {
  engine::ExtentRows rows;
  rows.begin = begin;
  rows.end = end;
  rows.bytes = StateBytes(shape_.bytes_per_token() * static_cast<ByteCount>(end - begin));
  pass_copying(rows.bytes.size());
  return rows;
}

Result<std::vector<engine::ExtentRows>> WeightlessEngine::save_rows(
    SlotId slot, std::span<const TokenRange> blocks) const {
  std::vector<engine::ExtentRows> all;
  all.reserve(blocks.size());
  for (const TokenRange& block : blocks) {
    all.push_back(save_rows(slot, block.begin, block.end).value());
  }
  return all;
}

Result<void> WeightlessEngine::restore(SlotId, const engine::RestorePoint& point) {
  length_ = length_of(point.tokens);
  pass_copying(shape_.bytes_per_token() * static_cast<ByteCount>(length_) +
               (point.snapshot ? point.snapshot->bytes.size() : 0));
  return {};
}

}  // namespace holdfast::policy
