// ExactAnswer: what a server's answer says about exactness; and how two answers to the same
// request differ.
//
// Pure functions; any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "state/tokens.h"

namespace holdfast::cli {

struct ExactAnswer {
  std::string tokens_hash;  // of the receipt (api/receipt_json.h)
  std::string prompt_hash;
  TokenPos prompt_tokens = 0;
  TokenPos restored = 0;
  TokenPos prewarmed = 0;
  std::string restored_from;
  nlohmann::json message;           // as the history will have it
  std::string text;                 // all that it says, in one text
  std::vector<std::string> tokens;  // chosen ones
  std::vector<double> logprobs;     // theirs
};

// One for each choice. An Error: it is no answer with receipts that have hashes.
[[nodiscard]] Result<std::vector<ExactAnswer>> read_answers(std::string_view body);

struct ExactDifference {
  bool other_tokens = false;  // the servers read other tokens: nothing else is looked at
  bool prompt = false;        // by a bit, at least
  bool first_token = false;   // its logprob, or the token itself
  double first_apart = 0.0;   // its logprob, where the token is the same
  double apart = 0.0;         // the largest of all tokens, up to the first that is another
  bool text = false;
};

[[nodiscard]] ExactDifference difference_of(const ExactAnswer& running, const ExactAnswer& cold);

}  // namespace holdfast::cli
