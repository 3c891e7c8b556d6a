#include "cli/explain.h"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/chat.h"
#include "cli/chat_json.h"
#include "cli/chat_view.h"
#include "cli/command_line.h"
#include "cli/explain_view.h"
#include "cli/http_client.h"
#include "cli/option_kinds.h"
#include "env/escaped_text.h"

namespace holdfast::cli {
namespace {

using namespace option_kinds;
using Json = nlohmann::json;

constexpr int kExitFailed = 1;
constexpr int kLastMax = 1000;  // what the server gives at once

// --- the command line -------------------------------------------------------------

}  // namespace

// clang-format off
CommandSyntax explain_syntax(ExplainOptions& o) {
  return {
      .command = "holdfast explain",
      .intro = "holdfast explain - why an answer came as fast as it did. It shows what a request "
               "reused of earlier ones, where its prompt parts from them, why something was missing, "
               "and what would help.",
      .body =
          "Examples:\n"
          "  holdfast explain                      the latest request\n"
          "  holdfast explain --last 20            the latest twenty, a line each\n"
          "  holdfast explain chatcmpl-Xa3...      the request with that answer\n"
          "  holdfast explain --session 4f2a...    those of an agent's session, as a table\n"
          "  holdfast explain --json | jq .reuse   for programs\n",
      .groups = {{"Options", {
          {"--last", "N", with_default(whole(o.last, 1, kLastMax), ""),
           "A line for each of the latest N requests."},
          {"--session", "ID", text(o.session),
           "The requests of a session, as a table with their sum: when, how long the prompt was, how "
           "much of it was reused, how long the rest took, and why not more. The log's lines name "
           "sessions, and so do receipts."},
          {"--json", "", flag(o.json), "What the server says, as JSON."},
          {"--url", "URL", text(o.url), "The server's address."},
          {"--port", "N", local_port(o.url), "The same for a server on this machine: its port."},
          {"--api-key", "KEY", text(o.api_key), "Key that the request was made with."},
          {"--cache-salt", "TEXT", text(o.cache_salt), "The request's cache_salt, where it had one."},
          {"--insecure", "", flag(o.insecure), "Accept any certificate of an https server."},
          help_option(o.show_help),
      }}},
      .closing = "HOLDFAST_URL and HOLDFAST_API_KEY in the environment stand in for --url and "
                 "--api-key. A request that says \"cache_receipt\": true gets the same in its answer."};
}
// clang-format on

namespace {

// --- the server -------------------------------------------------------------------

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.') {
      encoded += c;
    } else {
      encoded += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return encoded;
}

// Of a session all that the server has.
int limit_of(const ExplainOptions& options) {
  if (options.last > 0) return options.last;
  return options.session.empty() ? 1 : kLastMax;
}

std::string target_of(const ExplainOptions& options) {
  std::string target = "/cache/receipts";
  if (!options.id.empty()) {
    target += "/" + percent_encoded(options.id) + "?";
  } else {
    target += "?limit=" + std::to_string(limit_of(options)) + "&";
  }
  if (!options.session.empty()) target += "session=" + percent_encoded(options.session) + "&";
  if (!options.cache_salt.empty()) target += "cache_salt=" + percent_encoded(options.cache_salt);
  while (target.ends_with('?') || target.ends_with('&')) target.pop_back();
  return target;
}

Error no_server(const Error& error, const Url& url) {
  if (error.code != ErrorCode::kUnavailable) return error;
  return {error.code,
          "No server at " + url.text() +
              ". Start one with `holdfast serve`, or say where it is with --url.",
          ""};
}

Error refusal(const ClientResponse& response, const ExplainOptions& options, const Url& url) {
  const std::string said = text_at(child_of(lenient_json(response.body), "error"), "message");
  switch (response.status) {
    case 401:
    case 403:
      return {ErrorCode::kUnauthorized, "The server asks for a key: pass it with --api-key.", ""};
    case 404:
      if (options.id.empty() || said.find("receipt") == std::string::npos) {
        return {ErrorCode::kNotFound,
                "The server at " + url.text() + " has no receipts; is it Holdfast?", ""};
      }
      return {ErrorCode::kNotFound,
              harmless(said) + " `holdfast explain --last 20` lists what there is.", ""};
    case 503: return {ErrorCode::kUnavailable, "The server is not ready: " + harmless(said), ""};
    default: break;
  }
  return {ErrorCode::kEngine,
          "The server answered " + std::to_string(response.status) +
              (said.empty() ? "." : ": " + harmless(said)),
          ""};
}

Result<std::string> fetch_receipts(const ExplainOptions& options) {
  auto url = parse_url(options.url);
  if (!url) return url.error();
  // OpenAI clients are given .../v1.
  if (url->prefix.ends_with("/v1")) url->prefix.resize(url->prefix.size() - 3);
  const HttpClient client(*url, {.verify_peer = !options.insecure});
  ClientRequest request{.target = target_of(options)};
  if (!options.api_key.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + options.api_key);
  }
  std::string body;
  const auto response = client.fetch(request, [&](std::string_view piece) { body.append(piece); });
  if (!response) return no_server(response.error(), *url);
  if (response->status / 100 != 2) return refusal(*response, options, *url);
  return body;
}

