// Policies against brute force on small random workloads, and by hand on known examples.
#include "policy/policy.h"

#include <gtest/gtest.h>

#include "policy/bounds.h"
#include "policy/llama_server.h"
#include "policy/radix_peers.h"
#include "policy/testing/small_workload.h"
#include "policy/vllm.h"

namespace holdfast::policy {
namespace {

// What a policy reuses of each request.
std::vector<TokenPos> reused(const std::string& name, const Workload& workload,
                             const ModelShape& shape = small_shape(),
                             ByteCount budget = kUnlimited) {
  const PathTrie trie(workload);
  const PolicySetup setup{&workload, &trie, shape, budget};
  std::vector<TokenPos> all;
  const auto note = [&](const Turn&, const Served& served) { all.push_back(served.reused); };
  PolicyPtr policy;
  if (name == "llama-server") policy = make_llama(setup, {.checkpoint_every = 8192, .ubatch = 8});
  if (name == "vllm") policy = make_vllm(setup);
  if (name == "marconi") policy = make_marconi(setup, 0);
  if (name == "lru") policy = make_lru(setup);
  if (name == "sglang") policy = make_sglang(setup);
  const auto cell = run_policy(*policy, setup, note);
  EXPECT_TRUE(cell.ok()) << cell.error().message;
  return all;
}

// --- against brute force --------------------------------------------------------------

class RandomWords : public ::testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomWords, ::testing::Range(1U, 9U));

TEST_P(RandomWords, TheTrieKnowsWhatBruteForceFinds) {
  const Workload workload = random_words(GetParam(), 300);
  const PathTrie trie(workload);
  const auto expected = brute_force_reusable(workload);
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(trie.reusable(i), expected[i]) << i;
}

TEST_P(RandomWords, PathsCompareAsTokensDo) {
  const Workload workload = random_words(GetParam(), 80);
  const PathTrie trie(workload);
  Path path(trie);
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    path.follow(i);
    for (std::size_t j = 0; j < workload.requests.size(); ++j) {
      const Request& other = workload.requests[j];
      const TokenPos common = workload.common(workload.requests[i], other, 0, 1 << 20);
      ASSERT_EQ(path.common({trie.end_of(j), other.total()}), common) << i << " " << j;
    }
  }
}

