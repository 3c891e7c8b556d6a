// The engine on tiny random models of every architecture: each trap of the
// library (llama_engine.h, LLAMA-1 to LLAMA-12) is a refusal here, and every way back to a
// state gives the bits of a run that never left it.
#include "engine/llama/llama_engine.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/hash.h"
#include "engine/llama/testing/tiny_models.h"

namespace holdfast::llama {
namespace {

using llama::TinySpec;
using llama::write_tiny_model;

constexpr SlotId kSlot{0};
constexpr SlotId kOther{1};
constexpr TokenPos kChunk = 64;

// A temporary file that is gone with the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("holdfast-" + std::to_string(::getpid()) + "-" + name)) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

LoadedModel load_tiny(const std::string& arch, LlamaConfig config = {}) {
  const TemporaryFile file(arch + ".gguf");
  const auto written = write_tiny_model(TinySpec{arch}, 42, file.path());
  EXPECT_TRUE(written.ok()) << written.error().message;
  config.model_path = file.path();
  if (config.context_tokens == 0) config.context_tokens = 1024;
  config.slots = 2;
  config.threads = 1;  // tests share their cores
  config.ubatch = 128;
  config.use_mmap = false;
  auto loaded = load_llama_model(config, nullptr);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return std::move(*loaded);
}

Tokens random_tokens(TokenPos count, unsigned seed) {
  std::mt19937 random(seed);
  Tokens tokens(static_cast<std::size_t>(count));
  for (Token& token : tokens) token = static_cast<Token>(random() % 256);
  return tokens;
}

void prefill(engine::Engine& engine, SlotId slot, TokenSpan tokens) {
  while (!tokens.empty()) {
    const auto n = std::min<std::size_t>(kChunk, tokens.size());
    const bool last = n == tokens.size();
    const auto run = engine.prefill(slot, tokens.first(n),
                                    last ? engine::LogitsOf::kLastToken : engine::LogitsOf::kNone);
    ASSERT_TRUE(run.ok()) << run.error().message;
    tokens = tokens.subspan(n);
  }
}

// Logits of the next `count` greedy tokens, as bytes to compare.
std::vector<float> decode_greedily(engine::Engine& engine, SlotId slot, int count) {
  std::vector<float> all;
  for (int i = 0; i < count; ++i) {
    const auto row = engine.logits(slot);
    all.insert(all.end(), row.begin(), row.end());
    const auto best = std::ranges::max_element(row) - row.begin();
    const auto token = static_cast<Token>(best);
    const engine::DecodeStep step{slot, {&token, 1}};
    EXPECT_TRUE(engine.decode({&step, 1}).ok());
  }
  return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void expect_sound(const engine::Engine& engine) {
  const auto violations = engine.check();
  EXPECT_TRUE(violations.empty()) << violations.front();
}

// What a slot that has read nothing else answers.
std::vector<float> cold_logits(engine::Engine& engine, const Tokens& prompt, int count) {
  engine.clear(kOther);
  prefill(engine, kOther, prompt);
  auto logits = decode_greedily(engine, kOther, count);
  engine.clear(kOther);
  return logits;
}

Tokens joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// --- every architecture --------------------------------------------------------

class EveryArchitecture : public ::testing::TestWithParam<std::string> {
 protected:
  LoadedModel model_ = load_tiny(GetParam());
  engine::Engine& engine_ = *model_.engine;
  const Tokens head_ = random_tokens(2 * kChunk, 1);
  const Tokens tail_ = random_tokens(kChunk, 2);
  const Tokens other_tail_ = random_tokens(kChunk, 3);
};

TEST_P(EveryArchitecture, TwoSlotsGiveTheSameBits) {
  prefill(engine_, kSlot, head_);
  const auto first = decode_greedily(engine_, kSlot, 10);
  EXPECT_TRUE(same_bits(first, cold_logits(engine_, head_, 10)));
  expect_sound(engine_);
}

TEST_P(EveryArchitecture, AWholeStateContinuesElsewhereBitForBit) {
  prefill(engine_, kSlot, head_);
  const auto saved = engine_.save(kSlot, engine::SaveScope::kWhole);
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  prefill(engine_, kOther, other_tail_);  // what was there must not matter
  const auto loaded = engine_.load(kOther, *saved);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  expect_sound(engine_);
  prefill(engine_, kOther, tail_);
  const auto restored = decode_greedily(engine_, kOther, 10);
  EXPECT_TRUE(same_bits(restored, cold_logits(engine_, joined(head_, tail_), 10)));
}

TEST_P(EveryArchitecture, ASnapshotGoesBackBitForBit) {
  prefill(engine_, kSlot, head_);
  const auto snapshot = engine_.save(kSlot, engine::SaveScope::kSnapshot);
  if (engine_.shape().truncates_anywhere()) {  // LLAMA-8
    ASSERT_FALSE(snapshot.ok());
    EXPECT_EQ(snapshot.error().code, ErrorCode::kUnsupported);
    return;
  }
  ASSERT_TRUE(snapshot.ok()) << snapshot.error().message;
  prefill(engine_, kSlot, other_tail_);
  const auto loaded = engine_.load(kSlot, *snapshot);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(engine_.length(kSlot), length_of(head_));
  expect_sound(engine_);
  prefill(engine_, kSlot, tail_);
  const auto restored = decode_greedily(engine_, kSlot, 10);
  EXPECT_TRUE(same_bits(restored, cold_logits(engine_, joined(head_, tail_), 10)));
}

TEST_P(EveryArchitecture, ACutIsExactOrRefusedWithNothingChanged) {
  prefill(engine_, kSlot, joined(head_, other_tail_));
  const engine::TruncateAnswer answer = engine_.truncate(kSlot, length_of(head_));
  expect_sound(engine_);
  if (answer == engine::TruncateAnswer::kDone) {
    prefill(engine_, kSlot, tail_);
    const auto after = decode_greedily(engine_, kSlot, 5);
    EXPECT_TRUE(same_bits(after, cold_logits(engine_, joined(head_, tail_), 5)));
  } else {
    EXPECT_EQ(engine_.length(kSlot), length_of(head_) + length_of(other_tail_));
    prefill(engine_, kSlot, tail_);
    const auto after = decode_greedily(engine_, kSlot, 5);
    const Tokens whole = joined(joined(head_, other_tail_), tail_);
    EXPECT_TRUE(same_bits(after, cold_logits(engine_, whole, 5)));
  }
}

// LLAMA-6, LLAMA-7: whatever is wrong with a state, the slot is empty afterwards and works.
TEST_P(EveryArchitecture, BadStatesAreRefusedAndLeaveAnEmptySlot) {
  prefill(engine_, kSlot, head_);
  const auto good = engine_.save(kSlot, engine::SaveScope::kWhole);
  ASSERT_TRUE(good.ok());
  std::vector<engine::SavedState> bad(6, *good);
  bad[0].length = 0;                                      // empty
  bad[1].length += 1;                                     // claims more than it holds
  bad[2].bytes[bad[2].bytes.size() / 2] ^= std::byte{4};  // damaged
  bad[3].bytes.resize(bad[3].bytes.size() / 2);           // short, checksum made to fit
  bad[4].bytes[0] ^= std::byte{1};                        // foreign head
  bad[5].bytes.clear();
  for (std::size_t i = 0; i < bad.size(); ++i) {
    if (i >= 3) bad[i].checksum = hash_bytes(bad[i].bytes);
    EXPECT_FALSE(engine_.load(kOther, bad[i]).ok()) << "case " << i;
    EXPECT_EQ(engine_.length(kOther), 0) << "case " << i;
    expect_sound(engine_);
  }
  prefill(engine_, kSlot, tail_);
  const auto after = decode_greedily(engine_, kSlot, 5);
  EXPECT_TRUE(same_bits(after, cold_logits(engine_, joined(head_, tail_), 5)));
}

// The rows of a slot in blocks, as a cache keeps them.
std::vector<engine::ExtentRows> save_blocks(const engine::Engine& engine, SlotId slot,
                                            TokenPos block) {
  std::vector<engine::ExtentRows> blocks;
  if (engine.shape().find(PartKind::kExtent) == nullptr) return blocks;
  for (TokenPos at = 0; at < engine.length(slot); at += block) {
    auto rows = engine.save_rows(slot, at, std::min(at + block, engine.length(slot)));
    EXPECT_TRUE(rows.ok()) << rows.error().message;
    blocks.push_back(std::move(*rows));
  }
  return blocks;
}

std::vector<engine::RowsView> views_of(const std::vector<engine::ExtentRows>& blocks) {
  return {blocks.begin(), blocks.end()};
}

std::optional<engine::SavedStateView> view_if(bool wanted, const engine::SavedState& state) {
  return wanted ? std::optional<engine::SavedStateView>(state) : std::nullopt;
}

TEST_P(EveryArchitecture, RowsAndASnapshotComeBackBitForBit) {
  const bool needs_snapshot = !engine_.shape().truncates_anywhere();
  prefill(engine_, kSlot, head_);
  engine::SavedState snapshot;
  if (needs_snapshot) snapshot = engine_.save(kSlot, engine::SaveScope::kSnapshot).value();
  prefill(engine_, kSlot, other_tail_);  // rows beyond the point that is restored
  const auto blocks = save_blocks(engine_, kSlot, 48);
  const auto rows = views_of(blocks);
  engine_.clear(kSlot);
  prefill(engine_, kOther, tail_);  // what was there must not matter

  const engine::RestorePoint point{head_, rows, view_if(needs_snapshot, snapshot)};
  const auto restored = engine_.restore(kOther, point);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_EQ(engine_.length(kOther), length_of(head_));
  expect_sound(engine_);
  prefill(engine_, kOther, tail_);
  const auto warm = decode_greedily(engine_, kOther, 30);
  EXPECT_TRUE(same_bits(warm, cold_logits(engine_, joined(head_, tail_), 30)));
}

TEST_P(EveryArchitecture, IncompleteRowsAreRefused) {
  const bool needs_snapshot = !engine_.shape().truncates_anywhere();
  prefill(engine_, kSlot, head_);
  engine::SavedState snapshot;
  if (needs_snapshot) snapshot = engine_.save(kSlot, engine::SaveScope::kSnapshot).value();
  auto blocks = save_blocks(engine_, kSlot, 32);
  const auto refused = [&](const std::vector<engine::RowsView>& rows,
                           const std::optional<engine::SavedStateView>& state) {
    return !engine_.restore(kOther, {head_, rows, state}).ok() && engine_.length(kOther) == 0;
  };
  const auto good = view_if(needs_snapshot, snapshot);
  if (!blocks.empty()) {
    auto gap = views_of(blocks);
    gap.erase(gap.begin() + 1);
    EXPECT_TRUE(refused(gap, good));
    auto short_of_the_end = views_of(blocks);
    short_of_the_end.pop_back();
    const bool rows_hold_something = !blocks[0].bytes.empty();  // not where all is windowed
    EXPECT_EQ(refused(short_of_the_end, good), rows_hold_something);
    blocks[0].checksum ^= 1;
    EXPECT_TRUE(refused(views_of(blocks), good)) << "damaged";
    blocks[0].checksum ^= 1;
  }
  if (needs_snapshot) {
    EXPECT_TRUE(refused(views_of(blocks), std::nullopt)) << "without a snapshot";
    engine::SavedState shifted = snapshot;
    shifted.length -= 1;
    EXPECT_TRUE(refused(views_of(blocks), shifted)) << "a snapshot of another place";
  }
  ASSERT_TRUE(engine_.restore(kOther, {head_, views_of(blocks), good}).ok());
  expect_sound(engine_);
}

// ROWMAP-3: a snapshot whose checksums are right may still come from a hostile file.
TEST_P(EveryArchitecture, AForgedSnapshotNeitherCrashesNorTakesMemory) {
  if (engine_.shape().truncates_anywhere()) return;
  prefill(engine_, kSlot, head_);
  const engine::SavedState snapshot = engine_.save(kSlot, engine::SaveScope::kSnapshot).value();
  const auto blocks = save_blocks(engine_, kSlot, 64);
  const auto restore = [&](const engine::SavedState& state) {
    return engine_.restore(kOther, {head_, views_of(blocks), engine::SavedStateView(state)}).ok();
  };
  ASSERT_TRUE(restore(snapshot));
  constexpr std::size_t kHead = 8, kFields = 160;
  for (std::size_t at = kHead; at < std::min(kFields, snapshot.bytes.size() - 4); at += 4) {
    for (const std::uint32_t value : {0U, 1U, 1000U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
      engine::SavedState forged = snapshot;
      std::memcpy(forged.bytes.data() + at, &value, sizeof value);
      forged.checksum = hash_bytes(forged.bytes);
      EXPECT_TRUE(restore(forged) || engine_.length(kOther) == 0);
      expect_sound(engine_);
    }
  }
  for (std::size_t length = kHead; length < snapshot.bytes.size(); length += 997) {
    engine::SavedState cut = snapshot;
    cut.bytes.resize(length);
    cut.checksum = hash_bytes(cut.bytes);
    EXPECT_FALSE(restore(cut)) << length;
  }
  EXPECT_TRUE(restore(snapshot));
}

// Kept logits give the same tokens as when they were new, with any sampler, whatever has been
// computed since.
TEST_P(EveryArchitecture, KeptLogitsAreSampledAsNewOnes) {
  engine::SamplingParams greedy;
  greedy.temperature = 0.0F;
  engine::SamplingParams warm;
  warm.seed = 7;
  warm.temperature = 1.5F;
  engine::SamplingParams constrained = warm;
  constrained.grammar = "root ::= [a-c]+";
  constrained.top_logprobs = 3;
  for (const engine::SamplingParams& params : {greedy, warm, constrained}) {
    const auto sample = [&](const auto& choose) {
      auto sampler = model_.text->make_sampler(params, nullptr);
      EXPECT_TRUE(sampler.ok()) << sampler.error().message;
      auto sampled = choose(**sampler);
      EXPECT_TRUE(sampled.ok());
      return *sampled;
    };
    engine_.clear(kSlot);
    prefill(engine_, kSlot, head_);
    const auto row = engine_.logits(kSlot);
    const std::vector<float> kept(row.begin(), row.end());
    const engine::Sampled now =
        sample([&](engine::Sampler& sampler) { return engine_.sample(kSlot, sampler); });
    engine_.clear(kOther);
    prefill(engine_, kOther, tail_);
    ASSERT_TRUE(engine_.can_sample_kept());
    const engine::Sampled later =
        sample([&](engine::Sampler& sampler) { return engine_.sample_kept(kept, sampler); });
    EXPECT_EQ(later.token, now.token);
    EXPECT_EQ(later.logprob, now.logprob);
    EXPECT_EQ(later.top.size(), now.top.size());
  }
  ASSERT_TRUE(engine_.prefill(kOther, tail_, engine::LogitsOf::kNone).ok());
  EXPECT_FALSE(engine_.can_sample_kept()) << "the latest batch has no outputs to put them in";
}

// The first thing that a server does after a restart may be to restore a whole prompt.
TEST_P(EveryArchitecture, KeptLogitsCanBeSampledRightAfterTheFirstRestore) {
  const bool needs_snapshot = !engine_.shape().truncates_anywhere();
  prefill(engine_, kSlot, head_);
  engine::SavedState snapshot;
  if (needs_snapshot) snapshot = engine_.save(kSlot, engine::SaveScope::kSnapshot).value();
  const auto blocks = save_blocks(engine_, kSlot, 48);
  const auto row = engine_.logits(kSlot);
  LoadedModel fresh = load_tiny(GetParam());
  const auto rows = views_of(blocks);
  const engine::RestorePoint point{head_, rows, view_if(needs_snapshot, snapshot)};
  ASSERT_TRUE(fresh.engine->restore(kSlot, point).ok());
  ASSERT_EQ(fresh.engine->logits_count(), row.size());
  engine::SamplingParams greedy;
  greedy.temperature = 0.0F;
  auto sampler = fresh.text->make_sampler(greedy, nullptr);
  ASSERT_TRUE(sampler.ok());
  const auto sampled = fresh.engine->sample_kept(row, **sampler);
  ASSERT_TRUE(sampled.ok()) << sampled.error().message;
  EXPECT_EQ(sampled->token, std::ranges::max_element(row) - row.begin());
  EXPECT_FALSE(fresh.engine->sample_kept(row.first(3), **sampler).ok()) << "too few";
}

// LLAMA-10: a batch that fails leaves no half-applied tokens behind.
TEST_P(EveryArchitecture, AFailedChunkEmptiesItsSlotOnly) {
  prefill(engine_, kSlot, head_);
  prefill(engine_, kOther, tail_);
  const Tokens impossible = {1, 2, 1 << 30};
  EXPECT_FALSE(engine_.prefill(kSlot, impossible, engine::LogitsOf::kLastToken).ok());
  EXPECT_EQ(engine_.length(kSlot), 0);
  EXPECT_EQ(engine_.length(kOther), length_of(tail_));
  expect_sound(engine_);
}

INSTANTIATE_TEST_SUITE_P(Tiny, EveryArchitecture,
                         ::testing::Values("qwen35", "qwen35moe", "qwen3next", "jamba", "falcon-h1",
                                           "nemotron_h", "granitehybrid", "lfm2", "lfm2-swa",
                                           "kimi-linear", "mamba2", "gemma3", "gpt-oss", "llama",
                                           "deepseek2"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// --- what parts a model has -------------------------------------------------------

std::vector<PartKind> kinds_of(const StateShape& shape) {
  std::vector<PartKind> kinds;
  for (const Part& part : shape.parts) kinds.push_back(part.kind);
  return kinds;
}

TEST(LlamaShape, IsFoundByAskingTheLibrary) {
  using enum PartKind;
  EXPECT_EQ(kinds_of(load_tiny("llama").engine->shape()), (std::vector{kExtent}));
  EXPECT_EQ(kinds_of(load_tiny("gemma3").engine->shape()), (std::vector{kExtent, kWindow}));
  EXPECT_EQ(kinds_of(load_tiny("mamba2").engine->shape()), (std::vector{kSnapshot}));
  EXPECT_EQ(kinds_of(load_tiny("qwen35").engine->shape()), (std::vector{kExtent, kSnapshot}));
  // All of its attention is windowed: the cells that are left of extents hold no row.
  EXPECT_EQ(kinds_of(load_tiny("lfm2-swa").engine->shape()), (std::vector{kWindow, kSnapshot}));
}

TEST(LlamaShape, PredictsTheSizeOfASavedState) {
  const auto model = load_tiny("qwen35");
  prefill(*model.engine, kSlot, random_tokens(200, 9));
  const auto saved = model.engine->save(kSlot, engine::SaveScope::kWhole);
  ASSERT_TRUE(saved.ok());
  const StateShape& shape = model.engine->shape();
  const auto predicted = shape.bytes_per_token() * 200 + shape.bytes_per_snapshot();
  EXPECT_NEAR(static_cast<double>(saved->bytes.size()), static_cast<double>(predicted), 256.0);
}

// --- traps of single kinds ---------------------------------------------------------

// LLAMA-3: the library trims a window below what it still holds, and says nothing.
TEST(LlamaTraps, AWindowIsNotCutBelowWhatItHolds) {
  const auto model = load_tiny("gemma3");
  engine::Engine& engine = *model.engine;
  prefill(engine, kSlot, random_tokens(600, 5));
  EXPECT_FALSE(engine.can_truncate(kSlot, 100));
  EXPECT_EQ(engine.truncate(kSlot, 100), engine::TruncateAnswer::kRefused);
  EXPECT_EQ(engine.length(kSlot), 600);
}

// LLAMA-1: beyond the last batch the library answers true and keeps a stale state.
TEST(LlamaTraps, RollbackReachesOnlyIntoTheLastBatch) {
  const auto model = load_tiny("qwen35", {.rollback_depth = 3});
  engine::Engine& engine = *model.engine;
  ASSERT_EQ(engine.shape().find(PartKind::kSnapshot)->rollback_depth, 3);
  const Tokens head = random_tokens(kChunk, 1);
  const Tokens drafted = random_tokens(4, 2);
  prefill(engine, kSlot, head);
  prefill(engine, kSlot, drafted);
  EXPECT_FALSE(engine.can_truncate(kSlot, kChunk)) << "four of four tokens: one too many";
  ASSERT_EQ(engine.truncate(kSlot, kChunk + 2), engine::TruncateAnswer::kDone);
  EXPECT_FALSE(engine.can_truncate(kSlot, kChunk + 1)) << "one rollback a batch";
  const Tokens kept(drafted.begin(), drafted.begin() + 2);
  prefill(engine, kSlot, Tokens{7});
  const auto rolled_back = decode_greedily(engine, kSlot, 1);
  // The same tokens without the detour, in the same batches.
  engine.clear(kOther);
  prefill(engine, kOther, head);
  prefill(engine, kOther, drafted);
  ASSERT_EQ(engine.truncate(kOther, kChunk + 2), engine::TruncateAnswer::kDone);
  prefill(engine, kOther, Tokens{7});
  EXPECT_TRUE(same_bits(rolled_back, decode_greedily(engine, kOther, 1)));
  // And near the logits of a run that never drafted.
  engine.clear(kOther);
  prefill(engine, kOther, joined(joined(head, kept), Tokens{7}));
  const auto direct = decode_greedily(engine, kOther, 1);
  for (std::size_t i = 0; i < direct.size(); ++i) ASSERT_NEAR(rolled_back[i], direct[i], 0.05);

  EXPECT_FALSE(engine.can_truncate(kSlot, engine.length(kSlot) - 1)) << "after a single token";
}

// A batch writes the planes that it can use, and steps of other sizes lie between.
class TakingBack : public ::testing::TestWithParam<std::string> {};

TEST_P(TakingBack, ReachesAsFarAsTheBatchIsLong) {
  const auto model = load_tiny(GetParam(), {.rollback_depth = 3});
  engine::Engine& engine = *model.engine;
  ASSERT_EQ(engine.shape().find(PartKind::kSnapshot)->rollback_depth, 3);
  const auto logits_after = [&](SlotId slot, TokenPos read, TokenPos back) {
    engine.clear(slot);
    prefill(engine, slot, random_tokens(kChunk, 1));
    prefill(engine, slot, random_tokens(1, 2));
    const Tokens drafted = random_tokens(4, 3);
    prefill(engine, slot, Tokens(drafted.begin(), drafted.begin() + read));
    EXPECT_EQ(engine.truncate(slot, engine.length(slot) - back), engine::TruncateAnswer::kDone);
    prefill(engine, slot, Tokens{7});
    return decode_greedily(engine, slot, 1);
  };
  for (TokenPos read = 2; read <= 4; ++read) {
    for (TokenPos back = 1; back < read; ++back) {
      SCOPED_TRACE(std::to_string(back) + " of " + std::to_string(read) + " taken back");
      const auto rolled_back = logits_after(kSlot, read, back);
      const auto direct = logits_after(kOther, read - back, 0);
      for (std::size_t i = 0; i < direct.size(); ++i) ASSERT_NEAR(rolled_back[i], direct[i], 1e-3);
    }
  }
  prefill(engine, kSlot, random_tokens(5, 4));
  EXPECT_FALSE(engine.can_truncate(kSlot, engine.length(kSlot) - 1)) << "longer than a draft";
}

// A step may be longer than what there are planes for.
TEST_P(TakingBack, ReachesAsFarAsThePlanes) {
  const auto model =
      load_tiny(GetParam(),
                {.draft_source = DraftSource::kNgram, .draft_tokens_max = 8, .rollback_depth = 3});
  engine::Engine& engine = *model.engine;
  const Tokens head = random_tokens(kChunk, 1);
  const Tokens drafted = random_tokens(6, 3);
  const auto logits_with = [&](SlotId slot, TokenPos read) {
    prefill(engine, slot, head);
    const std::array<engine::DecodeStep, 1> step{
        {{slot, TokenSpan(drafted).first(static_cast<std::size_t>(read))}}};
    EXPECT_TRUE(engine.decode(step).ok());
    EXPECT_EQ(engine.truncate(slot, kChunk + 3), engine::TruncateAnswer::kDone);
    prefill(engine, slot, Tokens{7});
    return decode_greedily(engine, slot, 1);
  };
  const auto rolled_back = logits_with(kSlot, 6);
  const auto direct = logits_with(kOther, 3);
  for (std::size_t i = 0; i < direct.size(); ++i) ASSERT_NEAR(rolled_back[i], direct[i], 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Tiny, TakingBack,
                         ::testing::Values("qwen35", "qwen35moe", "nemotron_h", "lfm2"),
                         [](const auto& test) { return test.param; });

// LLAMA-4: a batch of several sequences may have moved the planes of this one.
TEST(LlamaTraps, NoRollbackAfterABatchOfSeveralSlots) {
  const auto model = load_tiny("qwen35", {.rollback_depth = 3});
  engine::Engine& engine = *model.engine;
  prefill(engine, kSlot, random_tokens(8, 1));
  prefill(engine, kOther, random_tokens(8, 2));
  const Tokens sampled{1, 2};
  const std::array<engine::DecodeStep, 2> steps{
      {{kSlot, TokenSpan(sampled).first(1)}, {kOther, TokenSpan(sampled).last(1)}}};
  ASSERT_TRUE(engine.decode(steps).ok());
  EXPECT_FALSE(engine.can_truncate(kSlot, 8));
  EXPECT_FALSE(engine.can_truncate(kOther, 7));
}

// The numbers differ with the types of the cache and with flash attention; that
// rows come back as they were does not.
TEST(LlamaRows, HoldWithEveryKindOfCache) {
  for (const char* type : {"f16", "q8_0", "f32"}) {
    for (const FlashAttention flash : {FlashAttention::kOn, FlashAttention::kOff}) {
      if (flash == FlashAttention::kOff && std::string(type) == "q8_0") continue;
      SCOPED_TRACE(std::string(type) + (flash == FlashAttention::kOn ? " with" : " without"));
      LlamaConfig config{.flash_attention = flash};
      config.cache_type_k = type;
      config.cache_type_v = type;
      const auto model = load_tiny("qwen35", config);
      engine::Engine& engine = *model.engine;
      const Tokens head = random_tokens(2 * kChunk, 1);
      prefill(engine, kSlot, head);
      const engine::SavedState snapshot = engine.save(kSlot, engine::SaveScope::kSnapshot).value();
      const auto blocks = save_blocks(engine, kSlot, 64);
      ASSERT_TRUE(engine.restore(kOther, {head, views_of(blocks), snapshot}).ok());
      const Tokens tail = random_tokens(kChunk, 2);
      prefill(engine, kOther, tail);
      const auto warm = decode_greedily(engine, kOther, 30);
      EXPECT_TRUE(same_bits(warm, cold_logits(engine, joined(head, tail), 30)));
    }
  }
}

TEST(LlamaRows, AttentionComesBackAtAnyToken) {
  const auto model = load_tiny("llama");
  engine::Engine& engine = *model.engine;
  const Tokens tokens = random_tokens(2 * kChunk, 1);
  prefill(engine, kSlot, tokens);
  const auto blocks = save_blocks(engine, kSlot, 64);
  const Tokens part(tokens.begin(), tokens.begin() + 100);
  ASSERT_TRUE(engine.restore(kOther, {part, views_of(blocks), std::nullopt}).ok());
  EXPECT_EQ(engine.length(kOther), 100);
  prefill(engine, kOther, Tokens{7});
  const auto warm = decode_greedily(engine, kOther, 5);
  ASSERT_EQ(engine.truncate(kSlot, 100), engine::TruncateAnswer::kDone);
  prefill(engine, kSlot, Tokens{7});
  EXPECT_TRUE(same_bits(warm, decode_greedily(engine, kSlot, 5)));
}

TEST(LlamaRows, ComeBackInAnEngineThatNeverSavedAny) {
  const Tokens head = random_tokens(kChunk, 1);
  std::vector<engine::ExtentRows> blocks;
  engine::SavedState snapshot;
  {
    const auto before = load_tiny("jamba");
    prefill(*before.engine, kSlot, head);
    blocks = save_blocks(*before.engine, kSlot, 64);
    snapshot = before.engine->save(kSlot, engine::SaveScope::kSnapshot).value();
  }
  const auto after = load_tiny("jamba");
  ASSERT_TRUE(after.engine->restore(kOther, {head, views_of(blocks), snapshot}).ok());
  prefill(*after.engine, kOther, Tokens{3});
  const auto warm = decode_greedily(*after.engine, kOther, 5);
  EXPECT_EQ(warm.size(), 5U * 264U);
  prefill(*after.engine, kSlot, head);
  prefill(*after.engine, kSlot, Tokens{3});
  EXPECT_TRUE(same_bits(warm, decode_greedily(*after.engine, kSlot, 5)));
}

TEST(LlamaTraps, RollbackIsNotClaimedWhereTheArchitectureHasNone) {
  const auto model = load_tiny("qwen3next", {.rollback_depth = 3});
  EXPECT_EQ(model.engine->shape().find(PartKind::kSnapshot)->rollback_depth, 0);
  prefill(*model.engine, kSlot, random_tokens(8, 1));
  EXPECT_FALSE(model.engine->can_truncate(kSlot, 7));
}

TEST(LlamaTraps, AStateOfAnotherModelIsRefused) {
  const auto model = load_tiny("qwen35");
  const auto stranger = load_tiny("jamba");
  prefill(*stranger.engine, kSlot, random_tokens(32, 1));
  const auto foreign = stranger.engine->save(kSlot, engine::SaveScope::kWhole);
  ASSERT_TRUE(foreign.ok());
  EXPECT_FALSE(model.engine->load(kSlot, *foreign).ok());
  EXPECT_EQ(model.engine->length(kSlot), 0);
  expect_sound(*model.engine);
}

// --- bad files and settings ----------------------------------------------------------

TEST(LlamaLoad, SaysWhatIsWrongWithAFile) {
  const auto error_for = [](const std::string& path) {
    auto loaded = load_llama_model({.model_path = path}, nullptr);
    EXPECT_FALSE(loaded.ok());
    return loaded.ok() ? std::string() : loaded.error().message;
  };
  EXPECT_NE(error_for("/nonexistent/model.gguf").find("no such file"), std::string::npos);
  EXPECT_NE(error_for(std::filesystem::temp_directory_path()).find("folder"), std::string::npos);
  const TemporaryFile text("text.gguf");
  std::ofstream(text.path()) << "this is not a model";
  EXPECT_NE(error_for(text.path()).find("not a GGUF file"), std::string::npos);
}

TEST(LlamaLoad, SurvivesFilesThatAreCutShort) {
  const TemporaryFile whole("whole.gguf");
  ASSERT_TRUE(write_tiny_model(TinySpec{"llama"}, 1, whole.path()).ok());
  const auto size = std::filesystem::file_size(whole.path());
  for (const auto keep :
       {std::uintmax_t{4}, std::uintmax_t{24}, std::uintmax_t{500}, size / 2, size - 1}) {
    const TemporaryFile part("part.gguf");
    std::filesystem::copy_file(whole.path(), part.path());
    std::filesystem::resize_file(part.path(), keep);
    const auto loaded = load_llama_model({.model_path = part.path()}, nullptr);
    EXPECT_FALSE(loaded.ok()) << "a file of " << keep << " bytes was taken";
  }
}

TEST(LlamaLoad, RefusesSettingsThatCannotBe) {
  const TemporaryFile file("settings.gguf");
  ASSERT_TRUE(write_tiny_model(TinySpec{"llama"}, 1, file.path()).ok());
  LlamaConfig config{.model_path = file.path(), .context_tokens = 256};
  config.cache_type_k = "q7_9";
  const auto type = load_llama_model(config, nullptr);
  ASSERT_FALSE(type.ok());
  EXPECT_EQ(type.error().param, "--cache-type-k");
  config.cache_type_k = "f16";
  config.cache_type_v = "q8_0";
  config.flash_attention = FlashAttention::kOff;
  const auto flash = load_llama_model(config, nullptr);
  ASSERT_FALSE(flash.ok());
  EXPECT_EQ(flash.error().param, "--cache-type-v");
}

TEST(LlamaLoad, StopsWhenTold) {
  const TemporaryFile file("stop.gguf");
  ASSERT_TRUE(write_tiny_model(TinySpec{"llama"}, 1, file.path()).ok());
  EXPECT_FALSE(load_llama_model({.model_path = file.path()}, [](float) { return false; }).ok());
}

// Drafts longer than a context are shortened: the library would end the process.
TEST(SmallContext, DraftsFitIntoIt) {
  LlamaConfig config;
  config.context_tokens = 64;
  config.draft_source = DraftSource::kNgram;
  config.draft_tokens_max = 64;
  const LoadedModel model = load_tiny("qwen35", config);
  engine::Engine& engine = *model.engine;
  EXPECT_EQ(engine.decode_tokens_max(), 64);
  const Tokens tokens = random_tokens(engine.decode_tokens_max(), 3);
  const std::vector<engine::DecodeStep> steps{{kSlot, tokens}, {kOther, tokens}};
  EXPECT_TRUE(engine.decode(steps).ok());
}

}  // namespace
}  // namespace holdfast::llama
