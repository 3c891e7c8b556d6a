#include "cli/options.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "api/http_server.h"
#include "cli/option_groups.h"
#include "cli/option_sources.h"
#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

Result<void> apply(const GivenOption& given, std::vector<std::string>& notes) {
  const Option& option = *given.option;
  if (option.support == Support::kNone) {
    return invalid_argument(given.name, given.subject + " is not supported: " + option.help);
  }
  if (option.support == Support::kNoEffect) {
    notes.push_back(given.name + " has no effect: " + option.help);
    return {};
  }
  return set_option(given);
}

Result<void> read_api_keys(ServeOptions& options, const FileReader& files) {
  if (options.server.api_key_file.empty()) return {};
  auto text = files(options.server.api_key_file);
  if (!text) return text.error();
  auto keys = api::parse_key_file(text.value());
  if (!keys) {
    return invalid_argument("--api-key-file",
                            options.server.api_key_file + ": " + keys.error().message);
  }
  options.server.file_keys = std::move(*keys);
  return {};
}

Result<void> read_template(ServeOptions& options, const FileReader& files) {
  if (options.chat.chat_template_file.empty()) return {};
  auto text = files(options.chat.chat_template_file);
  if (!text) return text.error();
  options.chat.chat_template = std::move(text).value();
  return {};
}

// There are none where nothing is generated, and no kinds of batch to be checked.
void keep_no_states(ServeOptions& options) {
  if (options.embedding.rank) options.embedding.pooling = engine::Pooling::kRank;
  options.reuse.dir = "off";
  options.reuse.ram_mib = 0;
  options.drafts.source = DraftSource::kOff;
  options.compute.check_engine = CheckEngine::kOff;
}

// Prompts are cut into chunks of 64 tokens at least (state/grid.h).
void raise_batch_sizes(ContextOptions& context, std::vector<std::string>& notes) {
  constexpr TokenPos kLeast = 64;
  const auto raise = [&](const char* name, TokenPos& size) {
    if (size >= kLeast) return;
    notes.push_back(std::string(name) + " " + std::to_string(size) + " is less than a chunk of " +
                    std::to_string(kLeast) + " tokens, which is used instead");
    size = kLeast;
  };
  raise("--batch-size", context.batch_size);
  raise("--ubatch-size", context.ubatch_size);
}

// Options that depend on each other.
Result<void> reconcile(ServeOptions& options) {
  if (options.embedding.asked()) keep_no_states(options);
  options.context.ubatch_size = std::min(options.context.ubatch_size, options.context.batch_size);
  if (options.reuse.grid_step > options.context.ubatch_size) {
    return invalid_argument(
        "--grid-step",
        "--grid-step " + std::to_string(options.reuse.grid_step) + " is more than --ubatch-size " +
            std::to_string(options.context.ubatch_size) + ", the largest step of the engine");
  }
  if (options.server.ssl_cert_file.empty() != options.server.ssl_key_file.empty()) {
    return invalid_argument("--ssl-cert-file",
                            "--ssl-cert-file and --ssl-key-file are needed together");
  }
  if (options.log.record_private && options.log.record.empty()) {
    return invalid_argument("--record-private",
                            "--record-private says how to record; --record FILE says where to");
  }
  return {};
}

bool is_local(const std::string& host) {
  return host.starts_with("127.") || host == "::1" || host == "localhost" ||
         api::is_unix_socket(host);
}

void note_open_server(const ServeOptions& options, std::vector<std::string>& notes) {
  const std::vector<std::string>& hosts = options.server.hosts;
  const auto open = std::ranges::find_if_not(hosts, is_local);
  if (open == hosts.end() || options.server.asks_for_keys()) return;
  notes.push_back("anyone who can reach " + *open +
                  " can use this server; --api-key or --api-key-file closes it");
}

// Several keys of users, and nobody who may see how the server does.
void note_no_admin(const ServerOptions& server, std::vector<std::string>& notes) {
  const std::size_t keys = server.api_keys.size() + server.file_keys.size();
  const bool seen = std::ranges::any_of(server.file_keys, [](const api::ApiKey& key) {
    return key.role.value_or(api::KeyRole::kUser) != api::KeyRole::kUser;
  });
  if (keys < 2 || seen) return;
  notes.push_back(
      "none of the API keys may read /metrics or clear the whole cache; a line `name: key: admin` "
      "in --api-key-file makes one that may");
}

// Options that were set before files are read and notes are made.
Result<void> complete(const Environment& env, const FileReader& files, const OptionNames& names,
                      Parsed& parsed) {
  ServeOptions& options = parsed.options;
  if (const auto read = read_api_keys(options, files); !read) return read;
  if (const auto read = read_template(options, files); !read) return read;
  raise_batch_sizes(options.context, parsed.notes);
  if (const auto sound = reconcile(options); !sound) return sound;
  note_open_server(options, parsed.notes);
  note_no_admin(options.server, parsed.notes);
  note_misspelled(env, names, parsed.notes);
  return {};
}

Result<void> parse(std::span<const std::string> args, const Environment& env,
                   const FileReader& files, Parsed& parsed) {
  ServeOptions& options = parsed.options;
  const CommandSyntax syntax{.command = "", .groups = serve_option_groups(options)};
  const auto given = gather_options(syntax, args, env, files);
  if (!given) return given.error();
  for (const GivenOption& one : *given) {
    if (const auto applied = apply(one, parsed.notes); !applied) return applied;
  }
  if (options.show_help || options.show_version) return {};
  return complete(env, files, OptionNames(syntax.groups), parsed);
}

// Messages are put together in many places, file readers among them; all end here.
Error as_sentence(Error error) {
  const bool ended = error.message.ends_with('.') || error.message.ends_with('?');
  if (!ended) error.message += '.';
  return error;
}

}  // namespace

Environment environment_of(const char* const* envp) {
  Environment env;
  for (; envp != nullptr && *envp != nullptr; ++envp) {
    const std::string_view entry(*envp);
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    env.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return env;
}

Result<std::string> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             std::fclose);
  std::string text;
  std::array<char, 16384> buffer{};
  while (file) {
    const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), file.get());
    text.append(buffer.data(), size);
    if (size < buffer.size()) break;
  }
  if (file && std::ferror(file.get()) == 0) return text;
  return Error{ErrorCode::kIo, "cannot read " + path + ": " + std::strerror(errno), path};
}

Result<Parsed> parse_serve_options(std::span<const std::string> args, const Environment& env,
                                   const FileReader& files) {
  Parsed parsed;
  if (const auto done = parse(args, env, files, parsed); !done) return as_sentence(done.error());
  return parsed;
}

}  // namespace holdfast::cli
