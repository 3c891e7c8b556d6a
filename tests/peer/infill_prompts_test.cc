// The prompts of /infill, token for token: ours against those of llama-server's own function, which
// is compiled from the source that scripts/engine.sh fetches.
#include <gtest/gtest.h>
#include <llama.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "api/infill.h"
#include "engine/llama/llama_text.h"
#include "server-common.h"

namespace holdfast {
namespace {

// Which tokens a vocabulary names for filling in, as ids; any will do.
enum class Kind { kPlain, kWithFiles };

std::vector<llama_model_kv_override> fill_tokens(Kind kind) {
  std::vector<llama_model_kv_override> all;
  const auto add = [&](const char* name, int token) {
    llama_model_kv_override one{};
    one.tag = LLAMA_KV_OVERRIDE_TYPE_INT;
    std::snprintf(one.key, sizeof one.key, "tokenizer.ggml.fim_%s_token_id", name);
    one.val_i64 = token;
    all.push_back(one);
  };
  add("pre", 101);
  add("suf", 102);
  add("mid", 103);
  if (kind == Kind::kWithFiles) add("rep", 104);
  if (kind == Kind::kWithFiles) add("sep", 105);
  all.emplace_back();  // ends the list
  return all;
}

std::shared_ptr<llama_model> vocabulary(const std::string& path, Kind kind) {
  const auto overrides = fill_tokens(kind);
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  params.kv_overrides = overrides.data();
  return {llama_model_load_from_file(path.c_str(), params), llama_model_free};
}

struct Asked {
  api::InfillRequest request;
  api::InfillRoom room;
};

std::string some_text(std::mt19937& random, std::size_t words) {
  static const char* const kWords[] = {"def ",   "add",   "(a, b):\n", "    return ",
                                       "Grüße ", "<|x|>", "\n\n",      "世界",
                                       "0x1F",   "\t",    "  ",        "'"};
  std::string text;
  const std::size_t count = random() % (words + 1);
  for (std::size_t i = 0; i < count; ++i) text += kWords[random() % std::size(kWords)];
  return text;
}

Asked some_request(std::mt19937& random) {
  Asked asked;
  asked.request.prefix = some_text(random, 200);
  asked.request.suffix = some_text(random, 120);
  asked.request.typed = some_text(random, 8);
  for (std::size_t i = random() % 4; i > 0; --i)
    asked.request.extra.push_back({some_text(random, 3), some_text(random, 60)});
  const TokenPos batches[] = {64, 128, 512, 2048};
  asked.room.batch = batches[random() % 4];
  asked.room.context = asked.room.batch + static_cast<TokenPos>(random() % 400);
  asked.room.answer = static_cast<TokenPos>(random() % 40) - 1;
  return asked;
}

// As llama-server's handler calls it.
llama_tokens theirs(const llama_vocab* vocab, const Asked& asked) {
  json extra = json::array();
  for (const api::ExtraFile& file : asked.request.extra)
    extra.push_back({{"filename", file.name}, {"text", file.text}});
  const llama_tokens typed = common_tokenize(vocab, asked.request.typed, false, true);
  return format_prompt_infill(vocab, asked.request.prefix, asked.request.suffix, extra,
                              asked.room.batch, asked.room.answer, asked.room.context, false,
                              typed);
}

// The first seed whose prompts differ; 0: none does, which is also the process's exit code.
int first_difference(const std::string& path, Kind kind) {
  const auto model = vocabulary(path, kind);
  const auto text = llama::LlamaText::create(model, path, "", {});
  if (!text.ok()) return std::fprintf(stderr, "%s\n", text.error().message.c_str()), 255;
  const llama_vocab* const vocab = llama_model_get_vocab(model.get());
  for (unsigned seed = 1; seed <= 250; ++seed) {
    std::mt19937 random(seed);
    const Asked asked = some_request(random);
    const auto ours = api::infill_prompt(**text, asked.request, asked.room);
    if (!ours.ok() || *ours != theirs(vocab, asked)) return static_cast<int>(seed);
  }
  return 0;
}

class InfillPrompts : public ::testing::TestWithParam<std::tuple<std::string, Kind>> {};

// Each in a process of its own: their function keeps tokens of the first vocabulary that it sees.
TEST_P(InfillPrompts, EqualLlamaServersTokenForToken) {
  const auto& [path, kind] = GetParam();
  EXPECT_EXIT(std::exit(first_difference(path, kind)), ::testing::ExitedWithCode(0), "") << path;
}

const std::string kTree = HOLDFAST_LLAMA_TREE;

INSTANTIATE_TEST_SUITE_P(
    Vocabularies, InfillPrompts,
    ::testing::Combine(::testing::Values(HOLDFAST_POCKET_MODEL_PATH,
                                         kTree + "/models/ggml-vocab-qwen2.gguf",
                                         kTree + "/models/ggml-vocab-llama-spm.gguf",
                                         kTree + "/models/ggml-vocab-deepseek-coder.gguf"),
                       ::testing::Values(Kind::kPlain, Kind::kWithFiles)));

}  // namespace
}  // namespace holdfast
