#include "cli/exact_answer.h"

#include <algorithm>
#include <cmath>

#include "cli/chat_json.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

Error unlike(const std::string& what) {
  return {ErrorCode::kUnsupported,
          "The answer has no " + what +
              "; is it a Holdfast of this version, and the key one that may use the model?",
          ""};
}

TokenPos tokens_at(const Json& json, const char* key) {
  return static_cast<TokenPos>(number_at(json, key));
}

// Each answer has ids of calls of its own.
std::string text_of(const Json& choice) {
  const Json& message = child_of(choice, "message");
  Json said = {{"content", text_at(message, "content")},
               {"thoughts", text_at(message, "reasoning_content")},
               {"end", text_at(choice, "finish_reason")},
               {"calls", Json::array()}};
  const Json& calls = child_of(message, "tool_calls");
  if (calls.is_array()) {
    for (const Json& call : calls) said["calls"].push_back(child_of(call, "function"));
  }
  return dump_json(said);
}

void read_logprobs(const Json& choice, ExactAnswer& answer) {
  const Json& content = child_of(child_of(choice, "logprobs"), "content");
  if (!content.is_array()) return;
  for (const Json& token : content) {
    answer.tokens.push_back(text_at(token, "token") + dump_json(child_of(token, "bytes")));
    answer.logprobs.push_back(number_at(token, "logprob"));
  }
}

Result<ExactAnswer> read_answer(const Json& choice, const Json& receipt) {
  ExactAnswer answer;
  answer.tokens_hash = text_at(receipt, "tokens_hash");
  answer.prompt_hash = text_at(receipt, "prompt_hash");
  if (answer.prompt_hash.empty()) return unlike("prompt_hash in its cache_receipt");
  answer.prompt_tokens = tokens_at(receipt, "prompt_tokens");
  answer.restored = tokens_at(receipt, "restored_tokens");
  answer.prewarmed = tokens_at(receipt, "prewarmed_tokens");
  answer.restored_from = text_at(receipt, "restored_from");
  answer.message = child_of(choice, "message");
  answer.text = text_of(choice);
  read_logprobs(choice, answer);
  return answer;
}

}  // namespace

Result<std::vector<ExactAnswer>> read_answers(std::string_view body) {
  const Json json = lenient_json(body);
  const Json& choices = child_of(json, "choices");
  const Json& given = child_of(json, "cache_receipt");
  const Json receipts = given.is_array() ? given : Json::array({given});
  if (!choices.is_array() || choices.empty()) return unlike("choices");
  if (receipts.size() != choices.size()) return unlike("cache_receipt for each choice");
  std::vector<ExactAnswer> answers;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    auto answer = read_answer(choices[i], receipts[i]);
    if (!answer) return answer.error();
    answers.push_back(std::move(*answer));
  }
  return answers;
}

ExactDifference difference_of(const ExactAnswer& running, const ExactAnswer& cold) {
  ExactDifference found;
  found.other_tokens = running.tokens_hash != cold.tokens_hash;
  if (found.other_tokens) return found;
  found.prompt = running.prompt_hash != cold.prompt_hash;
  found.text = running.text != cold.text;
  const std::size_t both = std::min(running.tokens.size(), cold.tokens.size());
  for (std::size_t i = 0; i < both; ++i) {
    const bool same = running.tokens[i] == cold.tokens[i];
    const double apart = same ? std::abs(running.logprobs[i] - cold.logprobs[i]) : 0.0;
    if (i == 0) found.first_token = !same || apart > 0.0;
    if (i == 0) found.first_apart = apart;
    if (!same) break;
    found.apart = std::max(found.apart, apart);
  }
  return found;
}

}  // namespace holdfast::cli
