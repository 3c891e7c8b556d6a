// Speculation after every kind of restore on the real engine: the companion comes back
// with the primary, answers and reuse are those without it, and drafts are worth as
// much as in a conversation that was never interrupted.
#include <iostream>

#include "conversation_script.h"
#include "odd_companions.h"
#include "speculation_rig.h"
#include "varied_prompts.h"

namespace holdfast {
namespace {

constexpr TokenPos kAnswer = 40;

DraftCounts sum_of(const std::vector<HeardPtr>& answers) {
  DraftCounts sum;
  for (const HeardPtr& one : answers) sum += one->drafts();
  return sum;
}

// Equal, where last bits agree; a flip of one of them may move a draft by a token.
void expect_as_many(const DraftCounts& seen, const DraftCounts& wanted) {
  constexpr std::uint64_t kNoise = 2;
  for (std::size_t rank = 0; rank < kDraftMax; ++rank) {
    const auto& [tried, accepted] = seen.ranks[rank];
    EXPECT_NEAR(tried, wanted.ranks[rank].tried, kNoise) << "rank " << rank;
    EXPECT_NEAR(accepted, wanted.ranks[rank].accepted, kNoise) << "rank " << rank;
  }
}

// What is reused follows from what was said before: once an answer has parted from the other's at a
// near tie, the prompts that go on from the other's know less of it.
class SameReuse {
 public:
  void expect(const Heard& seen, const Heard& wanted) {
    const TokenPos unknown = wanted.receipt().restored - seen.receipt().restored;
    EXPECT_TRUE(parted_ ? unknown >= 0 && unknown <= kAnswer : unknown == 0)
        << seen.receipt().restored << " and not " << wanted.receipt().restored;
    parted_ = parted_ || seen.tokens() != wanted.tokens();
  }

