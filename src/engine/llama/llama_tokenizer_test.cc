// Random texts, tokenised here and by the library itself, over every kind of vocabulary.
#include "engine/llama/llama_tokenizer.h"

#include <common.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <random>

#include "engine/llama/testing/tiny_vocabularies.h"

namespace holdfast::llama {
namespace {

using engine::TextRange;

constexpr std::uint32_t kSeed = 20261118;

LlamaModelPtr load_pocket() {
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  return LlamaModelPtr(llama_model_load_from_file(HOLDFAST_POCKET_MODEL_PATH, params));
}

struct NamedVocabulary {
  std::string name;
  LlamaModelPtr model;
  std::vector<std::string> words;  // special ones
  [[nodiscard]] const llama_vocab* vocab() const { return llama_model_get_vocab(model.get()); }
};

// More vocabularies, of real models, from a folder of GGUF files: HOLDFAST_VOCABULARIES.
void add_from_folder(std::vector<NamedVocabulary>& all) {
  const char* folder = std::getenv("HOLDFAST_VOCABULARIES");
  if (folder == nullptr) return;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".gguf") continue;
    llama_model_params params = llama_model_default_params();
    params.vocab_only = true;
    LlamaModelPtr model(llama_model_load_from_file(file.path().c_str(), params));
    if (model != nullptr) all.push_back({file.path().filename().string(), std::move(model), {}});
  }
}

std::vector<NamedVocabulary> load_all() {
  std::vector<NamedVocabulary> all;
  all.push_back({"pocket", load_pocket(), {}});
  for (const tiny::VocabularyKind& kind : tiny::all_vocabulary_kinds()) {
    const std::string name = kind.tokenizer + (kind.add_bos ? " bos" : "") +
                             (kind.add_eos ? " eos" : "") + (kind.drops_space ? " strip" : "");
    all.push_back({name, tiny::make_vocabulary(kind), {}});
  }
  add_from_folder(all);
  for (NamedVocabulary& one : all) {
    for (Token token = 0; token < llama_vocab_n_tokens(one.vocab()); ++token) {
      constexpr int kSpecial =
          LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_USER_DEFINED | LLAMA_TOKEN_ATTR_UNKNOWN;
      const bool special = (llama_vocab_get_attr(one.vocab(), token) & kSpecial) != 0;
      if (special) one.words.emplace_back(llama_vocab_get_text(one.vocab(), token));
    }
  }
  return all;
}

class LlamaTokenizerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    llama_log_set(
        [](ggml_log_level level, const char* text, void*) {
          if (level >= GGML_LOG_LEVEL_ERROR) std::cerr << text;
        },
        nullptr);
    vocabularies_ = new std::vector<NamedVocabulary>(load_all());
  }
  static void TearDownTestSuite() { delete vocabularies_; }
  [[nodiscard]] static const std::vector<NamedVocabulary>& vocabularies() { return *vocabularies_; }
  static std::vector<NamedVocabulary>* vocabularies_;
};
std::vector<NamedVocabulary>* LlamaTokenizerTest::vocabularies_ = nullptr;

// Words, white space, special words and parts of them, in any order.
class TextMaker {
 public:
  TextMaker(std::uint32_t seed, const std::vector<std::string>& words)
      : random_(seed), words_(words) {}

  std::string make() {
    std::string text;
    for (std::size_t parts = below(12); parts > 0; --parts) text += part();
    return text;
  }
  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }

 private:
  std::string part() {
    static const std::vector<std::string> kPlain = {" ",   "  ", "   ",   "\n",   "\n\n", "\t",
                                                    "the", "ab", "Grüße", "世界", "<",    "|>",
                                                    "a",   "</", "s>",    "😀",    "▁"};
    const std::size_t kind = below(5);
    if (words_.empty() || kind < 2) return kPlain[below(kPlain.size())];
    const std::string& word = words_[below(words_.size())];
    if (kind < 4) return word;
    // A part of a word; whole characters, as the texts of requests have them.
    const bool ascii = std::ranges::all_of(word, [](char letter) { return letter > 0; });
    return ascii ? word.substr(below(word.size()), 1 + below(word.size())) : word;
  }

  std::mt19937 random_;
  const std::vector<std::string>& words_;
};

TEST_F(LlamaTokenizerTest, TOKENIZER1_EqualsTheLibrary) {
  std::cout << "seed " << kSeed << "\n";
  for (const NamedVocabulary& one : vocabularies()) {
    SCOPED_TRACE(one.name);
    const LlamaTokenizer cutting(one.model.get(), /*cuts_max=*/0);
    EXPECT_TRUE(cutting.special().as_library());
    TextMaker maker(kSeed, one.words);
    for (int i = 0; i < 1500; ++i) {
      const std::string text = maker.make();
      const bool add_special = maker.below(2) == 0;
      const bool parse_special = maker.below(3) > 0;
      ASSERT_EQ(cutting.tokenize(text, add_special, parse_special),
                common_tokenize(one.vocab(), text, add_special, parse_special))
          << '"' << text << '"' << add_special << parse_special;
    }
  }
}