// CACHEMODEL-1 and CACHEMODEL-2 are verified by run_cell(); nobody beats the bound, and who knows
// the future stays within it.
TEST_P(RandomWords, EveryPolicyStaysWithinItsBudgetAndBelowTheBound) {
  const Workload workload = random_words(GetParam(), 300);
  const PathTrie trie(workload);
  for (const bool with_state : {true, false}) {
    for (const ByteCount pages : {60, 200, 900, 100'000}) {
      const PolicySetup setup{&workload, &trie, small_shape(with_state), pages * 4096};
      const auto bound = run_cell("bound", setup);
      ASSERT_TRUE(bound.ok());
      EXPECT_LE(bound->reused_tokens, bound->oracle_tokens * (1 + 1e-9));
      for (const KnownPolicy& known : known_policies()) {
        const auto cell = run_cell(known.name, setup);
        ASSERT_TRUE(cell.ok()) << known.name << ": " << cell.error().message;
        if (known.name == "oracle") continue;
        EXPECT_LE(cell->reused_tokens, bound->reused_tokens * (1 + 1e-9)) << known.name;
        EXPECT_LE(cell->saved_work, bound->saved_work * (1 + 1e-9)) << known.name;
        EXPECT_LE(cell->held_most, setup.budget);
      }
    }
  }
}

TEST_P(RandomWords, WithoutALimitTheOfflineOneAndTheBoundAreTheOracle) {
  const Workload workload = random_words(GetParam(), 200);
  const PathTrie trie(workload);
  const PolicySetup setup{&workload, &trie, small_shape(), kUnlimited};
  for (const char* name : {"offline", "bound"}) {
    EXPECT_DOUBLE_EQ(run_cell(name, setup)->eta(), 1.0) << name;
  }
  // Rows alone can be cut anywhere: a radix tree without a limit reuses everything.
  const PolicySetup rows{&workload, &trie, small_shape(false), kUnlimited};
  EXPECT_DOUBLE_EQ(run_cell("lru", rows)->eta(), 1.0);
}

// A policy cannot keep everything in a budget for half of one state.
TEST_P(RandomWords, NothingIsReusedWhereNothingFits) {
  const Workload workload = random_words(GetParam(), 100);
  const PathTrie trie(workload);
  const PolicySetup setup{&workload, &trie, small_shape(), 5 * 4096};
  for (const KnownPolicy& known : known_policies()) {
    if (known.name == "oracle" || known.name == "bound") continue;
    const auto cell = run_cell(known.name, setup);
    ASSERT_TRUE(cell.ok()) << known.name << ": " << cell.error().message;
    EXPECT_EQ(cell->reused_tokens, 0) << known.name;
  }
}

// --- by hand ------------------------------------------------------------------------

// "sssssssss" is shared by three requests that part there. Only the third finds a state.
const std::vector<Word> kForks = {{"sssssssssa", "1"}, {"sssssssssb", "2"}, {"sssssssssc", "3"}};

TEST(FirstFork, MarconiAndLruReuseASharedBeginningFromTheThirdRequestOn) {
  EXPECT_EQ(reused("marconi", words(kForks)), (std::vector<TokenPos>{0, 0, 9}));
  EXPECT_EQ(reused("lru", words(kForks)), (std::vector<TokenPos>{0, 0, 9}));
}

TEST(FirstFork, VllmDoesSoAtItsBlocks) {
  const std::vector<Word> forks = {
      {"sssssssssaaaaaaaa", "1"}, {"sssssssssbbbbbbbb", "2"}, {"ssssssssscccccccc"}};
  EXPECT_EQ(reused("vllm", words(forks)), (std::vector<TokenPos>{0, 0, 8}));
}

TEST(Stripped, AStateAfterTheAnswerIsOfNoUse) {
  const Workload stripped =
      words({{"aaaaaaaa", "xyz"}, {"aaaaaaaabbbb", "xyz"}, {"aaaaaaaabbbbcccc"}});
  EXPECT_EQ(reused("marconi", stripped), (std::vector<TokenPos>{0, 0, 8}));
  EXPECT_EQ(reused("lru", stripped), (std::vector<TokenPos>{0, 8, 12}));
  const Workload kept =
      words({{"aaaaaaaa", "xyz"}, {"aaaaaaaaxyzbbbb", "q"}, {"aaaaaaaaxyzbbbbqcc"}});
  EXPECT_EQ(reused("marconi", kept), (std::vector<TokenPos>{0, 11, 16}));
}

TEST(LlamaServer, GoesOnFromItsSlotOrFromACheckpointBeforeTheDifference) {
  // Checkpoints 12 and 4 tokens before the end of the prompt.
  const Workload workload = words({{"abcdefghijklmnopqrst", "12"},
                                   {"abcdefghijklmnopqrst12u"},          // goes on
                                   {"abcdefghijklmnopqrXX"},             // parts at 18: from 16
                                   {"abcdefghijkZZZZZZZZZZZZZZZZZZ"}});  // parts at 11: from 8
  EXPECT_EQ(reused("llama-server", workload), (std::vector<TokenPos>{0, 22, 16, 8}));
}

TEST(LlamaServer, KeepsAWholePromptInItsListWhenItsSlotIsTaken) {
  const Workload workload = words({{"aaaaaaaaaa", "1"}, {"bbbbbbbbbb", "2"}, {"aaaaaaaaaa1c"}});
  EXPECT_EQ(reused("llama-server", workload), (std::vector<TokenPos>{0, 0, 11}));
}

TEST(LlamaServer, NeverReusesASmallPartOfALongPrompt) {
  const std::string system = "ssssssssss";
  const Workload workload = words(
      {{system + std::string(90, 'a')}, {std::string(50, 'x')}, {system + std::string(30, 'b')}});
  EXPECT_EQ(reused("llama-server", workload), (std::vector<TokenPos>{0, 0, 0}))
      << "a tenth of the entry would be kept";
}

TEST(LlamaServer, ForgetsTheOldestPromptFirst) {
  const Workload workload =
      words({{"aaaaaaaaaa"}, {"bbbbbbbbbb"}, {"cccccccccc"}, {"bbbbbbbbbbb"}, {"aaaaaaaaaaa"}});
  const ModelShape shape = small_shape(false);
  EXPECT_EQ(reused("llama-server", workload, shape, 25 * 4096),
            (std::vector<TokenPos>{0, 0, 0, 10, 0}));
}

TEST(Sglang, APoolOfStatesThatIsFullDropsTheOldestOnes) {
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  const Workload workload = words({{a + "x"}, {b + "x"}, {a + "y"}, {b + "y"}});
  EXPECT_EQ(reused("sglang", workload), (std::vector<TokenPos>{0, 0, 64, 64}));
  // 0.9 / 1.9 of 30 pages is one state.
  EXPECT_EQ(reused("sglang", workload, small_shape(), 30 * 4096)[2], 0);
}

// Bytes x time: one of two conversations can be held, or half of each.
TEST(Bound, CountsBytesTimesTime) {
  const Workload workload = words({{"aaaaaaaaaaa", "", 0},
                                   {"bbbbbbbbbbb", "", 0},
                                   {"aaaaaaaaaaa", "", 1000},
                                   {"bbbbbbbbbbb", "", 1000}});
  const PathTrie trie(workload);
  const PolicySetup setup{&workload, &trie, small_shape(), 20 * 4096};
  EXPECT_DOUBLE_EQ(run_cell("bound", setup)->reused_tokens, 10);
  EXPECT_DOUBLE_EQ(run_cell("offline", setup)->reused_tokens, 10);
  const PolicySetup less{&workload, &trie, small_shape(), 10 * 4096};
  EXPECT_DOUBLE_EQ(run_cell("bound", less)->reused_tokens, 5);
  EXPECT_DOUBLE_EQ(run_cell("offline", less)->reused_tokens, 0);
}

// --- Holdfast itself ------------------------------------------------------------------

TEST(Holdfast, WithoutALimitReusesNearlyWhatTheOracleDoes) {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    const Workload workload = random_words(seed, 300);
    const PathTrie trie(workload);
    const auto cell = run_cell("holdfast", {&workload, &trie, small_shape(), kUnlimited});
    ASSERT_TRUE(cell.ok()) << cell.error().message;
    EXPECT_GT(cell->eta(), 0.8) << "seed " << seed << ": tiny prompts, whose ends weigh most";
    EXPECT_GT(cell->states, 0);
    EXPECT_GT(cell->written_bytes, 0);
  }
}

