#include "engine/testing/fake.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/hash.h"

namespace holdfast::engine {

namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const std::array<std::uint64_t, 2> both{a, b};
  return hash_bytes(std::as_bytes(std::span(both)), 0x5eed);
}

constexpr std::uint64_t kHowPrefilled = 1;
constexpr std::uint64_t kHowDecoded = 2;
constexpr std::uint64_t kChunkEnd = 3;

StateShape shape_of(const FakeOptions& options) {
  StateShape shape;
  const bool attention = options.kind == FakeKind::kAttention || options.kind == FakeKind::kHybrid;
  const bool recurrent = options.kind == FakeKind::kRecurrent || options.kind == FakeKind::kHybrid;
  if (attention || options.kind == FakeKind::kWindowed) {
    shape.parts.push_back({.kind = PartKind::kExtent, .bytes_per_token = 8});
  }
  if (options.kind == FakeKind::kWindowed) {
    shape.parts.push_back(
        {.kind = PartKind::kWindow, .bytes_per_token = 8, .window = options.window});
  }
  if (recurrent) {
    shape.parts.push_back({.kind = PartKind::kSnapshot,
                           .bytes_fixed = options.snapshot_bytes,
                           .rollback_depth = options.rollback_depth});
  }
  return shape;
}

void put(StateBytes& out, std::uint64_t value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::uint64_t take(std::span<const std::byte>& in) {
  std::uint64_t value = 0;
  std::memcpy(&value, in.data(), sizeof value);
  in = in.subspan(sizeof value);
  return value;
}

Error failure(std::string message) { return {ErrorCode::kEngine, std::move(message), ""}; }

class FakeSampler final : public Sampler {
 public:
  void accept_prompt(TokenSpan) override {}
  [[nodiscard]] Result<void> accept(Token) override { return {}; }
  [[nodiscard]] std::uint32_t seed() const override { return 0; }
};

class FakeFormat final : public ReplyFormat {};

class FakeParser final : public ReplyParser {
 public:
  std::vector<ReplyDelta> feed(std::string_view text) override {
    reply_.content += text;
    ReplyDelta delta;
    delta.content = std::string(text);
    return {delta};
  }
  std::vector<ReplyDelta> finish() override { return {}; }
  [[nodiscard]] const Reply& reply() const override { return reply_; }

 private:
  Reply reply_;
};

}  // namespace

FakeEngine::FakeEngine(FakeOptions options)
    : options_(std::move(options)),
      shape_(shape_of(options_)),
      states_(static_cast<std::size_t>(options_.slots)) {}

const FakeEngine::State& FakeEngine::state(SlotId slot) const {
  CHECK(slot.value >= 0 && slot.value < options_.slots);
  return states_[static_cast<std::size_t>(slot.value)];
}

FakeEngine::State& FakeEngine::state(SlotId slot) {
  return const_cast<State&>(std::as_const(*this).state(slot));
}

FakeFault FakeEngine::fault(FakeOperation operation) const {
  return options_.faults ? options_.faults(operation) : FakeFault::kNone;
}

void FakeEngine::forget_outputs() {
  for (State& state : states_) {
    state.outputs.clear();
    state.undo.clear();
  }
}

// A row depends on its token, its place and everything the state held before.
void FakeEngine::append(State& state, Token token, std::uint64_t how) {
  const std::uint64_t input =
      mix(static_cast<std::uint64_t>(token), options_.chunk_sensitive ? how : 0);
  const std::uint64_t row =
      mix(mix(digest(state), input), static_cast<std::uint64_t>(state.length));
  if (has(PartKind::kSnapshot)) {
    state.undo.push_back(state.recurrent);
    state.recurrent = mix(state.recurrent, input);
  }
  if (has(PartKind::kExtent)) state.rows.push_back(row);
  if (has(PartKind::kWindow)) {
    state.window.push_back(row);
    if (static_cast<TokenPos>(state.window.size()) > options_.window) {
      state.window.erase(state.window.begin());
    }
  }
  ++state.length;
}

std::uint64_t FakeEngine::digest(const State& state) const {
  std::uint64_t sum = static_cast<std::uint64_t>(state.length);
  if (has(PartKind::kExtent) && !state.rows.empty()) {
    sum = mix(sum, state.rows.back());
    sum = mix(sum, state.rows[state.rows.size() / 2]);
    sum = mix(sum, state.rows.size());
  }
  if (has(PartKind::kWindow) && !state.window.empty()) sum = mix(sum, state.window.front());
  if (has(PartKind::kSnapshot)) sum = mix(sum, state.recurrent);
  return sum;
}

