// LlamaGrammar: the grammar of one generation, with what llama-common adds to it. It stands in for
// the library's own, whose work for one token has no bound (docs/engine.md).
//
//   - a lazy grammar waits for a trigger: a token, a word or a pattern, and then reads from there
//   - a lazy grammar does not look into reasoning, for as long as the reasoning's budget is watched
//   - a grammar of a format reads what the template puts before the answer
//
// One thread at a time.
#pragma once

#include <sampling.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/grammar_matcher.h"
#include "engine/llama/grammar_triggers.h"

namespace holdfast::llama {

// What grammars of one model need.
struct GrammarContext {
  const llama_vocab* vocab = nullptr;
  engine::GrammarLimits limits;
  std::shared_ptr<const engine::TokenTrie> trie;
};

class LlamaGrammar {
 public:
  // From the fields of `params` that are about grammars; `field` names the request's field in
  // errors.
  [[nodiscard]] static Result<std::unique_ptr<LlamaGrammar>> create(
      const GrammarContext& context, const common_params_sampling& params, std::string field);

  // The next token has to match.
  [[nodiscard]] bool applies() const;
  [[nodiscard]] Result<bool> allows(Token token);
  // All tokens that may come next, ends of generation included. False: none may.
  [[nodiscard]] Result<bool> mask(std::vector<bool>& allowed);
  [[nodiscard]] Result<void> accept(Token token);
  [[nodiscard]] const engine::GrammarMatcher& matcher() const { return matcher_; }
  [[nodiscard]] bool lazy() const { return lazy_; }
  // From now on every token is allowed.
  void give_up() { given_up_ = true; }

 private:
  struct FreeSampler {
    void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
  };

  LlamaGrammar(const GrammarContext& context, std::shared_ptr<const engine::Grammar> grammar,
               std::string field);
  [[nodiscard]] Result<void> read_opening(const common_params_sampling& params);
  [[nodiscard]] bool reasoning() const;
  [[nodiscard]] Result<void> take(Token token);
  [[nodiscard]] Result<void> read(Token token, std::string_view piece);
  [[nodiscard]] Result<void> await(Token token, const std::string& piece);
  [[nodiscard]] Error over_budget() const;

  GrammarContext context_;
  std::string field_;
  engine::GrammarMatcher matcher_;
  std::unique_ptr<llama_sampler, FreeSampler> budget_;  // follows the reasoning; may be null
  bool lazy_ = false;
  bool given_up_ = false;
  std::optional<GrammarTriggers> awaited_;  // a lazy grammar before it begins
};

}  // namespace holdfast::llama
