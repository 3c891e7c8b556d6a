#include "cli/explain.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/chat_json.h"
#include "cli/chat_view.h"
#include "cli/explain_view.h"
#include "cli/http_client.h"
#include "cli/option_values.h"
#include "cli/small_options.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

constexpr int kExitFailed = 1;
constexpr int kLastMax = 1000;  // what the server gives at once

// --- the command line -------------------------------------------------------------

struct ExplainOption {
  std::string name;
  std::string value;  // empty: a flag
  std::string help;
  std::function<bool(ExplainOptions&, const std::string&)> set;
};

auto set_text(std::string ExplainOptions::*field) {
  return [field](ExplainOptions& o, const std::string& text) {
    o.*field = text;
    return !text.empty();
  };
}

auto set_flag(bool ExplainOptions::*field) {
  return [field](ExplainOptions& o, const std::string&) { return o.*field = true; };
}

bool set_last(ExplainOptions& options, const std::string& text) {
  const auto count = number_of<int>(text);
  options.last = count.value_or(0);
  return options.last >= 1 && options.last <= kLastMax;
}

const std::vector<ExplainOption>& explain_options() {
  static const std::vector<ExplainOption> options = {
      {"--last", "N", "A line for each of the latest N requests.", set_last},
      {"--json", "", "What the server says, as JSON.", set_flag(&ExplainOptions::json)},
      {"--url", "URL", "The server's address. (default: http://127.0.0.1:8080)",
       set_text(&ExplainOptions::url)},
      {"--api-key", "KEY", "Key that the request was made with.",
       set_text(&ExplainOptions::api_key)},
      {"--cache-salt", "TEXT", "The request's cache_salt, where it had one.",
       set_text(&ExplainOptions::cache_salt)},
      {"--insecure", "", "Accept any certificate of an https server.",
       set_flag(&ExplainOptions::insecure)},
      {"--help", "", "This text.", set_flag(&ExplainOptions::show_help)},
  };
  return options;
}

const ExplainOption* find_explain_option(std::string_view name) {
  if (name == "-h") name = "--help";
  for (const ExplainOption& option : explain_options()) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

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

std::string target_of(const ExplainOptions& options) {
  std::string target = "/cache/receipts";
  if (!options.id.empty()) {
    target += "/" + percent_encoded(options.id) + "?";
  } else {
    target += "?limit=" + std::to_string(std::max(options.last, 1)) + "&";
  }
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
  if (const auto url = env.find("HOLDFAST_URL"); url != env.end()) options.url = url->second;
  const auto key = env.find("HOLDFAST_API_KEY");
  // The server takes a list of keys there; a client sends one.
  if (key != env.end()) options.api_key = key->second.substr(0, key->second.find(','));
  for (std::size_t at = 0; at < args.size();) {
    if (args[at].starts_with('-')) {
      if (const auto taken = take_small_option(args, at, options, explain_options(),
                                               find_explain_option, "holdfast explain");
          !taken)
        return taken.error();
      continue;
    }
    if (!options.id.empty()) {
      return invalid_argument("ID", "one ID at a time: " + options.id + " or " + args[at]);
    }
    options.id = args[at++];
  }
  if (!options.id.empty() && options.last > 0) {
    return invalid_argument("--last", "--last lists the latest requests; leave the ID out");
  }
  return options;
}

std::string explain_help(int width) {
  std::string text = wrap_text(
      "holdfast explain - why an answer came as fast as it did. It shows what a request reused of "
      "earlier ones, where its prompt parts from them, why something was missing, and what would "
      "help.",
      width, 0);
  text +=
      "\nExamples:\n"
      "  holdfast explain                      the latest request\n"
      "  holdfast explain --last 20            the latest twenty, a line each\n"
      "  holdfast explain chatcmpl-Xa3...      the request with that answer\n"
      "  holdfast explain --json | jq .reuse   for programs\n"
      "\nOptions:\n";
  for (const ExplainOption& option : explain_options()) {
    const std::string left = "  " + option.name + (option.value.empty() ? "" : " " + option.value);
    text += left + wrap_text(option.help, width, 22).substr(left.size());
  }
  return text + "\n" +
         wrap_text(
             "HOLDFAST_URL and HOLDFAST_API_KEY in the environment stand in for --url and "
             "--api-key. A request that says \"cache_receipt\": true gets the same in its answer.",
             width, 0);
}

Result<std::string> explain(const ExplainOptions& options, const Environment& env) {
  const auto body = fetch_receipts(options);
  if (!body) return body.error();
  const Json answer = lenient_json(*body);
  const Json& data = child_of(answer, "data");
  const bool list = options.id.empty();
  if (list && (!data.is_array() || data.empty())) return nothing_yet(options);
  const Json& shown = !list ? answer : options.last > 0 ? data : data.front();
  if (options.json) return dump_json(shown, 2) + "\n";
  if (options.last > 0) return receipt_lines(shown);
  return receipt_text(shown, explain_style(env));
}

int explain_main(std::span<const std::string> args, const Environment& env) {
  const auto options = parse_explain_options(args, env);
  if (!options) {
    std::cerr << "holdfast explain: " << options.error().message << "\n";
    return kExitUsage;
  }
  if (options->show_help) {
    std::cout << explain_help();
    return 0;
  }
  const auto text = explain(*options, env);
  if (!text) {
    std::cerr << text.error().message << "\n";
    return text.error().param == "--url" ? kExitUsage : kExitFailed;
  }
  std::cout << *text;
  return 0;
}

}  // namespace holdfast::cli
