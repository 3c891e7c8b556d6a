// Our grammars against the library's own, token by token, on grammars that the library can follow.
#include "engine/llama/llama_grammar.h"

#include <gtest/gtest.h>
#include <json-schema-to-grammar.h>
#include <json.h>
#include <llama.h>

#include <random>

namespace holdfast::llama {
namespace {

class GrammarOfPocket : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    llama_model_params params = llama_model_default_params();
    params.vocab_only = true;
    model_ = llama_model_load_from_file(HOLDFAST_POCKET_MODEL_PATH, params);
    ASSERT_NE(model_, nullptr);
    const llama_vocab* vocab = llama_model_get_vocab(model_);
    std::vector<std::string> pieces;
    for (Token token = 0; token < llama_vocab_n_tokens(vocab); ++token) {
      pieces.push_back(common_token_to_piece(vocab, token, true));
    }
    context_ = new GrammarContext{vocab, {}, std::make_shared<const engine::TokenTrie>(pieces)};
  }
  static void TearDownTestSuite() {
    delete context_;
    llama_model_free(model_);
  }

  static std::unique_ptr<LlamaGrammar> ours(const std::string& text) {
    common_params_sampling params;
    params.grammar = {COMMON_GRAMMAR_TYPE_USER, text};
    auto made = LlamaGrammar::create(*context_, params, "grammar");
    EXPECT_TRUE(made.ok()) << (made ? "" : made.error().message) << "\n" << text;
    return made ? std::move(*made) : nullptr;
  }

  static llama_model* model_;
  static GrammarContext* context_;
};
llama_model* GrammarOfPocket::model_ = nullptr;
GrammarContext* GrammarOfPocket::context_ = nullptr;

std::vector<bool> mask_of(llama_sampler* library, std::size_t vocabulary) {
  std::vector<llama_token_data> data;
  for (std::size_t i = 0; i < vocabulary; ++i) data.push_back({static_cast<Token>(i), 1.0F, 0.0F});
  llama_token_data_array array{data.data(), data.size(), -1, false};
  llama_sampler_apply(library, &array);
  std::vector<bool> allowed(vocabulary);
  for (const llama_token_data& one : data)
    allowed[static_cast<std::size_t>(one.id)] = one.logit > 0;
  return allowed;
}

std::vector<Token> tokens_of(const std::vector<bool>& allowed) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (allowed[i]) tokens.push_back(static_cast<Token>(i));
  }
  return tokens;
}

// The rest of a text after its whole characters; nullopt if it is no UTF-8.
std::optional<std::string_view> last_part(std::string_view text) {
  while (!text.empty()) {
    const auto whole = engine::decode_utf8(text);
    if (!whole) break;
    text.remove_prefix(whole->bytes);
  }
  if (text.empty()) return text;
  const int following = engine::utf8_following(static_cast<unsigned char>(text[0]));
  engine::Utf8Part part = engine::utf8_begin(static_cast<unsigned char>(text[0]), following);
  for (const char c : text.substr(1)) {
    if (!engine::utf8_add(part, static_cast<unsigned char>(c))) return std::nullopt;
  }
  return following > 0 && part.missing > 0 ? std::optional(text) : std::nullopt;
}

// The library takes bytes that cannot be UTF-8; and it refuses the first bytes of every character
// if one that begins like that is excluded.
bool may_differ(const std::string& text, bool mine) {
  const auto part = last_part(text);
  return !part || (mine && !part->empty());
}

// Writes at random what both allow, and compares all tokens at each place.
void walk_both(const GrammarContext& context, LlamaGrammar& ours, llama_sampler* library,
               unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  for (int step = 0; step < 40; ++step) {
    std::vector<bool> mine;
    const auto any = ours.mask(mine);
    ASSERT_TRUE(any.ok()) << any.error().message;
    const std::vector<bool> theirs = mask_of(library, mine.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const std::string& piece = context.trie->piece(static_cast<Token>(i));
      if (mine[i] != theirs[i] && may_differ(text + piece, mine[i])) {
        mine[i] = false;
        continue;
      }
      ASSERT_EQ(mine[i], theirs[i]) << "after '" << text << "' token " << i << " '" << piece << "'";
    }
    const std::vector<Token> possible = tokens_of(mine);
    if (possible.empty()) return;
    const Token chosen = possible[random() % possible.size()];
    if (llama_vocab_is_eog(context.vocab, chosen)) return;
    ASSERT_TRUE(*ours.allows(chosen));
    ASSERT_TRUE(ours.accept(chosen).ok());
    llama_sampler_accept(library, chosen);
    text += context.trie->piece(chosen);
  }
}

