#include "api/session_id.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "base/hash.h"

namespace holdfast::api {
namespace {

constexpr std::size_t kDigits = 16;  // of a digest
// Claude Code's is 200 bytes long; nobody's is a document.
constexpr std::size_t kUserIdMax = 4096;

bool is_plain(char c) { return c > ' ' && c < '\x7f'; }

std::string digest_of(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::uint64_t hash = hash_bytes(std::as_bytes(std::span(text)));
  std::string digits(kDigits, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, hash >>= 4U)
    *digit = kHex[hash & 15U];
  return digits;
}

std::string_view text_in(const Json* value) {
  const auto* text = value != nullptr ? value->get_ptr<const std::string*>() : nullptr;
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

std::string_view text_in(const Json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found == object.end() ? std::string_view() : text_in(&*found);
}

// "user_..._account_..._session_ID", or {"session_id": "ID", ...} as text.
std::string session_in_user_id(std::string_view user_id) {
  constexpr std::string_view kMark = "_session_";
  if (user_id.size() > kUserIdMax) return session_id(user_id);
  if (user_id.starts_with('{')) {
    const Result<Json> parsed = parse_json(user_id);
    const std::string_view inner = parsed.ok() ? text_in(*parsed, "session_id") : "";
    if (!inner.empty()) return session_id(inner);
  }
  const std::size_t at = user_id.rfind(kMark);
  if (at == std::string_view::npos || at + kMark.size() == user_id.size())
    return session_id(user_id);
  return session_id(user_id.substr(at + kMark.size()));
}

}  // namespace

std::string session_id(std::string_view name) {
  const bool fits = name.size() <= kSessionIdMax && std::ranges::all_of(name, is_plain);
  if (fits) return std::string(name);
  std::string id(name.substr(0, kSessionIdMax - kDigits - 1));
  std::ranges::replace_if(
      id, [](char c) { return !is_plain(c); }, '_');
  return id + '~' + digest_of(name);
}

std::string read_session(const JsonFields& body) {
  if (const auto key = text_in(body.find("prompt_cache_key")); !key.empty()) return session_id(key);
  if (const Json* metadata = body.find("metadata")) {
    if (const auto user_id = text_in(*metadata, "user_id"); !user_id.empty())
      return session_in_user_id(user_id);
  }
  for (const char* name : {"safety_identifier", "user"})
    if (const auto id = text_in(body.find(name)); !id.empty()) return session_id(id);
  return "";
}

std::string session_in_headers(const HttpRequest& request) {
  constexpr std::array kNames = {"x-claude-code-session-id", "session-id", "session_id",
                                 "thread-id", "x-session-affinity"};
  for (const char* name : kNames) {
    if (const std::string_view id = request.header(name); !id.empty()) return session_id(id);
  }
  return "";
}

std::string session_of(const HttpRequest& request, std::string_view in_body) {
  std::string session = session_in_headers(request);
  return session.empty() ? session_id(in_body) : session;
}

}  // namespace holdfast::api
