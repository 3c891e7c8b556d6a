#include "api/key_file.h"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace holdfast::api {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Up to three parts: name, key, what it may do. A colon inside a key has no blank behind it.
std::vector<std::string_view> parts_of(std::string_view line) {
  std::vector<std::string_view> parts;
  for (std::size_t colon;
       parts.size() < 2 && (colon = line.find(": ")) != std::string_view::npos;) {
    parts.push_back(trimmed(line.substr(0, colon)));
    line.remove_prefix(colon + 2);
  }
  parts.push_back(trimmed(line));
  return parts;
}

std::optional<KeyRole> role_of(std::string_view word) {
  if (word == "user") return KeyRole::kUser;
  if (word == "metrics") return KeyRole::kMetrics;
  if (word == "admin") return KeyRole::kAdmin;
  return std::nullopt;
}

int* limit_named(std::string_view name, KeyLimits& limits) {
  if (name == "requests") return &limits.requests;
  if (name == "queue") return &limits.queue;
  if (name == "rate") return &limits.rate;
  return nullptr;
}

bool read_limit(std::string_view word, KeyLimits& limits) {
  const auto equals = word.find('=');
  int* const limit = limit_named(word.substr(0, equals), limits);
  if (limit == nullptr || equals == std::string_view::npos) return false;
  const std::string_view digits = word.substr(equals + 1);
  const char* const last = digits.data() + digits.size();
  const auto [end, problem] = std::from_chars(digits.data(), last, *limit);
  return problem == std::errc() && end == last && *limit >= 1;
}

// The word that is neither a role nor a limit; empty: all is well.
std::string read_rights(std::string_view text, ApiKey& key) {
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (const auto role = role_of(word)) {
      key.role = role;
    } else if (!read_limit(word, key.limits)) {
      return word;
    }
  }
  return "";
}

Error wrong_line(std::size_t number, const std::string& what) {
  return invalid_argument("--api-key-file", "line " + std::to_string(number) + ": " + what);
}

Result<ApiKey> read_line(std::string_view line, std::size_t number) {
  const auto parts = parts_of(line);
  ApiKey key;
  key.name = parts.size() > 1 ? std::string(parts[0]) : "line " + std::to_string(number);
  key.key = parts.size() > 1 ? parts[1] : parts[0];
  if (key.name.empty()) return wrong_line(number, "there is no name before the colon");
  if (key.key.empty()) return wrong_line(number, "there is no key behind the name");
  if (parts.size() < 3) return key;
  const std::string unknown = read_rights(parts[2], key);
  if (unknown.empty()) return key;
  return wrong_line(number, "'" + unknown +
                                "' is neither a role (user, metrics, admin) nor a limit "
                                "(requests=N, queue=N, rate=N)");
}

}  // namespace

Result<std::vector<ApiKey>> parse_key_file(std::string_view text) {
  std::vector<ApiKey> keys;
  std::istringstream lines{std::string(text)};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string_view content = trimmed(line);
    if (content.empty() || content.starts_with('#')) continue;
    auto key = read_line(content, number);
    if (!key) return key.error();
    const auto same = [&](const ApiKey& other) {
      return other.key == key->key || other.name == key->name;
    };
    if (std::ranges::any_of(keys, same))
      return wrong_line(number, "its name or its key is that of an earlier line");
    keys.push_back(std::move(*key));
  }
  if (keys.empty()) return invalid_argument("--api-key-file", "it holds no key");
  return keys;
}

}  // namespace holdfast::api
