// --exact prompt on the real engine: whatever is decoded together, drafted, taken back and kept,
// the logits at the end of every prompt are those of a server that has seen nothing, bit for bit.
//
// Three conversations and their branches on two slots, with drafts where the model has an MTP head.
// What a server without exact prompts makes of the same requests is counted beside it: it has to
// differ, or this tests nothing.
#include <cstring>
#include <iostream>

#include "speculation_rig.h"

namespace holdfast {
namespace {

constexpr TokenPos kAnswer = 14;
constexpr int kTurns = 4;

struct Asked {
  Tokens prompt;
  HeardPtr heard;
};

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool same_beginning(const Heard& a, const Heard& b) {
  if (a.reports.empty() || b.reports.empty()) return false;
  const engine::Sampled& x = a.reports.front().sampled;
  const engine::Sampled& y = b.reports.front().sampled;
  const auto same = [](const engine::TokenLogprob& one, const engine::TokenLogprob& other) {
    return one.token == other.token && same_bits(one.logprob, other.logprob);
  };
  return x.token == y.token && same_bits(x.logprob, y.logprob) &&
         std::ranges::equal(x.top, y.top, same);
}

class ExactPrompts : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const bool drafts = GetParam() == "pocket" || llama::tiny_architecture_has_mtp(GetParam());
    model_.emplace(load_model(GetParam(), drafts ? Drafting::kMtp : Drafting::kOff, 2, Rows::kF16));
    end_ = model_->text->turn_ends().front();
  }

  [[nodiscard]] ServerOptions server(Exactness exact, ByteCount budget) const {
    return {.companion = model_->companion.get(), .exact = exact, .budget = budget};
  }
  static serve::GenerateRequest greedy(SpeculatingServer& server, const Tokens& prompt,
                                       TokenPos most) {
    engine::SamplingParams params;
    params.temperature = 0.0F;
    params.top_logprobs = 5;
    return server.request(prompt, most, params);
  }
  [[nodiscard]] Tokens message(TokenPos count, unsigned seed) const {
    return random_tokens(count, seed) + end_;
  }

  // All talks at once, turn after turn; each second turn one of them is edited.
  std::vector<Asked> converse(Exactness exact) {
    SpeculatingServer server(*model_, this->server(exact, kAmple));
    std::vector<Tokens> talks;
    for (unsigned i = 0; i < 3; ++i) talks.push_back(message(90, 1) + message(60 + 50 * i, 2 + i));
    std::vector<Asked> asked;
    for (int turn = 0; turn < kTurns; ++turn) {
      std::vector<std::shared_ptr<Heard>> heard;
      for (const Tokens& talk : talks)
        heard.push_back(server.submit(greedy(server, talk + header_, kAnswer)));
      for (std::size_t i = 0; i < talks.size(); ++i) {
        server.turn_until_ended(*heard[i]);
        asked.push_back({talks[i] + header_, heard[i]});
        talks[i] = talks[i] + header_ + heard[i]->tokens() + end_ +
                   message(9 + 30 * static_cast<TokenPos>(i), 20 + turn);
      }
      if (turn % 2 == 1) talks[0][100] = (talks[0][100] + 1) % 256;
    }
    return asked;
  }

  // How many of the prompts have other bits than cold ones.
  int differing(const std::vector<Asked>& asked) {
    SpeculatingServer cold(*model_, server(Exactness::kPrompt, 0));
    int differ = 0;
    for (const Asked& one : asked) {
      auto request = greedy(cold, one.prompt, 1);
      request.reuse = false;
      differ += same_beginning(*cold.run(std::move(request)), *one.heard) ? 0 : 1;
    }
    return differ;
  }

  std::optional<llama::LoadedModel> model_;
  Tokens end_;
  const Tokens header_ = random_tokens(3, 9);
};

TEST_P(ExactPrompts, BeginAsColdOnesBitForBit) {
  const std::vector<Asked> asked = converse(Exactness::kPrompt);
  TokenPos restored = 0;
  std::uint64_t drafted = 0;
  for (const Asked& one : asked) {
    restored += one.heard->receipt().restored;
    drafted += one.heard->drafts().drafted;
    EXPECT_EQ(one.heard->receipt().exact, Exactness::kPrompt);
  }
  EXPECT_GT(restored, 1000);
  EXPECT_EQ(drafted > 0, model_->companion != nullptr);
  EXPECT_EQ(differing(asked), 0);
  const int otherwise = differing(converse(Exactness::kOff));
  EXPECT_GT(otherwise, 0);
  std::cout << GetParam() << ": " << asked.size() << " prompts, " << restored
            << " tokens restored, " << drafted << " drafted; with --exact off " << otherwise
            << " differ\n";
}

INSTANTIATE_TEST_SUITE_P(Models, ExactPrompts,
                         ::testing::Values("pocket", "qwen35", "qwen35moe", "qwen3next", "gemma3",
                                           "gpt-oss", "lfm2-swa", "mamba2", "jamba", "falcon-h1",
                                           "llama-moe", "llama"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace holdfast
