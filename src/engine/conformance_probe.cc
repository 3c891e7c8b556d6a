#include "engine/conformance_probe.h"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

namespace {

// Any tokens will do; those of a text are no better than others. The generator is written out, so
// that every machine and library forms the same batches.
Tokens any_tokens(TokenPos count, std::uint32_t vocabulary) {
  Tokens tokens;
  std::uint32_t random = 2463534242U;
  for (TokenPos i = 0; i < count; ++i) {
    random ^= random << 13U;
    random ^= random >> 17U;
    random ^= random << 5U;
    tokens.push_back(static_cast<Token>(random % vocabulary));
  }
  return tokens;
}

}  // namespace

EngineProbe::EngineProbe(Engine& engine, const ConformanceOptions& options)
    : engine_(engine),
      options_(options),
      slots_(options.together ? engine.slot_count() : 1),
      // What a very small context has room for.
      rows_(std::min(options.drafts ? engine.decode_tokens_max() : 1,
                     engine.context_tokens() - kHistory - kLengths)),
      stream_(any_tokens(std::max(stream_end(), longest_chunk()) + 1,
                         static_cast<std::uint32_t>(engine.logits_count()))) {}

TokenPos EngineProbe::longest_chunk() const {
  return std::min({options_.chunk, engine_.chunk_tokens_max(), engine_.context_tokens() - 1});
}

TokenSpan EngineProbe::tokens(TokenPos begin, TokenPos end) const {
  return TokenSpan(stream_).subspan(static_cast<std::size_t>(begin),
                                    static_cast<std::size_t>(end - begin));
}

Row EngineProbe::row_of(SlotId slot, TokenPos row) const {
  const auto logits = engine_.logits(slot, row);
  return {logits.begin(), logits.end()};
}

std::optional<Row> EngineProbe::read(SlotId slot, TokenSpan all,
                                     const std::vector<TokenPos>& pieces) {
  engine_.clear(slot);
  for (TokenPos piece : pieces) {
    while (piece > 0) {
      const TokenPos count = std::min(piece, engine_.chunk_tokens_max());
      const TokenSpan chunk = all.first(static_cast<std::size_t>(count));
      steps_ += 1.0 + static_cast<double>(count) / kTokensPerStep;
      if (!nobody_waits()) return std::nullopt;
      if (!done(engine_.prefill(slot, chunk, LogitsOf::kLastToken))) return std::nullopt;
      all = all.subspan(chunk.size());
      piece -= count;
    }
  }
  return row_of(slot);
}

bool EngineProbe::step(std::span<const DecodeStep> steps) {
  const auto rows = steps.size() * steps.front().tokens.size();
  steps_ += 1.0 + static_cast<double>(rows) / kTokensPerStep;
  return nobody_waits() && done(engine_.decode(steps));
}

std::optional<Row> EngineProbe::decode_one(SlotId slot, TokenSpan token) {
  const DecodeStep one{slot, token};
  if (!step({&one, 1})) return std::nullopt;
  return row_of(slot);
}

bool EngineProbe::nobody_waits() {
  interrupted_ = interrupted_ || (options_.wanted && options_.wanted());
  return !interrupted_;
}

Outcome EngineProbe::failed() { return {0.0, 0.0, std::exchange(error_, {})}; }

double EngineProbe::take_steps() { return std::exchange(steps_, 0.0); }

}  // namespace holdfast::engine
