// FakeEngine: an Engine whose state is a running hash of the tokens it has seen.
//
// Each part of the state is kept as the real one is: extents as one row a
// token, a window as the last rows, a snapshot as one value that is overwritten.
// The next token is a function of all parts, so a stale, torn, foreign or
// misplaced state changes the output at once.
//
// With `chunk_sensitive` each row also depends on the whole chunk that it was
// computed in, and on whether it was decoded or prefilled, as the last bits of
// real states do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/text.h"

namespace holdfast::engine {

enum class FakeKind { kAttention, kWindowed, kRecurrent, kHybrid };

enum class FakeOperation { kPrefill, kDecode, kTruncate, kSave, kLoad };
enum class FakeFault {
  kNone,
  kFail,     // the operation returns an Error and empties its slots
  kRefuse,   // truncate() only: kRefused although it would be possible
  kCorrupt,  // save() only: one byte is wrong and the checksum does not know
  kWrong,    // save() only: one byte is wrong and the checksum agrees
};

struct FakeOptions {
  FakeKind kind = FakeKind::kHybrid;
  int slots = 2;
  TokenPos context_tokens = 1024;
  TokenPos chunk_tokens_max = 64;
  TokenPos window = 32;
  TokenPos rollback_depth = 0;
  TokenPos decode_tokens_max = 16;
  ByteCount snapshot_bytes = 8;  // of the recurrent part; a row has 8
  bool chunk_sensitive = false;
  // Asked before every operation.
  std::function<FakeFault(FakeOperation)> faults;
};

// Bytes are tokens 0..255; the rest are control tokens.
inline constexpr Token kFakeTurnStart = 256;
inline constexpr Token kFakeTurnEnd = 257;
inline constexpr int kFakeVocabulary = 258;

class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(FakeOptions options);

  [[nodiscard]] const StateShape& shape() const override { return shape_; }
  [[nodiscard]] int slot_count() const override { return options_.slots; }
  [[nodiscard]] TokenPos context_tokens() const override { return options_.context_tokens; }
  [[nodiscard]] TokenPos chunk_tokens_max() const override { return options_.chunk_tokens_max; }
  [[nodiscard]] TokenPos length(SlotId slot) const override { return state(slot).length; }
  [[nodiscard]] TokenPos decode_tokens_max() const override { return options_.decode_tokens_max; }
  [[nodiscard]] bool can_take_back(TokenPos count) const override;
  [[nodiscard]] Result<void> prefill(SlotId slot, TokenSpan chunk, LogitsOf logits) override;
  [[nodiscard]] Result<void> decode(std::span<const DecodeStep> steps) override;
  [[nodiscard]] Result<Sampled> sample(SlotId slot, Sampler& sampler, TokenPos row) override;
  [[nodiscard]] std::span<const float> logits(SlotId slot, TokenPos row) override;
  [[nodiscard]] bool can_sample_kept() const override { return true; }
  [[nodiscard]] std::size_t logits_count() const override;
  [[nodiscard]] Result<Sampled> sample_kept(std::span<const float> logits,
                                            Sampler& sampler) override;
  [[nodiscard]] TruncateAnswer truncate(SlotId slot, TokenPos position) override;
  [[nodiscard]] bool can_truncate(SlotId slot, TokenPos position) const override;
  void clear(SlotId slot) override;
  [[nodiscard]] Result<SavedState> save(SlotId slot, SaveScope scope) const override;
  [[nodiscard]] Result<void> load(SlotId slot, const SavedStateView& saved) override;
  [[nodiscard]] Result<ExtentRows> save_rows(SlotId slot, TokenPos begin,
                                             TokenPos end) const override;
  [[nodiscard]] Result<std::vector<ExtentRows>> save_rows(
      SlotId slot, std::span<const TokenRange> blocks) const override;
  [[nodiscard]] Result<void> restore(SlotId slot, const RestorePoint& point) override;
  [[nodiscard]] Result<void> normalize(SlotId) override { return {}; }
  void wait() const override {}
  [[nodiscard]] std::vector<std::string> check() const override;

  // Work done so far, for tests that count it.
  [[nodiscard]] std::uint64_t tokens_prefilled() const { return tokens_prefilled_; }
  // How many tokens the slots of a decode were given.
  [[nodiscard]] const std::set<std::size_t>& decode_sizes() const { return decode_sizes_; }

 private:
  struct State {
    TokenPos length = 0;
    std::vector<std::uint64_t> rows;    // extents: one for each token
    std::vector<std::uint64_t> window;  // the last `window` rows at most
    std::uint64_t recurrent = 0;
    std::vector<std::uint64_t> undo;     // recurrent values before the last tokens
    std::vector<std::uint64_t> outputs;  // what the logits of the latest tokens follow from
  };

  [[nodiscard]] bool has(PartKind kind) const { return shape_.find(kind) != nullptr; }
  [[nodiscard]] const State& state(SlotId slot) const;
  [[nodiscard]] State& state(SlotId slot);
  [[nodiscard]] FakeFault fault(FakeOperation operation) const;
  void append(State& state, Token token, std::uint64_t how);
  void forget_outputs();
  [[nodiscard]] std::uint64_t digest(const State& state) const;

  FakeOptions options_;
  StateShape shape_;
  std::vector<State> states_;
  std::vector<float> logits_;
  std::uint64_t tokens_prefilled_ = 0;
  std::set<std::size_t> decode_sizes_;
};

// Bytes as tokens, ChatML as template, the largest logit as sampler.
class FakeText final : public TextModel {
 public:
  FakeText();
  void set_fill(const FillTokens& fill) { card_.fill = fill; }  // before use

  [[nodiscard]] const ModelCard& card() const override { return card_; }
  [[nodiscard]] Tokens tokenize(std::string_view text, bool add_special,
                                bool parse_special) const override;
  [[nodiscard]] Tokens tokenize_prompt(std::string_view text, bool add_special,
                                       std::span<const TextRange> literal) const override;
  // "</s>" is the longest token.
  [[nodiscard]] std::int64_t tokens_at_least(std::string_view text) const override {
    return static_cast<std::int64_t>(text.size() / 4);
  }
  [[nodiscard]] std::string piece(Token token, bool special) const override;
  [[nodiscard]] bool ends_generation(Token token) const override { return token == kFakeTurnEnd; }
  [[nodiscard]] std::vector<Tokens> turn_ends() const override { return {{kFakeTurnEnd}}; }
  [[nodiscard]] Result<RenderedChat> render(const ChatInput& input) const override;
  [[nodiscard]] std::vector<MessageSpan> message_spans(const RenderedChat& chat,
                                                       TokenSpan tokens) const override;
  [[nodiscard]] Result<std::unique_ptr<Sampler>> make_sampler(
      const SamplingParams& params, const ReplyFormat* format) const override;
  [[nodiscard]] std::unique_ptr<ReplyParser> make_parser(const ReplyFormat& format) const override;

 private:
  ModelCard card_;
};

}  // namespace holdfast::engine