 private:
  bool parted_ = false;
};

class RestoredSpeculation : public ::testing::TestWithParam<std::string> {};

TEST_P(RestoredSpeculation, AnswersReuseAndDraftsAreAsIfNothingHadHappened) {
  const auto steps = converse_without(GetParam(), kAnswer);
  auto model = load_model(GetParam(), Drafting::kMtp);
  std::vector<HeardPtr> cold;
  for (const Step& step : steps) {
    SpeculatingServer server(model, {.companion = model.companion.get()});
    cold.push_back(server.run(step.prompt, kAnswer));
  }
  SpeculatingServer server(model, {.companion = model.companion.get()});
  server.also_check = [&] { return mtp_of(model).check(); };
  std::vector<HeardPtr> warm;
  Sameness sum;
  SameReuse reuse;
  TokenPos from_memory = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    SCOPED_TRACE(GetParam() + ", " + step.name);
    warm.push_back(server.run(step.prompt, kAnswer));
    const cache::Receipt& seen = warm[i]->receipt();
    const cache::Receipt& wanted = step.alone->receipt();
    expect_same(*warm[i], *step.alone, sum, "warm");
    expect_same(*cold[i], *step.alone, sum, "cold");
    EXPECT_EQ(cache::check_receipt(seen), std::vector<std::string>{});
    reuse.expect(*warm[i], *step.alone);
    EXPECT_EQ(seen.checkpoints, wanted.checkpoints);
    EXPECT_EQ(seen.companion->held, seen.restored) << seen.companion->missing;
    expect_as_many(warm[i]->drafts(), cold[i]->drafts());
    from_memory += seen.companion->from_memory;
    std::cout << GetParam() << ", " << step.name << ": restored " << seen.restored << " of "
              << seen.prompt_tokens << " (" << wanted.restored << " without), companion "
              << seen.companion->held << ", " << seen.companion->from_memory
              << " from memory; accepted" << rates(warm[i]->drafts()) << "; cold"
              << rates(cold[i]->drafts()) << "\n";
  }
  std::cout << GetParam() << ": " << sum.equal << " of " << 2 * steps.size() << " equal, "
            << sum.near_ties << " near ties; accepted" << rates(sum_of(warm)) << "; cold"
            << rates(sum_of(cold)) << "\n";
  EXPECT_GT(from_memory, 0);
  EXPECT_LE(sum.near_ties, steps.size() / 4) << "ties are rare";
}

// The same with drafts that are mostly right and answers that end in the middle of one.
TEST_P(RestoredSpeculation, ReuseIsTheSameHoweverMuchIsRight) {
  const auto steps = converse_without(GetParam(), kAnswer, Ending::kStopString);
  auto model = load_model(GetParam(), Drafting::kMtp);
  for (unsigned seed = 0; seed < 2; ++seed) {
    Knowing knowing(1, 0.8, seed);
    for (const Step& step : steps) knowing.teach(step.prompt, step.without_end);
    SpeculatingServer server(model, {.companion = &knowing});
    Sameness sum;
    SameReuse reuse;
    for (const Step& step : steps) {
      SCOPED_TRACE(GetParam() + ", " + step.name);
      const auto answer = run_step(server, step, kAnswer);
      expect_same(*answer, *step.alone, sum, "with drafts");
      EXPECT_EQ(answer->finished->reason, step.alone->finished->reason);
      reuse.expect(*answer, *step.alone);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RestoredSpeculation,
                         ::testing::Values("pocket", "qwen35", "qwen35moe", "qwen3next"),
                         [](const auto& test) { return test.param; });

// --- what the hidden row is worth ---------------------------------------------------

struct FirstDrafts {
  std::vector<Tokens> drafts;  // of each request
  DraftCounts counts;          // how much of them was right
};

FirstDrafts first_drafts(llama::LoadedModel& model, engine::Companion& companion, bool restored,
                         const std::vector<Tokens>& prompts) {
  FirstDrafts all;
  for (const Tokens& prompt : prompts) {
    Recording recording(companion);
    SpeculatingServer server(model, {.companion = &recording});
    if (restored) {
      Tokens sibling = prompt;  // whose end is another, so that the last token is read
      sibling.back() = prompt.back() == 5 ? 6 : 5;
      (void)server.run(sibling, 2);
      (void)server.run(Tokens(prompt.rbegin(), prompt.rend()), 2);  // takes the slot
    }
    recording.drafts.clear();
    const auto answer = server.run(prompt, 8);
    EXPECT_EQ(answer->receipt().restored, restored ? length_of(prompt) - 1 : 0);
    EXPECT_EQ(answer->receipt().companion->held, answer->receipt().restored);
    const Tokens spoken = answer->tokens();
    const Tokens& first = recording.drafts.front().tokens;
    EXPECT_EQ(recording.drafts.front().next, spoken.front());
    const auto right = common_prefix(first, TokenSpan(spoken).subspan(1));
    all.counts.note(first.size(), static_cast<std::size_t>(right));
    all.drafts.push_back(first);
  }
  return all;
}

std::size_t differing(const FirstDrafts& a, const FirstDrafts& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.drafts.size(); ++i) count += a.drafts[i] == b.drafts[i] ? 0 : 1;
  return count;
}

// Prompts that end one token after a checkpoint, so that the first draft reads the row
// that is made with the hidden row from memory.
TEST(RestoredHiddenRow, FirstDraftsAreThoseOfAColdRun) {
  auto model = load_model("pocket", Drafting::kMtp);
  const auto texts = varied_texts();
  std::vector<Tokens> prompts;
  for (std::size_t i = 0; i < 24; ++i) {
    std::string text;
    for (std::size_t k = 0; k < 12; ++k) text += texts[(i + 7 * k) % texts.size()];
    Tokens tokens = model.text->tokenize(text, true, true);
    std::erase_if(tokens, [&](Token token) { return model.text->ends_generation(token); });
    tokens.resize(kGridStep + 1);
    prompts.push_back(std::move(tokens));
  }
  const FirstDrafts cold = first_drafts(model, *model.companion, false, prompts);
  const FirstDrafts restored = first_drafts(model, *model.companion, true, prompts);
  Placeless placeless(*model.companion);
  const FirstDrafts without = first_drafts(model, placeless, true, prompts);
  std::cout << "first drafts, cold:              " << rates(cold.counts) << "\n"
            << "first drafts, restored:          " << rates(restored.counts) << ", "
            << differing(restored, cold) << " others\n"
            << "without the hidden row restored: " << rates(without.counts) << ", "
            << differing(without, cold) << " others\n";
  EXPECT_LE(differing(restored, cold), 1U) << "more than last bits differ";
  EXPECT_GT(differing(without, cold), 1U) << "the hidden row would not be missed";
}

// --- one long prefix, many questions ------------------------------------------------

TEST(SharedPrefix, FollowUpsReadNothingTwice) {
  auto model = load_model("pocket", Drafting::kMtp);
  const auto tokens = [&](const std::string& text) {
    return model.text->tokenize(text, true, true);
  };
  const Tokens prefix = tokens(message("system", story(1, 130)));
  const Tokens header = tokens("<|im_start|>assistant\n<think>\n\n</think>\n\n");
  const Tokens end = tokens("<|im_end|>\n");
  EXPECT_GT(length_of(prefix), 2000);
  EXPECT_LT(length_of(prefix), 3500);
  SpeculatingServer server(model, {.companion = model.companion.get()});
  server.also_check = [&] { return mtp_of(model).check(); };
  std::vector<Tokens> seen;
  std::uint64_t common = 0;
  std::uint64_t restored = 0;
  DraftCounts drafts;
  const auto ask = [&](const Tokens& prompt) {
    TokenPos longest = 0;
    for (const Tokens& one : seen) longest = std::max(longest, common_prefix(one, prompt));
    const auto answer = server.run(prompt, 20);
    common += static_cast<std::uint64_t>(std::min(longest, length_of(prompt) - 1));
    restored += static_cast<std::uint64_t>(answer->receipt().restored);
    EXPECT_EQ(answer->receipt().companion->held, answer->receipt().restored);
    drafts += answer->drafts();
    seen.push_back(prompt + answer->tokens());
    return seen.back() + end;
  };
  Tokens other = tokens(message("system", "You are a helpful assistant. " + story(200, 210)));
  for (int i = 0; i < 8; ++i) {
    const std::string house = std::to_string(10 * i + 5);
    ask(prefix + tokens(message("user", "What is the secret code of house " + house + "?")) +
        header);
    other = ask(other + tokens(message("user", "Count from " + house + " to 99.")) + header);
  }
  const double share = static_cast<double>(restored) / static_cast<double>(common);
  std::cout << "restored " << restored << " of " << common << " common tokens (" << 100.0 * share
            << "%); accepted" << rates(drafts) << "\n";
  EXPECT_GE(share, 0.99);
}

}  // namespace
}  // namespace holdfast
