// Whatever clients do while others write, with drafts of every length, a companion that
// fails now and then and any budget of memory: every answer that comes to its end is
// the one of an engine that does one thing at a time and drafts nothing.
//
// A few rounds by default; HOLDFAST_SOAK_SECONDS=600 goes on for ten minutes, and
// HOLDFAST_SOAK_SEED repeats a run.
#include <chrono>
#include <iostream>
#include <map>

#include "odd_companions.h"
#include "speculation_rig.h"

namespace holdfast {
namespace {

constexpr int kSlots = 3;
constexpr TokenPos kLongest = 24;

class SpeculationSoak : public ::testing::TestWithParam<std::string> {
 protected:
  SpeculationSoak()
      : plain_(load_model(GetParam(), Drafting::kOff)),
        model_(load_model(GetParam(), Drafting::kMtp, kSlots)) {}

  // What comes of a prompt, with nothing before it and nobody beside it.
  HeardPtr alone(const Tokens& prompt) {
    HeardPtr& answer = known_[prompt];
    if (answer == nullptr) answer = SpeculatingServer(plain_).run(prompt, kLongest);
    return answer;
  }

  struct Running {
    Tokens prompt;
    TokenPos length;
    std::shared_ptr<Heard> heard;
  };

  void expect_right(const Running& one) {
    if (!one.heard->finished) {
      EXPECT_EQ(one.heard->failed->code, ErrorCode::kCancelled) << one.heard->failed->message;
      return;
    }
    Heard wanted = *alone(one.prompt);
    wanted.reports.resize(static_cast<std::size_t>(one.length));
    wanted.text.clear();
    for (const serve::TokenReport& report : wanted.reports) wanted.text += report.text;
    Heard seen = *one.heard;
    seen.text.clear();  // held back or not, tokens say it all
    for (const serve::TokenReport& report : seen.reports) seen.text += report.text;
    expect_same(seen, wanted, sum_, "answer");
  }

  llama::LoadedModel plain_;
  llama::LoadedModel model_;
  std::map<Tokens, HeardPtr> known_;
  Sameness sum_;
  DraftCounts drafts_;
  std::uint64_t restored_ = 0;

  void run_round(std::uint64_t seed);
};

void SpeculationSoak::run_round(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<unsigned>(random() % n); };
  const std::array<ByteCount, 4> budgets = {0, 300'000, 4'000'000, kAmple};
  const ByteCount budget = budgets[below(budgets.size())];
  SCOPED_TRACE("seed " + std::to_string(seed) + ", budget " + std::to_string(budget));
  const RestlessClock restless(below(1000));
  const unsigned failing = below(3) == 0 ? 5 : 0;
  mtp_of(model_).set_fault(
      [&, failing](llama::MtpOperation) { return failing > 0 && random() % failing == 0; });
  Knowing knowing(kSlots, 0.75, below(1000));
  for (const auto& [prompt, answer] : known_) knowing.teach(prompt, answer->tokens());
  const bool knows = below(2) == 0;
  engine::Companion* companion =
      knows ? static_cast<engine::Companion*>(&knowing) : model_.companion.get();
  SpeculatingServer server(model_, {.companion = companion, .clock = &restless, .budget = budget});
  if (!knows) server.also_check = [&] { return mtp_of(model_).check(); };

  std::vector<Tokens> histories = {turn(60, 1), turn(90, 2)};
  for (int i = 0; i < 2; ++i) {
    histories.push_back(histories[static_cast<std::size_t>(i)] + alone(histories[i])->tokens() +
                        Tokens{kTurnEnd});
  }
  std::vector<Running> running;
  for (int i = 0; i < 10; ++i) {
    Tokens prompt = histories[below(histories.size())];
    if (below(3) > 0) prompt = prompt + turn(static_cast<TokenPos>(1 + 20 * below(3)), below(3));
    const auto length = static_cast<TokenPos>(1 + below(kLongest));
    auto request = server.request(prompt, length);
    request.draft = {.max = static_cast<TokenPos>(below(5)),
                     .min = static_cast<TokenPos>(below(2)),
                     .adaptive = below(2) == 0};
    const std::string id = request.id;
    running.push_back({prompt, length, server.submit(std::move(request))});
    for (unsigned turns = below(12); turns > 0; --turns) server.run_round();
    if (below(6) == 0) server.scheduler().cancel(id);
  }
  for (const Running& one : running) {
    while (!one.heard->ended()) server.run_round();
    expect_right(one);
    if (one.heard->finished) {
      restored_ += static_cast<std::uint64_t>(one.heard->receipt().restored);
    }
  }
  drafts_ += server.scheduler().status().drafts;
  mtp_of(model_).set_fault(nullptr);
}

TEST_P(SpeculationSoak, EveryAnswerIsTheOneWithoutDrafts) {
  const auto seconds = from_environment("HOLDFAST_SOAK_SECONDS", 0);
  const std::uint64_t seed = from_environment("HOLDFAST_SOAK_SEED", 1);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::uint64_t rounds = 0;
  while (rounds < 12 || std::chrono::steady_clock::now() < deadline) {
    run_round(seed + rounds++);
    if (::testing::Test::HasFailure()) break;
  }
  std::cout << GetParam() << ": " << rounds << " rounds from seed " << seed << ", " << sum_.equal
            << " answers equal, " << sum_.near_ties << " near ties, " << restored_
            << " tokens restored; accepted" << rates(drafts_) << "\n";
  EXPECT_GT(drafts_.accepted, 0U);
  EXPECT_GT(restored_, 0U);
}

INSTANTIATE_TEST_SUITE_P(Models, SpeculationSoak,
                         ::testing::Values("qwen35", "qwen35moe", "qwen3next"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace holdfast
