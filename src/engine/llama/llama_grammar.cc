#include "engine/llama/llama_grammar.h"

#include <common.h>
#include <reasoning-budget.h>

#include <algorithm>
#include <climits>

namespace holdfast::llama {

namespace {

using engine::Grammar;
using engine::Match;

// The one token that `text` is, as the library reads <...> in a grammar.
std::optional<Token> token_named(const llama_vocab* vocab, std::string_view text) {
  constexpr std::size_t kNameBytesMax = 256;
  if (text.size() > kNameBytesMax) return std::nullopt;
  const auto tokens = common_tokenize(vocab, std::string(text), false, true);
  return tokens.size() == 1 ? std::optional(tokens[0]) : std::nullopt;
}

std::string how_to_raise(const engine::GrammarLimits& limits) {
  return " The server's limit is raised with --grammar-limit " + std::to_string(limits.factor * 2) +
         ".";
}

// What the template puts before the answer, as the library counts it.
std::vector<Token> opening_tokens(const llama_vocab* vocab, const std::string& opening) {
  if (opening.empty()) return {};
  std::vector<Token> tokens = common_tokenize(vocab, opening, false, true);
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  if (tokens.empty()) return tokens;
  const std::string first = common_token_to_piece(vocab, tokens[0], true);
  // Some tokenizers put a space before the first token.
  if (!first.empty() && is_space(first[0]) && !is_space(opening[0])) tokens.erase(tokens.begin());
  return tokens;
}

}  // namespace

LlamaGrammar::LlamaGrammar(const GrammarContext& context, std::shared_ptr<const Grammar> grammar,
                           std::string field)
    : context_(context), field_(std::move(field)), matcher_(std::move(grammar), context.limits) {}

Result<std::unique_ptr<LlamaGrammar>> LlamaGrammar::create(const GrammarContext& context,
                                                           const common_params_sampling& params,
                                                           std::string field) {
  const std::string& text = params.grammar.grammar;
  if (text.starts_with("%llguidance")) {
    return invalid_argument(field,
                            "llguidance grammars are not supported; write the grammar in GBNF.");
  }
  auto compiled = Grammar::compile(text, context.limits, [&](std::string_view name) {
    return token_named(context.vocab, name);
  });
  if (!compiled) {
    return invalid_argument(
        field,
        compiled.error().message +
            (compiled.error().code == ErrorCode::kTooLarge ? how_to_raise(context.limits) : ""));
  }
  std::unique_ptr<LlamaGrammar> made(
      new LlamaGrammar(context, std::make_shared<const Grammar>(std::move(*compiled)), field));
  if (!made->matcher_.begun()) return made->over_budget();
  made->lazy_ = params.grammar_lazy;
  if (made->lazy_) made->awaited_.emplace(params.grammar_triggers);
  if (auto read = made->read_opening(params); !read) return read.error();
  return made;
}

// The reasoning's budget is watched here only to know whether the model is reasoning: the chain has
// one of its own that enforces it.
Result<void> LlamaGrammar::read_opening(const common_params_sampling& params) {
  const std::vector<Token> opening = opening_tokens(context_.vocab, params.generation_prompt);
  const bool watched = !params.reasoning_budget_start.empty() &&
                       !params.reasoning_budget_end.empty() &&
                       (lazy_ || params.reasoning_budget_tokens >= 0 || params.reasoning_control);
  if (watched) {
    const int budget = params.reasoning_budget_tokens;
    budget_.reset(common_reasoning_budget_init(
        context_.vocab, {params.reasoning_budget_start}, params.reasoning_budget_end,
        params.reasoning_budget_forced, budget < 0 ? INT_MAX : budget));
    for (const Token token : opening) llama_sampler_accept(budget_.get(), token);
  }
  if (lazy_ || !common_grammar_needs_prefill(params.grammar)) return {};
  for (const Token token : opening) {
    if (auto taken = take(token); !taken) return taken;
  }
  return {};
}

bool LlamaGrammar::reasoning() const {
  if (!budget_ || !lazy_) return false;
  const auto state = common_reasoning_budget_get_state(budget_.get());
  return state != REASONING_BUDGET_IDLE && state != REASONING_BUDGET_DONE;
}

bool LlamaGrammar::applies() const { return !given_up_ && !awaited_ && !reasoning(); }

Result<bool> LlamaGrammar::allows(Token token) {
  if (llama_vocab_is_eog(context_.vocab, token)) return matcher_.complete();
  switch (matcher_.allows(token, context_.trie->piece(token))) {
    case Match::kYes: return true;
    case Match::kNo: return false;
    case Match::kOverBudget: break;
  }
  return over_budget();
}

Result<bool> LlamaGrammar::mask(std::vector<bool>& allowed) {
  const Match any = matcher_.mask(*context_.trie, allowed);
  if (any == Match::kOverBudget) return over_budget();
  bool some = false;
  for (std::size_t token = 0; token < allowed.size(); ++token) {
    if (llama_vocab_is_eog(context_.vocab, static_cast<Token>(token))) {
      allowed[token] = matcher_.complete();
    }
    some = some || allowed[token];
  }
  return some;
}

// In the library's order: whether the grammar looks at this token is decided before the budget has
// seen it, and when a reasoning ends by this token, the grammar sees the end's tokens.
Result<void> LlamaGrammar::accept(Token token) {
  if (given_up_) return {};
  const bool looks = !reasoning();
  if (budget_) {
    llama_sampler_accept(budget_.get(), token);
    const bool done = common_reasoning_budget_get_state(budget_.get()) == REASONING_BUDGET_DONE;
    const llama_tokens* end = common_reasoning_budget_get_end_match(budget_.get());
    if (!looks && done && end != nullptr) {
      for (const Token one : *end) {
        if (auto taken = take(one); !taken) return taken;
      }
    }
  }
  return looks ? take(token) : Result<void>();
}

Result<void> LlamaGrammar::take(Token token) {
  const std::string& piece = context_.trie->piece(token);
  if (awaited_) return await(token, piece);
  if (!llama_vocab_is_eog(context_.vocab, token)) return read(token, piece);
  if (matcher_.complete()) return {};
  return Error{ErrorCode::kEngine, "The answer ended before its grammar did.", ""};
}

// Judging, masking and accepting a token share one budget; the next token has its own.
Result<void> LlamaGrammar::read(Token token, std::string_view piece) {
  switch (matcher_.accept(token, piece)) {
    case Match::kYes: matcher_.begin_token(); return {};
    case Match::kOverBudget: return over_budget();
    case Match::kNo: break;
  }
  return Error{ErrorCode::kEngine, "The grammar cannot go on after '" + std::string(piece) + "'.",
               ""};
}

Result<void> LlamaGrammar::await(Token token, const std::string& piece) {
  const auto begun = awaited_->feed(token, piece);
  if (!begun) return {};
  awaited_.reset();
  for (const auto& [one, part] : *begun) {
    if (auto taken = read(one, part); !taken) return taken;
  }
  return {};
}

Error LlamaGrammar::over_budget() const {
  return invalid_argument(field_, "Following this grammar takes more than " +
                                      std::to_string(context_.limits.moves()) +
                                      " moves for one token, or more than " +
                                      std::to_string(context_.limits.stack_bytes() >> 20U) +
                                      " MiB: it has too many ways to read the same text." +
                                      how_to_raise(context_.limits));
}

}  // namespace holdfast::llama
