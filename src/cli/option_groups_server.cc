// The options of the server around the model, and of its log.
#include "cli/option_groups.h"

namespace holdfast::cli {
namespace {

using namespace option_kinds;

OptionKind verbose(env::LogLevel& field) {
  return {"on or off", [&field](std::string_view text) {
            const auto truth = truth_of(text);
            if (truth.value_or(false)) field = env::LogLevel::kDebug;
            return truth.has_value();
          }};
}

OptionKind json_lines(env::LogFormat& field) {
  return {"on or off", [&field](std::string_view text) {
            const auto truth = truth_of(text);
            if (truth) field = *truth ? env::LogFormat::kJson : env::LogFormat::kText;
            return truth.has_value();
          }};
}

OptionKind path_prefix(std::string& field) {
  return {"a path such as /llm, without a slash at its end", [&field](std::string_view text) {
            if (!text.starts_with('/') || text.ends_with('/')) return false;
            field = text;
            return true;
          }};
}

}  // namespace

// clang-format off
OptionGroup server_group(ServerOptions& o) {
  return {"Server", {
      {"--host", "LIST", list(o.hosts, ListMode::kReplace),
       "Addresses to listen on, with commas, and paths of UNIX sockets that end in .sock. 0.0.0.0 "
       "lets other machines in: set --api-key then.", "LLAMA_ARG_HOST"},
      {"--port", "N", whole(o.port, 0, 65535), "Port to listen on; 0: any free one.",
       "LLAMA_ARG_PORT"},
      {"--api-key", "KEY", list(o.api_keys, ListMode::kAppend),
       "Key that a client must send; repeat it, or use commas, for several.", 
       "LLAMA_API_KEY, LLAMA_ARG_API_KEY"},
      {"--api-key-file", "FILE", text(o.api_key_file),
       "Keys, one on each line, or `name: key: role` with limits (docs/access.md). The file is read "
       "again when it changes.", "LLAMA_ARG_API_KEY_FILE"},
      {"--ssl-cert-file", "FILE", text(o.ssl_cert_file),
       "Serve HTTPS with this certificate chain (PEM).", "LLAMA_ARG_SSL_CERT_FILE"},
      {"--ssl-key-file", "FILE", text(o.ssl_key_file), "The certificate's private key (PEM).",
       "LLAMA_ARG_SSL_KEY_FILE"},
      {"--cors-origins", "LIST", list(o.cors_origins, ListMode::kReplace),
       "Web pages that may use the server, by their origins, with commas: https://chat.example; "
       "localhost for pages of this machine on any port; * for all. Without it only the server's "
       "own page may.", "LLAMA_ARG_CORS_ORIGINS"},
      {"--allowed-hosts", "LIST", list(o.allowed_hosts, ListMode::kReplace),
       "Further names that the server is reached by, with commas; * for any. Addresses, localhost "
       "and --host are known. Not asked for where an API key is."},
      {"--ui, --webui / --no-ui, --no-webui", "", flag(o.ui),
       "Show people who open the address in a browser a page: chat, cache, misses, server.",
       "LLAMA_ARG_UI, LLAMA_ARG_WEBUI"},
      {"--api-prefix", "PATH", path_prefix(o.api_prefix),
       "Answer below this path alone, such as /llm: behind a proxy that gives each server one. The "
       "page is at /llm/.",
       "LLAMA_ARG_API_PREFIX"},
      {"--slots / --no-slots", "", flag(o.slots), "Answer GET /slots.", "LLAMA_ARG_ENDPOINT_SLOTS"},
      {"--props", "", flag(o.props),
       "Answer POST /props. As with llama-server, there is nothing that it could change.",
       "LLAMA_ARG_ENDPOINT_PROPS"},
      {"--sse-ping-interval", "SECONDS", whole(o.ping_s, -1, 3600),
       "How long a stream stays silent before it shows that it is alive; -1: it never does.",
       "LLAMA_ARG_SSE_PING_INTERVAL"},
      {"-to, --timeout", "SECONDS", whole(o.timeout_s, 0, 7 * 86400),
       "Longest time for one request, waiting included; 0: no limit.", "LLAMA_ARG_TIMEOUT"},
      {"--queue-max", "N", whole(o.queue_max, 0, 1'000'000),
       "Requests that may wait for a slot; more are answered 503."},
      {"--body-limit-mb", "N", whole(o.body_limit_mb, 1, 4096), "Largest request body in MiB."},
      {"--bodies-limit-mb", "N", whole(o.bodies_limit_mb, 1, 1'000'000),
       "MiB for the bodies of all requests together, at least twice the largest; beyond it they are "
       "answered 503."},
      {"--connections-max", "N", whole(o.connections_max, 1, 1'000'000),
       "Most connections at a time."},
      {"--stop-timeout", "SECONDS", whole(o.stop_timeout_s, 0, 7 * 86400),
       "After SIGTERM or Ctrl-C, answers get this long to be finished and states to be written; then "
       "they are cut short, and within 20 seconds more the server has ended."},
      {"--grammar-limit", "N", whole(o.grammar_limit, 1, 1000),
       "Let grammars, JSON schemas and the rendering of chats cost N times the usual."},
      {"--config", "FILE", text(o.config_path),
       "Read options from a file of `name = value` lines."},
  }};
}

OptionGroup log_group(ServeOptions& o) {
  return {"Log and help", {
      {"--log-level", "LEVEL",
       choice(o.log.level, {{"debug", env::LogLevel::kDebug}, {"info", env::LogLevel::kInfo},
       {"warn", env::LogLevel::kWarn}, {"error", env::LogLevel::kError}}),
       "debug, info, warn or error."},
      {"-v, --verbose, --log-verbose", "", verbose(o.log.level), "The same as --log-level debug."},
      {"--log-jsonl / --no-log-jsonl", "", json_lines(o.log.format),
       "The same as --log-format json.", "LLAMA_ARG_LOG_JSONL"},
      {"--log-format", "FORMAT",
       choice(o.log.format, {{"text", env::LogFormat::kText}, {"json", env::LogFormat::kJson}}),
       "text for people, json for programs."},
      {"--log-file", "FILE", text(o.log.file), "Write the log to this file too.",
       "LLAMA_ARG_LOG_FILE"},
      {"--record", "FILE", text(o.log.record),
       "Record what the cache decides, and why, in a new file: all prompts as token ids, times, "
       "what was kept and dropped. `holdfast replay FILE` shows it, and reproduces it without the "
       "model."},
      {"--record-private", "", flag(o.log.record_private),
       "Record no token id and no text: only lengths, times, and where prompts agree. Enough to "
       "reproduce every decision, and fit to be sent to others."},
      {"-h, --help, --usage", "", flag(o.show_help), "This text.", "", "", Support::kCommandLineOnly},
      {"--version", "", flag(o.show_version), "The version.", "", "", Support::kCommandLineOnly},
  }};
}
// clang-format on

}  // namespace holdfast::cli
