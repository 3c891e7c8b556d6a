// Sampled answers under speculation on the real engine: they have the distribution of
// those without it, whoever drafts; and with the same seed they are the same.
//
// Two independent sets of seeds, with drafts and without, are compared by a chi-squared
// test on the joint outcome of the tokens; each comparison raises a false alarm once in
// a million sets of seeds. Seeds are fixed, so a run that passes passes again.
//
// HOLDFAST_SPECULATION_SEEDS=20000 takes as many answers each instead of a few hundred.
#include <iostream>
#include <map>

#include "odd_companions.h"
#include "speculation_rig.h"
#include "varied_prompts.h"

namespace holdfast {
namespace {

constexpr TokenPos kAnswer = 4;
constexpr std::uint32_t kFirstSeed = 20'000'000;

std::uint32_t answers_each() {
  return static_cast<std::uint32_t>(from_environment("HOLDFAST_SPECULATION_SEEDS", 300));
}

engine::SamplingParams sampling(std::uint32_t seed, float temperature) {
  engine::SamplingParams params;
  params.seed = seed;
  params.temperature = temperature;
  params.top_k = 0;
  params.top_p = 1.0F;
  params.min_p = 0.0F;
  return params;
}

std::vector<Tokens> sample(SpeculatingServer& server, const Tokens& prompt,
                           std::uint32_t first_seed, float temperature = 1.0F) {
  server.checks = false;
  std::vector<Tokens> answers;
  for (std::uint32_t i = 0; i < answers_each(); ++i) {
    auto request = server.request(prompt, kAnswer, sampling(first_seed + i, temperature));
    answers.push_back(server.run(std::move(request))->tokens());
  }
  return answers;
}

// --- chi-squared ------------------------------------------------------------------

using Counts = std::map<Tokens, std::array<double, 2>>;

// How many standard deviations too far apart two samples of equal size are: below
// 4.75 in all but one of a million cases (Wilson and Hilferty's approximation).
// Outcomes that are rarer than ten in both together count as one.
struct Distance {
  double deviations = 0.0;
  int bins = 0;
};

Distance distance(const std::vector<Tokens>& a, const std::vector<Tokens>& b) {
  Counts counts;
  for (const Tokens& one : a) ++counts[one][0];
  for (const Tokens& one : b) ++counts[one][1];
  std::array<double, 2> rare{};
  double chi_squared = 0.0;
  int bins = 0;
  const auto add = [&](const std::array<double, 2>& bin) {
    const double difference = bin[0] - bin[1];
    chi_squared += difference * difference / (bin[0] + bin[1]);
    ++bins;
  };
  for (const auto& [outcome, bin] : counts) {
    if (bin[0] + bin[1] >= 10) {
      add(bin);
    } else {
      rare[0] += bin[0];
      rare[1] += bin[1];
    }
  }
  if (rare[0] + rare[1] >= 10) add(rare);
  const double freedom = std::max(1, bins - 1);
  const double spread = 2.0 / (9.0 * freedom);
  return {(std::cbrt(chi_squared / freedom) - (1.0 - spread)) / std::sqrt(spread), bins};
}

// Every part of the answer: its begin, its end, and all of it.
Distance largest_distance(const std::vector<Tokens>& a, const std::vector<Tokens>& b) {
  const auto parts = [](const std::vector<Tokens>& all, int from, int to) {
    std::vector<Tokens> some;
    for (const Tokens& one : all) some.emplace_back(one.begin() + from, one.begin() + to);
    return some;
  };
  Distance largest{-1000.0, 0};
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 2}, {2, 3}, {3, 4}, {1, 3}, {0, 4}}) {
    const Distance one = distance(parts(a, from, to), parts(b, from, to));
    if (one.deviations > largest.deviations) largest = one;
  }
  return largest;
}

constexpr double kAlarm = 5.2;  // one in ten million, for six looks each

// --- the tests ----------------------------------------------------------------------

class SampledSpeculation : public ::testing::TestWithParam<std::string> {
 protected:
  SampledSpeculation()
      : plain_(load_model(GetParam(), Drafting::kOff)),
        model_(load_model(GetParam(), Drafting::kMtp)),
        prompt_(GetParam() == "pocket"
                    ? plain_.text->tokenize(asked("Tell me about the sea."), true, true)
                    : turn(12, 3)) {}