const char* const kGrammars[] = {
    R"(root ::= "yes" | "no")",
    R"(root ::= [a-c]+ "." [^x-z\n]{2,5} "!"?)",
    "root ::= (expr \"=\" term \"\\n\")+\n"
    "expr ::= term ([-+*/] term)*\n"
    "term ::= num | \"(\" ws expr \")\" ws\n"
    "num ::= [0-9]+ ws\nws ::= [ \\t\\n]*",
    "root ::= jp-char+ ([ \\t\\n] jp-char+)*\n"
    "jp-char ::= hiragana | katakana | punctuation | cjk\n"
    "hiragana ::= [ぁ-ゟ]\nkatakana ::= [ァ-ヿ]\npunctuation ::= [、-〾]\ncjk ::= [一-鿿]",
    "root ::= item+\nitem ::= \"- \" [^\\r\\n\\x0b\\x0c\\x85\\u2028\\u2029]+ \"\\n\"",
    R"(root ::= ("a" | "ab" | "abc")* "d" .{1,3})",
    "root ::= (x*)* \"end\"\nx ::= \"a\"? \"b\"?",
    R"(root ::= ([a-z ]*){5} "é" [à-ü]{2})",
    // A token's element behind characters is left out: the library compares the token that those
    // characters are in.
    R"(root ::= <|im_start|> !<|im_end|> "x")",
    R"(root ::= <[5]> <[6]>? "z")",
    R"(root ::= "\U0001F600" [\U0001F600-\U0001F64F]* "\x41")",
};

TEST_F(GrammarOfPocket, AllowsWhatTheLibraryAllows) {
  for (const char* text : kGrammars) {
    for (unsigned seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(::testing::Message() << text << "\nseed " << seed);
      const auto mine = ours(text);
      ASSERT_NE(mine, nullptr);
      llama_sampler* library = llama_sampler_init_grammar(context_->vocab, text, "root");
      ASSERT_NE(library, nullptr);
      walk_both(*context_, *mine, library, seed);
      llama_sampler_free(library);
      if (HasFatalFailure()) return;
    }
  }
}

const char* const kSchemas[] = {
    R"({"type":"object"})",
    R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":150},
        "tags":{"type":"array","items":{"type":"string","maxLength":8},"maxItems":3}},"required":["name"]})",
    R"({"type":"object","properties":{"a":{"enum":["x","y",3,null]},"b":{"const":{"k":[1,2]}},"c":{"type":["string","null"]}},
        "additionalProperties":false})",
    R"({"type":"object","properties":{"when":{"type":"string","format":"date-time"},"id":{"type":"string","format":"uuid"},
        "code":{"type":"string","pattern":"^[A-Z]{2}-[0-9]{3,5}(x|yz)?$"}},"required":["when","id","code"]})",
    R"({"$defs":{"node":{"type":"object","properties":{"value":{"type":"number"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},
        "required":["value","next"]}},"$ref":"#/$defs/node"})",
    R"({"type":"array","prefixItems":[{"type":"boolean"},{"type":"string"}]})",
    R"({"type":"object","properties":{"known":{"type":"boolean"}},"additionalProperties":{"type":"integer"}})",
};

TEST_F(GrammarOfPocket, FollowsSchemasLikeTheLibrary) {
  for (const char* schema : kSchemas) {
    const std::string text = json_schema_to_grammar(common_json::parse(std::string(schema)));
    for (unsigned seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(::testing::Message() << schema << "\nseed " << seed);
      const auto mine = ours(text);
      ASSERT_NE(mine, nullptr);
      llama_sampler* library = llama_sampler_init_grammar(context_->vocab, text.c_str(), "root");
      ASSERT_NE(library, nullptr);
      walk_both(*context_, *mine, library, seed);
      llama_sampler_free(library);
      if (HasFatalFailure()) return;
    }
  }
}

// A grammar that waits begins at its trigger, even in the middle of a token.
TEST_F(GrammarOfPocket, ALazyGrammarBeginsAtItsTrigger) {
  common_params_sampling params;
  params.grammar = {COMMON_GRAMMAR_TYPE_TOOL_CALLS, R"(root ::= "<call>" [0-9]+ ";")"};
  params.grammar_lazy = true;
  params.grammar_triggers = {{COMMON_GRAMMAR_TRIGGER_TYPE_WORD, "<call>"}};
  auto made = LlamaGrammar::create(*context_, params, "tools");
  ASSERT_TRUE(made.ok());
  LlamaGrammar& grammar = **made;
  for (const Token token : common_tokenize(context_->vocab, "Let me see. <call>4", false, true)) {
    ASSERT_TRUE(grammar.accept(token).ok());
  }
  ASSERT_TRUE(grammar.applies());
  std::vector<bool> allowed;
  ASSERT_TRUE(*grammar.mask(allowed));
  for (const Token token : tokens_of(allowed)) {
    EXPECT_EQ(context_->trie->piece(token).find_first_not_of("0123456789;"), std::string::npos);
  }
  for (const Token token : common_tokenize(context_->vocab, "2;", false, true)) {
    ASSERT_TRUE(grammar.accept(token).ok());
  }
  EXPECT_TRUE(grammar.matcher().complete());
}

}  // namespace
}  // namespace holdfast::llama
