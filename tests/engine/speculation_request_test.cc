// What a request may ask for, under speculation on the real engine: grammars, stop
// strings, logprobs and lengths give the answers that they give without it; and a
// deterministic server's bits do not depend on what was drafted.
#include <cstring>
#include <iostream>

#include "odd_companions.h"
#include "speculation_rig.h"
#include "varied_prompts.h"

namespace holdfast {
namespace {

class RequestsOnPocket : public ::testing::Test {
 protected:
  RequestsOnPocket()
      : plain_(load_model("pocket", Drafting::kOff)),
        model_(load_model("pocket", Drafting::kMtp)),
        alone_(plain_),
        server_(model_, {.companion = model_.companion.get()}),
        prompts_(varied_prompts(*plain_.text, 8)) {}

  using Change = std::function<void(serve::GenerateRequest&)>;

  // The same request both ways; the answer without drafts, which is also the other.
  HeardPtr expect_same_both_ways(const Tokens& prompt, const engine::SamplingParams& sampling,
                                 TokenPos max_tokens, const Change& change) {
    const auto run = [&](SpeculatingServer& server) {
      auto request = server.request(prompt, max_tokens, sampling);
      request.ignore_eos = false;
      change(request);
      return server.run(std::move(request));
    };
    const auto wanted = run(alone_);
    const auto seen = run(server_);
    EXPECT_EQ(seen->tokens(), wanted->tokens());
    EXPECT_EQ(seen->text, wanted->text);
    EXPECT_EQ(seen->finished->reason, wanted->finished->reason);
    EXPECT_EQ(seen->finished->stop_string, wanted->finished->stop_string);
    EXPECT_EQ(seen->finished->timings.predicted_tokens, wanted->finished->timings.predicted_tokens);
    return wanted;
  }

  void expect_drafts_were_accepted() {
    const DraftCounts drafts = server_.scheduler().status().drafts;
    std::cout << "accepted" << rates(drafts) << "\n";
    EXPECT_GT(drafts.accepted, 0U);
  }

  static engine::SamplingParams greedy() {
    engine::SamplingParams params;
    params.temperature = 0.0F;
    return params;
  }
  static void as_it_is(serve::GenerateRequest&) {}

