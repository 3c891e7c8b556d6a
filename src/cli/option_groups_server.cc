// The options of the server around the model, and of its log.
#include "cli/option_groups.h"

namespace holdfast::cli {
namespace {

using namespace option_kinds;

using O = ServeOptions;

OptionKind verbose() {
  return {"on or off",
          [](ServeOptions& options, std::string_view value) {
            const auto truth = truth_of(value);
            if (truth.value_or(false)) options.log_level = env::LogLevel::kDebug;
            return truth.has_value();
          },
          [](const ServeOptions&) { return ""; }};
}

}  // namespace

// clang-format off
OptionGroup server_group() {
  return {"Server", {
      {"--host", "ADDRESS", "LLAMA_ARG_HOST", text(&O::host),
       "Address to listen on. 0.0.0.0 lets other machines in: set --api-key then."},
      {"--port", "N", "LLAMA_ARG_PORT", whole(&O::port, 0, 65535),
       "Port to listen on; 0: any free one."},
      {"--api-key", "KEY", "LLAMA_API_KEY", list(&O::api_keys, ListMode::kAppend),
       "Key that a client must send; repeat it, or use commas, for several."},
      {"--api-key-file", "FILE", "LLAMA_ARG_API_KEY_FILE", text(&O::api_key_file),
       "Keys, one on each line; # begins a comment."},
      {"--ssl-cert-file", "FILE", "LLAMA_ARG_SSL_CERT_FILE", text(&O::ssl_cert_file),
       "Serve HTTPS with this certificate chain (PEM)."},
      {"--ssl-key-file", "FILE", "LLAMA_ARG_SSL_KEY_FILE", text(&O::ssl_key_file),
       "The certificate's private key (PEM)."},
      {"--cors-origins", "LIST", "LLAMA_ARG_CORS_ORIGINS",
       list(&O::cors_origins, ListMode::kReplace),
       "Web origins that browsers may call from, with commas."},
      {"-to, --timeout", "SECONDS", "LLAMA_ARG_TIMEOUT", whole(&O::timeout_s, 0, 7 * 86400),
       "Longest time for one request, waiting included; 0: no limit."},
      {"--queue-max", "N", "", whole(&O::queue_max, 0, 1'000'000),
       "Requests that may wait for a slot; more are answered 503."},
      {"--body-limit-mb", "N", "", whole(&O::body_limit_mb, 1, 4096),
       "Largest request body in MiB."},
      {"--connections-max", "N", "", whole(&O::connections_max, 1, 1'000'000),
       "Most connections at a time."},
      {"--config", "FILE", "", text(&O::config_path),
       "Read options from a file of `name = value` lines."},
  }};
}

OptionGroup log_group() {
  return {"Log and help", {
      {"--log-level", "LEVEL", "",
       choice(&O::log_level, {{"debug", env::LogLevel::kDebug}, {"info", env::LogLevel::kInfo},
         {"warn", env::LogLevel::kWarn}, {"error", env::LogLevel::kError}}),
       "debug, info, warn or error."},
      {"-v, --verbose", "", "", verbose(),
       "The same as --log-level debug."},
      {"--log-format", "FORMAT", "",
       choice(&O::log_format, {{"text", env::LogFormat::kText}, {"json", env::LogFormat::kJson}}),
       "text for people, json for programs."},
      {"--log-file", "FILE", "LLAMA_ARG_LOG_FILE", text(&O::log_file),
       "Write the log to this file too."},
      {"--record", "FILE", "", text(&O::record),
       "Record what the cache decides, and why, in a new file: all prompts as token ids, times, what "
       "was kept and dropped. `holdfast replay FILE` shows it, and reproduces it without the model."},
      {"--record-private", "", "", flag(&O::record_private),
       "Record no token id and no text: only lengths, times, and where prompts agree. Enough to "
       "reproduce every decision, and fit to be sent to others."},
      {"-h, --help", "", "", flag(&O::show_help),
       "This text.", "", Support::kCommandLineOnly},
      {"--version", "", "", flag(&O::show_version),
       "The version.", "", Support::kCommandLineOnly},
  }};
}
// clang-format on

}  // namespace holdfast::cli