Result<void> FakeEngine::prefill(SlotId slot, TokenSpan chunk, LogitsOf logits) {
  CHECK(!chunk.empty() && length_of(chunk) <= options_.chunk_tokens_max);
  CHECK(length(slot) + length_of(chunk) <= options_.context_tokens);
  forget_outputs();
  if (fault(FakeOperation::kPrefill) == FakeFault::kFail) {
    clear(slot);
    return failure("prefill was told to fail");
  }
  State& now = state(slot);
  // As in a real batch: the bits of each row depend on all that is computed with it.
  const std::uint64_t how = mix(kHowPrefilled, hash_bytes(std::as_bytes(chunk)));
  for (const Token token : chunk) append(now, token, how);
  if (options_.chunk_sensitive) {
    if (has(PartKind::kSnapshot)) now.recurrent = mix(now.recurrent, kChunkEnd);
    if (has(PartKind::kExtent)) now.rows.back() = mix(now.rows.back(), kChunkEnd);
  }
  if (logits == LogitsOf::kLastToken) now.outputs.push_back(digest(now));
  tokens_prefilled_ += chunk.size();
  return {};
}

Result<void> FakeEngine::decode(std::span<const DecodeStep> steps) {
  CHECK(!steps.empty());
  forget_outputs();
  if (fault(FakeOperation::kDecode) == FakeFault::kFail) {
    for (const DecodeStep& step : steps) clear(step.slot);
    return failure("decode was told to fail");
  }
  const std::size_t count = steps.front().tokens.size();
  CHECK(count >= 1 && static_cast<TokenPos>(count) <= options_.decode_tokens_max);
  decode_sizes_.insert(count);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& [slot, tokens] = steps[i];
    CHECK(tokens.size() == count && length(slot) + length_of(tokens) <= options_.context_tokens);
    CHECK(i == 0 || steps[i - 1].slot < slot);
    CHECK(i == 0 || count == 1 || steps[i - 1].slot.value + 1 == slot.value);
    State& now = state(slot);
    for (const Token token : tokens) {
      append(now, token, kHowDecoded);
      now.outputs.push_back(digest(now));
    }
  }
  return {};
}

// Letters, and now and then the end of a turn.
std::span<const float> FakeEngine::logits(SlotId slot, TokenPos row) {
  const auto& outputs = state(slot).outputs;
  CHECK(row >= 0 && row < static_cast<TokenPos>(outputs.size()));
  const std::uint64_t hash = outputs[static_cast<std::size_t>(row)];
  logits_.assign(kFakeVocabulary, 0.0F);
  const bool ends = (hash >> 32) % 64 == 0;
  logits_[ends ? kFakeTurnEnd : 'a' + hash % 26] = 1.0F;
  return logits_;
}

Result<Sampled> FakeEngine::sample(SlotId slot, Sampler& sampler, TokenPos row) {
  return sample_kept(logits(slot, row), sampler);
}

std::size_t FakeEngine::logits_count() const { return kFakeVocabulary; }

Result<Sampled> FakeEngine::sample_kept(std::span<const float> values, Sampler&) {
  if (values.size() != logits_count()) {
    return Error{ErrorCode::kEngine, "Logits that were kept cannot be used.", ""};
  }
  Sampled sampled;
  sampled.token = static_cast<Token>(std::ranges::max_element(values) - values.begin());
  return sampled;
}

bool FakeEngine::can_truncate(SlotId slot, TokenPos position) const {
  const State& now = state(slot);
  if (position < 0 || position > now.length) return false;
  if (position == 0 || position == now.length) return true;
  const TokenPos removed = now.length - position;
  if (has(PartKind::kSnapshot)) {
    const auto planes = static_cast<TokenPos>(now.undo.size()) - 1;
    return removed <= std::min(options_.rollback_depth, planes);
  }
  if (has(PartKind::kWindow)) {
    const TokenPos oldest = now.length - static_cast<TokenPos>(now.window.size());
    return oldest <= std::max(0, position - options_.window);
  }
  return true;
}

TruncateAnswer FakeEngine::truncate(SlotId slot, TokenPos position) {
  if (!can_truncate(slot, position) || fault(FakeOperation::kTruncate) == FakeFault::kRefuse) {
    return TruncateAnswer::kRefused;
  }
  State& now = state(slot);
  if (position == now.length) return TruncateAnswer::kDone;
  if (position == 0) {
    clear(slot);
    return TruncateAnswer::kDone;
  }
  const auto removed = static_cast<std::size_t>(now.length - position);
  if (has(PartKind::kSnapshot)) now.recurrent = now.undo[now.undo.size() - removed];
  if (has(PartKind::kExtent)) now.rows.resize(static_cast<std::size_t>(position));
  if (has(PartKind::kWindow)) now.window.resize(now.window.size() - removed);
  now.length = position;
  now.outputs.clear();
  now.undo.clear();
  return TruncateAnswer::kDone;
}