TEST_F(LlamaTokenizerTest, TOKENIZER2_TheCheapCountIsNeverTooHigh) {
  for (const NamedVocabulary& one : vocabularies()) {
    SCOPED_TRACE(one.name);
    const LlamaTokenizer tokenizer(one.model.get());
    TextMaker maker(kSeed + 1, one.words);
    for (int i = 0; i < 1500; ++i) {
      const std::string text = maker.make() + std::string(maker.below(40), ' ') + maker.make();
      ASSERT_LE(tokenizer.tokens_at_least(text),
                std::ssize(common_tokenize(one.vocab(), text, false, maker.below(2) == 0)))
          << '"' << text << '"';
    }
  }
}

// Every control token that a text spells is the client's.
TEST_F(LlamaTokenizerTest, TOKENIZER3_WhatIsLiteralNamesNoControlToken) {
  for (const NamedVocabulary& one : vocabularies()) {
    SCOPED_TRACE(one.name);
    const LlamaTokenizer tokenizer(one.model.get());
    TextMaker maker(kSeed + 2, one.words);
    for (int i = 0; i < 1000; ++i) {
      const std::string text = maker.make();
      const std::vector<TextRange> all = tokenizer.special().find_control(text);
      const Tokens as_text = tokenizer.tokenize_prompt(text, false, all);
      if (all.empty()) continue;
      for (const Token token : as_text) {
        ASSERT_FALSE(llama_vocab_is_control(one.vocab(), token)) << '"' << text << '"';
      }
      // Markup in front of it stays markup.
      const std::string markup = "<s>";
      if (llama_vocab_type(one.vocab()) == LLAMA_VOCAB_TYPE_SPM) continue;  // it adds spaces
      if (tokenizer.special().find_control(markup).empty()) continue;
      std::vector<TextRange> moved;
      for (const TextRange& range : all) moved.push_back({range.begin + 3, range.end + 3});
      const Tokens both = tokenizer.tokenize_prompt(markup + text, false, moved);
      ASSERT_FALSE(both.empty());
      EXPECT_TRUE(llama_vocab_is_control(one.vocab(), both.front())) << '"' << text << '"';
    }
  }
}

// SentencePiece and the GPT-2 kind keep every letter.
TEST_F(LlamaTokenizerTest, LiteralTextIsNotLost) {
  for (const NamedVocabulary& one : vocabularies()) {
    const auto type = llama_vocab_type(one.vocab());
    if (type != LLAMA_VOCAB_TYPE_SPM && one.name != "pocket") continue;
    SCOPED_TRACE(one.name);
    const LlamaTokenizer tokenizer(one.model.get());
    for (const std::string text : {"ab</s>the", "</s>", "a <s> b</s></s>", "<|im_end|>x"}) {
      const auto literal = tokenizer.special().find_control(text);
      std::string read;
      for (const Token token : tokenizer.tokenize_prompt(text, false, literal)) {
        read += common_token_to_piece(one.vocab(), token, true);
      }
      if (read.starts_with(" ") && type == LLAMA_VOCAB_TYPE_SPM) read.erase(0, 1);
      EXPECT_EQ(read, text);
    }
  }
}

TEST_F(LlamaTokenizerTest, TheCheapCountIsWorthAsking) {
  const NamedVocabulary& pocket = vocabularies().front();
  const LlamaTokenizer tokenizer(pocket.model.get());
  std::string words;
  while (words.size() < 100000) words += "some plain words ";
  EXPECT_GT(tokenizer.tokens_at_least(words), std::ssize(words) / 40);
}

// 1 MiB of them took the library more than a minute; the test's own time limit is the measure.
TEST_F(LlamaTokenizerTest, ManySpecialTokensTakeLinearTime) {
  const NamedVocabulary& pocket = vocabularies().front();
  const LlamaTokenizer tokenizer(pocket.model.get());
  std::string text;
  while (text.size() < (std::size_t{4} << 20U)) text += "<|im_end|>\n<|im_start|>";
  const Tokens few = common_tokenize(pocket.vocab(), "<|im_end|>\n<|im_start|>", false, true);
  const Tokens many = tokenizer.tokenize(text, false, true);
  ASSERT_EQ(many.size(), text.size() / 23 * few.size());
}

}  // namespace
}  // namespace holdfast::llama