Error nothing_yet(const ExplainOptions& options) {
  if (!options.session.empty()) {
    return {ErrorCode::kNotFound,
            "No request of session '" + harmless(options.session) +
                "' is remembered for this key and salt. The server's log names the session of each "
                "request (session=...), and so does `holdfast explain --json`.",
            ""};
  }
  std::string text = "No request has been answered yet";
  if (!options.api_key.empty()) text += " for this key";
  if (!options.cache_salt.empty()) text += " and salt";
  return {ErrorCode::kNotFound, text + ". Ask something first, with `holdfast chat` for example.",
          ""};
}

}  // namespace

Result<ExplainOptions> parse_explain_options(std::span<const std::string> args,
                                             const Environment& env) {
  ExplainOptions options;
  take_client_environment(env, options.url, options.api_key);
  const auto line = parse_command_line(explain_syntax(options), args);
  if (!line) return line.error();
  if (line->words.size() > 1) {
    return invalid_argument("ID", "one ID at a time: " + line->words[0] + " or " + line->words[1]);
  }
  if (!line->words.empty()) options.id = line->words.front();
  if (!options.id.empty() && options.last > 0) {
    return invalid_argument("--last", "--last lists the latest requests; leave the ID out");
  }
  if (!options.id.empty() && !options.session.empty()) {
    return invalid_argument("--session", "--session lists its requests; leave the ID out");
  }
  return options;
}

std::string explain_help(int width) {
  ExplainOptions options;
  return command_help(explain_syntax(options), width);
}

Result<std::string> explain(const ExplainOptions& options, const Environment& env) {
  const auto body = fetch_receipts(options);
  if (!body) return body.error();
  const Json answer = lenient_json(*body);
  const Json& data = child_of(answer, "data");
  const bool list = options.id.empty();
  if (list && (!data.is_array() || data.empty())) return nothing_yet(options);
  const bool several = options.last > 0 || !options.session.empty();
  const Json& shown = !list ? answer : several ? data : data.front();
  if (options.json) return dump_json(shown, 2) + "\n";
  if (!options.session.empty()) return session_table(shown);
  if (options.last > 0) return receipt_lines(shown);
  return receipt_text(shown, explain_style(env));
}

int explain_main(std::span<const std::string> args, const Environment& env) {
  const auto options = parse_explain_options(args, env);
  if (!options) {
    std::cerr << "holdfast explain: " << env::escaped_line(options.error().message) << "\n";
    return kExitUsage;
  }
  if (options->show_help) {
    std::cout << explain_help();
    return 0;
  }
  const auto text = explain(*options, env);
  if (!text) {
    std::cerr << env::escaped_line(text.error().message) << "\n";
    return text.error().param == "--url" ? kExitUsage : kExitFailed;
  }
  std::cout << *text;
  return 0;
}

}  // namespace holdfast::cli
