#include "api/openai_prompts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "api/openai_fields.h"

namespace holdfast::api {
namespace {

bool starts_with_token(const Json& value) {
  return value.is_array() && !value.empty() && value.front().is_number();
}

// One prompt of ids and texts: [1, 2, "Hello", 3]. Texts alone are several prompts.
bool is_mixed(const Json& value) {
  if (!value.is_array()) return false;
  const auto is_number = [](const Json& item) { return item.is_number(); };
  const auto is_text = [](const Json& item) { return item.is_string(); };
  return std::ranges::any_of(value, is_number) && std::ranges::any_of(value, is_text);
}

Tokens read_tokens(const Json& array, const std::string& path, const ChatDefaults& defaults,
                   FirstError& error) {
  Tokens tokens;
  tokens.reserve(array.size());
  for (std::size_t i = 0; i < array.size() && error.empty(); ++i) {
    const auto token = token_of(exact_integer(array[i]), defaults);
    if (token)
      tokens.push_back(*token);
    else
      error.note(element_path(path, i), "must be a token id of the vocabulary");
  }
  return tokens;
}

MixedPrompt read_mixed(const Json& array, const std::string& path, const ChatDefaults& defaults,
                       FirstError& error) {
  MixedPrompt parts;
  for (std::size_t i = 0; i < array.size() && error.empty(); ++i) {
    if (array[i].is_string()) {
      parts.emplace_back(array[i].get<std::string>());
      continue;
    }
    const auto token = token_of(exact_integer(array[i]), defaults);
    if (!token) {
      error.note(element_path(path, i), "must be a text or a token id of the vocabulary");
    } else if (parts.empty() || std::holds_alternative<std::string>(parts.back())) {
      parts.emplace_back(Tokens{*token});
    } else {
      std::get<Tokens>(parts.back()).push_back(*token);
    }
  }
  return parts;
}

// llama-server's {"prompt_string": "..."}; its multimodal_data is not for us.
std::string read_prompt_object(const Json& value, const std::string& path, FirstError& error) {
  const JsonFields fields(value, path, error);
  if (fields.has("multimodal_data"))
    fields.fail("multimodal_data", "is not supported; this server reads text only");
  return required_text(fields, "prompt_string");
}

TextPrompt read_prompt(const Json& value, const std::string& path, const ChatDefaults& defaults,
                       FirstError& error) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object()) return read_prompt_object(value, path, error);
  if (is_mixed(value)) return read_mixed(value, path, defaults, error);
  if (starts_with_token(value)) return read_tokens(value, path, defaults, error);
  error.note(path, "must be a string or a non-empty array of token ids");
  return std::string();
}

// What the vocabulary puts before a text stands before the first part only.
Tokens tokens_of_parts(const engine::TextModel& text, const MixedPrompt& parts) {
  Tokens tokens;
  for (const auto& part : parts) {
    const auto* words = std::get_if<std::string>(&part);
    const Tokens own =
        words != nullptr ? text.tokenize(*words, tokens.empty(), true) : std::get<Tokens>(part);
    tokens.insert(tokens.end(), own.begin(), own.end());
  }
  return tokens;
}

}  // namespace

std::vector<TextPrompt> read_prompts(const JsonFields& body, const std::string& name,
                                     std::size_t count_max, const ChatDefaults& defaults) {
  std::vector<TextPrompt> prompts;
  const Json* value = body.find(name);
  if (value == nullptr || (value->is_array() && value->empty())) {
    body.fail(name, "is required");
  } else if (!value->is_array() || starts_with_token(*value) || is_mixed(*value)) {
    prompts.push_back(read_prompt(*value, name, defaults, body.error()));
  } else if (value->size() > count_max) {
    body.fail(name, "may hold at most " + std::to_string(count_max) + " texts");
  } else {
    for (std::size_t i = 0; i < value->size(); ++i)
      prompts.push_back(read_prompt((*value)[i], element_path(name, i), defaults, body.error()));
  }
  return prompts;
}

Tokens tokens_of(const engine::TextModel& text, const TextPrompt& prompt) {
  if (const auto* words = std::get_if<std::string>(&prompt)) {
    return text.tokenize(*words, true, true);
  }
  if (const auto* parts = std::get_if<MixedPrompt>(&prompt)) return tokens_of_parts(text, *parts);
  return std::get<Tokens>(prompt);
}

}  // namespace holdfast::api