bool FakeEngine::can_take_back(TokenPos count) const {
  if (has(PartKind::kWindow)) return false;  // it holds no more than its window
  return !has(PartKind::kSnapshot) || count <= options_.rollback_depth;
}

void FakeEngine::clear(SlotId slot) { state(slot) = State{}; }

Result<SavedState> FakeEngine::save(SlotId slot, SaveScope scope) const {
  const State& now = state(slot);
  if (now.length == 0) return invalid_argument("slot", "An empty slot has no state to save.");
  if (scope == SaveScope::kSnapshot && shape_.truncates_anywhere()) {
    return Error{ErrorCode::kUnsupported, "This model's state has no part to snapshot.", ""};
  }
  const FakeFault wanted = fault(FakeOperation::kSave);
  if (wanted == FakeFault::kFail) return failure("save was told to fail");
  SavedState saved{.scope = scope, .length = now.length, .checksum = 0, .bytes = {}};
  put(saved.bytes, now.recurrent);
  if (has(PartKind::kSnapshot)) saved.bytes.resize(options_.snapshot_bytes);  // the rest is filling
  put(saved.bytes, now.window.size());
  for (const std::uint64_t row : now.window) put(saved.bytes, row);
  if (scope == SaveScope::kWhole) {
    for (const std::uint64_t row : now.rows) put(saved.bytes, row);
  }
  if (wanted == FakeFault::kWrong) saved.bytes.front() ^= std::byte{1};
  saved.checksum = hash_bytes(saved.bytes);
  if (wanted == FakeFault::kCorrupt) saved.bytes.back() ^= std::byte{1};
  return saved;
}

Result<void> FakeEngine::load(SlotId slot, const SavedStateView& saved) {
  const auto refuse = [&](const char* why) -> Result<void> {
    clear(slot);
    return failure(std::string("A saved state was refused: ") + why);
  };
  State& now = state(slot);
  const bool keeps_extents = saved.scope == SaveScope::kSnapshot;
  if (fault(FakeOperation::kLoad) == FakeFault::kFail) return refuse("load was told to fail.");
  if (saved.length <= 0) return refuse("it holds no token.");
  if (keeps_extents && has(PartKind::kExtent) && now.length < saved.length) {
    return refuse("the slot holds fewer tokens than the snapshot.");
  }
  if (hash_bytes(saved.bytes) != saved.checksum) return refuse("its bytes are damaged.");
  const std::size_t filling = has(PartKind::kSnapshot) ? options_.snapshot_bytes - 8 : 0;
  if (saved.bytes.size() < 16 + filling) return refuse("it is too short.");
  std::span<const std::byte> bytes(saved.bytes);
  State fresh;
  fresh.length = saved.length;
  fresh.recurrent = take(bytes);
  bytes = bytes.subspan(filling);
  const std::uint64_t window_rows = take(bytes);
  if (bytes.size() < window_rows * 8) return refuse("it is too short.");
  for (std::uint64_t i = 0; i < window_rows; ++i) fresh.window.push_back(take(bytes));
  if (keeps_extents) {
    fresh.rows = now.rows;
    fresh.rows.resize(has(PartKind::kExtent) ? static_cast<std::size_t>(saved.length) : 0);
  } else {
    while (!bytes.empty()) fresh.rows.push_back(take(bytes));
    const std::size_t wanted = has(PartKind::kExtent) ? static_cast<std::size_t>(saved.length) : 0;
    if (fresh.rows.size() != wanted) return refuse("it is not of the length it claims.");
  }
  now = std::move(fresh);
  return {};
}

Result<ExtentRows> FakeEngine::save_rows(SlotId slot, TokenPos begin, TokenPos end) const {
  CHECK(begin >= 0 && begin < end && end <= length(slot));
  if (!has(PartKind::kExtent)) {
    return Error{ErrorCode::kUnsupported, "This model's state has no extents.", ""};
  }
  const FakeFault wanted = fault(FakeOperation::kSave);
  if (wanted == FakeFault::kFail) return failure("save was told to fail");
  ExtentRows rows{begin, end, 0, {}};
  for (TokenPos i = begin; i < end; ++i)
    put(rows.bytes, state(slot).rows[static_cast<std::size_t>(i)]);
  if (wanted == FakeFault::kWrong) rows.bytes.front() ^= std::byte{1};
  rows.checksum = hash_bytes(rows.bytes);
  if (wanted == FakeFault::kCorrupt) rows.bytes.back() ^= std::byte{1};
  return rows;
}