TEST(Holdfast, FindsALongSharedBeginningOnTheSecondRequest) {
  const std::string system(3000, 's');
  const Workload workload =
      words({{system + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "1"}, {system + "bbbb", "2"}});
  const PathTrie trie(workload);
  const auto cell = run_cell("holdfast", {&workload, &trie, small_shape(), kUnlimited});
  ASSERT_TRUE(cell.ok());
  EXPECT_GE(cell->reused_tokens, 2560) << "the last cut of its grid before the difference";
}

// --- more conversations by turns than there is room for ------------------------------------

// All rows and one state each, in the end.
ByteCount need_of(const Loop& loop, const ModelShape& shape) {
  const TokenPos tokens = 512 * (loop.opening + 2 * (loop.turns - 1));
  return static_cast<ByteCount>(loop.conversations) * (shape.rows(tokens) + shape.state_bytes);
}

// What drops the least recently used has nothing left of a loop when it comes round. Holdfast keeps
// as much as who knows the future and packs greedily.
TEST(ALoopTooLargeForMemory, IsKeptInPartAsByOneWhoKnowsTheFuture) {
  for (const int conversations : {6, 16}) {
    for (const int percent : {10, 25, 50, 75}) {
      const Loop loop{.conversations = conversations};
      const ModelShape shape = *find_shape("35b-a3b");
      const Workload workload = loop_of(loop);
      const PathTrie trie(workload);
      const ByteCount budget = need_of(loop, shape) * static_cast<ByteCount>(percent) / 100;
      const PolicySetup setup{&workload, &trie, shape, budget};
      const auto eta_c = [&](const char* name) { return run_cell(name, setup)->eta_c(); };
      const double own = eta_c("holdfast");
      EXPECT_GT(own, 0.95 * eta_c("offline")) << conversations << ", " << percent << "%";
      EXPECT_LE(own, eta_c("bound"));
      for (const char* peer : {"lru", "vllm", "sglang", "llama-server"}) {
        EXPECT_GT(own, eta_c(peer) + 0.03) << peer << ": " << conversations << ", " << percent;
      }
      const Workload slower = loop_of({.conversations = conversations, .pause_ms = 60'000});
      const PathTrie slower_trie(slower);
      const PolicySetup at_leisure{&slower, &slower_trie, shape, budget};
      EXPECT_NEAR(run_cell("holdfast", at_leisure)->eta_c(), own, 0.01) << "at another pace";
      std::printf(
          "%d conversations, %d%%: holdfast %.1f, marconi %.1f, lru %.1f, offline %.1f, "
          "bound %.1f\n",
          conversations, percent, 100 * own, 100 * eta_c("marconi"), 100 * eta_c("lru"),
          100 * eta_c("offline"), 100 * eta_c("bound"));
    }
  }
}

// --- time -------------------------------------------------------------------------------

// 9B-like states and a document in one message; what follows it parts from it `distance` tokens
// before its end.
class SlowCopies : public ::testing::Test {
 protected:
  static constexpr TokenPos kLength = 40 * kGridStep;

  static Workload another_question(TokenPos distance) {
    const std::string document(static_cast<std::size_t>(kLength - distance), 'd');
    return words({{document + std::string(static_cast<std::size_t>(distance), 'a')},
                  {document + std::string(300, 'b')}});
  }

  // With memory for every cut, if there is time.
  static Cell run(const Workload& workload, double bytes_per_ms) {
    const PathTrie trie(workload);
    Machine machine = known_machines().front();
    machine.bytes_per_ms = bytes_per_ms;
    const auto cell =
        run_cell("holdfast", {&workload, &trie, *find_shape("9b"), kUnlimited, machine});
    EXPECT_TRUE(cell.ok()) << cell.error().message;
    return *cell;
  }
};

TEST_F(SlowCopies, LeavePlacesInsideAMessageOut) {
  const Workload workload = another_question(kLength / 2);
  const Cell fast = run(workload, 1e12);
  const Cell slow = run(workload, 2e6);
  EXPECT_GE(fast.states, 40) << "one at every cut";
  EXPECT_LE(slow.states, 20) << "those near the ends of two prompts, and what 3% of reading allow";
  EXPECT_LT(slow.reused_tokens, fast.reused_tokens);
}

TEST_F(SlowCopies, LeaveThosePlacesNearTheEndThatAreWantedThere) {
  for (const TokenPos distance : {1, 20, 512, 700, 2000, 5000, 9000}) {
    const Cell slow = run(another_question(distance), 2e5);
    const double known = kLength - distance;
    EXPECT_GE(slow.reused_tokens, known - 2.0 * distance - kGridStep) << distance;
  }
}

TEST(Machines, ReadAndCopyAsFastAsTheySay) {
  const ModelShape shape = *find_shape("0.8b");
  const Machine gpu = *find_machine("gpu");
  double ms = 0;
  for (TokenPos at = 0; at < 16'384; at += 512) ms += gpu.read_ms(shape, at, at + 512);
  EXPECT_NEAR(ms, 560, 100) << "as measured on an H200";
  EXPECT_NEAR(gpu.copy_ms(shape.state_bytes), 10, 1);
  EXPECT_NEAR(find_machine("cpu")->read_ms(shape, 0, 170), 1000, 50) << "as on two cores";
  EXPECT_FALSE(find_machine("abacus"));
}

}  // namespace
}  // namespace holdfast::policy