  llama::LoadedModel plain_;
  llama::LoadedModel model_;
  SpeculatingServer alone_;
  SpeculatingServer server_;
  std::vector<Tokens> prompts_;
};

TEST_F(RequestsOnPocket, Grammars) {
  const std::vector<std::string> grammars = {
      "root ::= \"{\" pair (\", \" pair)* \"}\"\npair ::= \"\\\"\" [a-z]+ \"\\\": \" [0-9]+\n",
      "root ::= ([0-9]+ \" \"){5,20}\n",
      "root ::= (\"yes\" | \"no\") \".\"\n",
  };
  for (const std::string& grammar : grammars) {
    for (const float temperature : {0.0F, 1.0F}) {
      engine::SamplingParams params = greedy();
      params.grammar = grammar;
      params.temperature = temperature;
      params.seed = 5;
      for (const Tokens& prompt : prompts_) {
        expect_same_both_ways(prompt, params, 40, as_it_is);
      }
    }
  }
  expect_drafts_were_accepted();
}

// Every place where a stop string may begin, also inside and across tokens.
TEST_F(RequestsOnPocket, StopStrings) {
  int stopped = 0;
  for (const Tokens& prompt : prompts_) {
    const std::string text = alone_.run(prompt, 40)->text;
    for (std::size_t at = 3; at + 5 < text.size(); at += 17) {
      const std::string stop = text.substr(at, 1 + at % 4);
      const auto answer =
          expect_same_both_ways(prompt, greedy(), 40, [&](serve::GenerateRequest& r) {
            r.stops = {stop, "never said"};
            r.ignore_eos = true;
          });
      stopped += answer->finished->reason == serve::FinishReason::kStopString ? 1 : 0;
    }
  }
  std::cout << stopped << " answers stopped; ";
  EXPECT_GT(stopped, 20);
  expect_drafts_were_accepted();
}

TEST_F(RequestsOnPocket, EndsOfTurnAndEveryLength) {
  int ended = 0;
  for (const Tokens& prompt : prompts_) {
    const auto whole = expect_same_both_ways(prompt, greedy(), 60, as_it_is);
    ended += whole->finished->reason == serve::FinishReason::kStopToken ? 1 : 0;
  }
  std::cout << ended << " answers ended by themselves; ";
  EXPECT_GT(ended, 0);
  for (TokenPos length = 0; length <= 12; ++length) {
    const auto answer =
        expect_same_both_ways(prompts_[1], greedy(), length,
                              [](serve::GenerateRequest& request) { request.ignore_eos = true; });
    EXPECT_EQ(answer->reports.size(), static_cast<std::size_t>(length));
  }
  expect_drafts_were_accepted();
}

TEST_F(RequestsOnPocket, LimitsOfDrafts) {
  const std::vector<DraftLimits> limits = {{.max = 0, .adaptive = false},
                                           {.max = 1, .adaptive = false},
                                           {.max = 3, .min = 3, .p_min = 0.7F, .adaptive = false},
                                           {.max = 100, .min = 2, .adaptive = false}};
  for (const DraftLimits& limit : limits) {
    for (const Tokens& prompt : prompts_) {
      expect_same_both_ways(prompt, greedy(), 30, [&](serve::GenerateRequest& request) {
        request.draft = limit;
        request.ignore_eos = true;
      });
    }
  }
  expect_drafts_were_accepted();
}

TEST_F(RequestsOnPocket, PenaltiesAndOtherSamplers) {
  engine::SamplingParams params;
  params.seed = 11;
  params.repeat_penalty = 1.3F;
  params.frequency_penalty = 0.2F;
  params.dry_multiplier = 0.5F;
  for (const int mirostat : {0, 2}) {
    params.mirostat = mirostat;
    for (const Tokens& prompt : prompts_) expect_same_both_ways(prompt, params, 40, as_it_is);
  }
  expect_drafts_were_accepted();
}

// As many as asked for, of the same tokens, and the same but for last bits.
TEST_F(RequestsOnPocket, Logprobs) {
  float furthest = 0.0F;
  engine::SamplingParams params = greedy();
  params.top_logprobs = 5;
  for (const Tokens& prompt : prompts_) {
    const auto wanted = alone_.run(alone_.request(prompt, 40, params));
    const auto seen = server_.run(server_.request(prompt, 40, params));
    ASSERT_EQ(seen->tokens(), wanted->tokens());
    for (std::size_t i = 0; i < wanted->reports.size(); ++i) {
      const serve::TokenReport& a = seen->reports[i];
      const serve::TokenReport& b = wanted->reports[i];
      EXPECT_EQ(a.text, b.text);
      ASSERT_EQ(a.sampled.top.size(), 5U);
      furthest = std::max(furthest, std::abs(a.sampled.logprob - b.sampled.logprob));
      for (std::size_t k = 0; k < 5; ++k) {
        furthest =
            std::max(furthest, std::abs(a.sampled.top[k].logprob - b.sampled.top[k].logprob));
      }
    }
  }
  std::cout << "logprobs differ by " << furthest << " at most; ";
  EXPECT_LT(furthest, 0.02F);
  expect_drafts_were_accepted();
}

// To the last token that the context holds.
TEST(EndOfTheContext, IsReachedAsWithoutDrafts) {
  for (const std::string name : {"pocket", "qwen35", "qwen3next"}) {
    auto config = speculation_config(Drafting::kOff, 1);
    config.context_tokens = 256;
    auto plain = load_model(name, config);
    config.draft_source = DraftSource::kMtp;
    auto model = load_model(name, config);
    SpeculatingServer alone(plain);
    SpeculatingServer server(model, {.companion = model.companion.get()});
    const TokenPos context = model.engine->context_tokens();
    for (TokenPos left = 1; left <= 10; ++left) {
      SCOPED_TRACE(name + ", " + std::to_string(left) + " left");
      const auto prompt = random_tokens(context - left, 4);
      const auto wanted = alone.run(prompt, -1);
      const auto seen = server.run(prompt, -1);
      EXPECT_EQ(seen->tokens(), wanted->tokens());
      EXPECT_EQ(seen->reports.size(), static_cast<std::size_t>(left));
      EXPECT_EQ(seen->finished->reason, serve::FinishReason::kContextFull);
    }
  }
}

// --- deterministic ------------------------------------------------------------------

class DeterministicSpeculation : public ::testing::TestWithParam<std::string> {};

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// Every step has the same number of rows, drafted well, badly or not at all. (But for
// the last rows of a full context, where fewer fit, and not always equally many.)
TEST_P(DeterministicSpeculation, BitsDoNotDependOnTheDrafts) {
  constexpr TokenPos kTokens = 60;
  auto model = load_model(GetParam(), Drafting::kMtp, 1, Rows::kF16);
  std::vector<Tokens> prompts = {turn(40, 1), turn(150, 2), turn(300, 3)};
  if (GetParam() == "pocket") prompts = varied_prompts(*model.text, 6);
  engine::SamplingParams params;
  params.temperature = 0.0F;
  params.top_logprobs = 5;
  const auto speak = [&](engine::Companion& companion, const char* what) {
    SpeculatingServer server(model, {.companion = &companion, .deterministic_draft = kDraftMax});
    std::vector<HeardPtr> answers;
    for (const Tokens& prompt : prompts) {
      answers.push_back(server.run(server.request(prompt, kTokens, params)));
    }
    std::cout << GetParam() << ", " << what << ": accepted"
              << rates(server.scheduler().status().drafts) << "\n";
    return answers;
  };
  const auto wanted = speak(*model.companion, "mtp");
  Knowing knowing(1, 0.7, 3);
  for (std::size_t i = 0; i < prompts.size(); ++i) knowing.teach(prompts[i], wanted[i]->tokens());
  Odd nonsense(*model.companion, Oddity::kDraftsNonsense, 1, 1);
  Odd nothing(*model.companion, Oddity::kDraftsNothing, 1, 1);
  for (const auto& [companion, what] :
       {std::pair<engine::Companion*, const char*>{&knowing, "knowing"},
        {&nonsense, "nonsense"},
        {&nothing, "nothing"}}) {
    const auto seen = speak(*companion, what);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      SCOPED_TRACE(std::string(what) + ", prompt " + std::to_string(i));
      ASSERT_EQ(seen[i]->tokens(), wanted[i]->tokens());
      std::size_t unequal = 0;
      for (std::size_t k = 0; k < static_cast<std::size_t>(kTokens); ++k) {
        const engine::Sampled& a = seen[i]->reports[k].sampled;
        const engine::Sampled& b = wanted[i]->reports[k].sampled;
        bool equal = same_bits(a.logprob, b.logprob);
        for (std::size_t t = 0; t < 5; ++t) {
          equal = equal && a.top[t].token == b.top[t].token &&
                  same_bits(a.top[t].logprob, b.top[t].logprob);
        }
        unequal += equal ? 0 : 1;
      }
      EXPECT_EQ(unequal, 0U);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, DeterministicSpeculation,
                         ::testing::Values("pocket", "qwen35", "qwen35moe", "qwen3next"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace holdfast