  llama::LoadedModel plain_;
  llama::LoadedModel model_;
  Tokens prompt_;
};

TEST_P(SampledSpeculation, HasTheDistributionOfTheModelAlone) {
  SpeculatingServer alone(plain_);
  const auto wanted = sample(alone, prompt_, kFirstSeed);
  const auto compare = [&](engine::Companion& companion, const char* what, std::uint32_t set) {
    SpeculatingServer server(model_, {.companion = &companion});
    const auto first_seed = kFirstSeed + set * 1'000'000;
    const Distance far = largest_distance(sample(server, prompt_, first_seed), wanted);
    std::cout << GetParam() << ", " << what << ": " << answers_each() << " answers from seed "
              << first_seed << ", " << far.bins << " outcomes, " << far.deviations
              << " deviations; accepted" << rates(server.scheduler().status().drafts) << "\n";
    EXPECT_LT(far.deviations, kAlarm) << what;
  };
  compare(*model_.companion, "mtp", 1);
  Odd nonsense(*model_.companion, Oddity::kDraftsNonsense, 1, 1);
  compare(nonsense, "nonsense", 2);
  // One answer, again and again: what speculation must not make more likely.
  Knowing biased(1, 1.0, 1);
  SpeculatingServer greedy(plain_);
  biased.teach(prompt_, greedy.run(prompt_, kAnswer)->tokens());
  compare(biased, "biased", 3);

  // The test sees a difference where there is one.
  SpeculatingServer cooler(plain_);
  const Distance far =
      largest_distance(sample(cooler, prompt_, kFirstSeed + 4'000'000, 0.7F), wanted);
  std::cout << GetParam() << ", at temperature 0.7: " << far.deviations << " deviations\n";
  EXPECT_GT(far.deviations, kAlarm);
}

// The random numbers that choose this token: a share of [0, 1), where tokens lie in the
// order of their ids.
std::pair<double, double> numbers_for(const engine::Sampled& sampled) {
  double below = 0.0;
  for (const auto& [token, logprob] : sampled.top) {
    if (token < sampled.token) below += std::exp(static_cast<double>(logprob));
  }
  return {below, below + std::exp(static_cast<double>(sampled.logprob))};
}

// Every token takes its random numbers in order, however it was computed. Where last
// bits differ with the batch, a number that falls between two tokens may choose the
// other one; but it is the same number.
TEST_P(SampledSpeculation, TheSameSeedGivesTheSameAnswer) {
  SpeculatingServer alone(plain_);
  SpeculatingServer server(model_, {.companion = model_.companion.get()});
  const std::uint32_t seeds = std::max(25U, answers_each() / 20);
  std::uint32_t same = 0;
  for (std::uint32_t i = 0; i < seeds; ++i) {
    auto params = sampling(kFirstSeed + i, 1.0F);
    params.top_logprobs = static_cast<int>(plain_.text->card().vocabulary);
    const auto wanted = alone.run(alone.request(prompt_, 40, params));
    const auto seen = server.run(server.request(prompt_, 40, params));
    const auto at = static_cast<std::size_t>(common_prefix(wanted->tokens(), seen->tokens()));
    if (at == wanted->reports.size()) {
      ++same;
      continue;
    }
    const auto [low, high] = numbers_for(seen->reports[at].sampled);
    const auto [low_wanted, high_wanted] = numbers_for(wanted->reports[at].sampled);
    EXPECT_LE(std::max(low, low_wanted), std::min(high, high_wanted) + 1e-5)
        << "seed " << kFirstSeed + i << ", token " << at;
    std::cout << GetParam() << ", seed " << kFirstSeed + i << ": token " << at
              << " by a number in [" << low << ", " << high << ") and in [" << low_wanted << ", "
              << high_wanted << ")\n";
  }
  std::cout << GetParam() << ": " << same << " of " << seeds << " answers of 40 tokens equal\n";
  EXPECT_GE(same * 10, seeds * 9);
}

INSTANTIATE_TEST_SUITE_P(Models, SampledSpeculation, ::testing::Values("pocket", "qwen35"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace holdfast