Result<std::vector<ExtentRows>> FakeEngine::save_rows(SlotId slot,
                                                      std::span<const TokenRange> blocks) const {
  std::vector<ExtentRows> all;
  for (const TokenRange& block : blocks) {
    auto rows = save_rows(slot, block.begin, block.end);
    if (!rows) return rows.error();
    all.push_back(std::move(*rows));
  }
  return all;
}

Result<void> FakeEngine::restore(SlotId slot, const RestorePoint& point) {
  const auto refuse = [&](const char* why) -> Result<void> {
    clear(slot);
    return failure(std::string("A saved state was refused: ") + why);
  };
  if (fault(FakeOperation::kLoad) == FakeFault::kFail) return refuse("load was told to fail.");
  const TokenPos length = length_of(point.tokens);
  State fresh;
  for (const RowsView& rows : point.rows) {
    if (rows.begin != static_cast<TokenPos>(fresh.rows.size())) return refuse("it has a gap.");
    if (hash_bytes(rows.bytes) != rows.checksum) return refuse("its bytes are damaged.");
    auto bytes = rows.bytes.subspan(static_cast<std::size_t>(rows.begin - rows.block_begin) * 8,
                                    static_cast<std::size_t>(rows.end - rows.begin) * 8);
    while (!bytes.empty()) fresh.rows.push_back(take(bytes));
  }
  if (has(PartKind::kExtent)) {
    if (static_cast<TokenPos>(fresh.rows.size()) < length) return refuse("it has a gap.");
    fresh.rows.resize(static_cast<std::size_t>(length));
  }
  fresh.length = length;
  state(slot) = std::move(fresh);
  if (shape_.truncates_anywhere()) return {};
  if (!point.snapshot || point.snapshot->length != length) {
    return refuse("its snapshot is of another length.");
  }
  return load(slot, *point.snapshot);
}

std::vector<std::string> FakeEngine::check() const {
  std::vector<std::string> violations;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    if (has(PartKind::kExtent) && state.rows.size() != static_cast<std::size_t>(state.length)) {
      violations.push_back("ENGINE-1: slot " + std::to_string(i) + " has another number of rows");
    }
    if (state.length < 0 || state.length > options_.context_tokens) {
      violations.push_back("ENGINE-2: slot " + std::to_string(i) + " is too long");
    }
  }
  return violations;
}

// --- text ----------------------------------------------------------------------

FakeText::FakeText() {
  card_.name = "fake";
  card_.architecture = "fake";
  card_.vocabulary = kFakeVocabulary;
  card_.context_train = 1024;
}

Tokens FakeText::tokenize(std::string_view text, bool, bool parse_special) const {
  Tokens tokens;
  while (!text.empty()) {
    if (parse_special && text.starts_with("<s>")) {
      tokens.push_back(kFakeTurnStart);
      text.remove_prefix(3);
    } else if (parse_special && text.starts_with("</s>")) {
      tokens.push_back(kFakeTurnEnd);
      text.remove_prefix(4);
    } else {
      tokens.push_back(static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    }
  }
  return tokens;
}

Tokens FakeText::tokenize_prompt(std::string_view text, bool add_special,
                                 std::span<const TextRange> literal) const {
  Tokens tokens;
  std::size_t at = 0;
  const auto read = [&](std::size_t end, bool special) {
    const Tokens some = tokenize(text.substr(at, end - at), add_special, special);
    tokens.insert(tokens.end(), some.begin(), some.end());
    at = end;
  };
  for (const TextRange& range : literal) {
    read(range.begin, true);
    read(range.end, false);
  }
  read(text.size(), true);
  return tokens;
}

std::string FakeText::piece(Token token, bool special) const {
  if (token < 256) return std::string(1, static_cast<char>(token));
  if (!special) return {};
  return token == kFakeTurnStart ? "<s>" : "</s>";
}

// The messages as they are: enough for a server to have something to send.
Result<RenderedChat> FakeText::render(const ChatInput& input) const {
  RenderedChat chat;
  chat.generation_prompt = "<s>assistant:";
  chat.prompt = "<s>" + input.messages_json + "</s>" + chat.generation_prompt;
  chat.format = std::make_shared<const FakeFormat>();
  return chat;
}

std::vector<MessageSpan> FakeText::message_spans(const RenderedChat&, TokenSpan tokens) const {
  return {{Role::kUser, 0, length_of(tokens)}};
}

Result<std::unique_ptr<Sampler>> FakeText::make_sampler(const SamplingParams&,
                                                        const ReplyFormat*) const {
  return std::unique_ptr<Sampler>(std::make_unique<FakeSampler>());
}

std::unique_ptr<ReplyParser> FakeText::make_parser(const ReplyFormat&) const {
  return std::make_unique<FakeParser>();
}

}  // namespace holdfast::engine
