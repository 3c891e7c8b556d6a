#include "cli/options.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "cli/option_sources.h"
#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

Result<void> apply(const Assignment& given, Parsed& parsed) {
  const Option& option = *given.option;
  if (option.support == Support::kNone) {
    return invalid_argument(given.name, given.subject + " is not supported: " + option.help);
  }
  if (option.support == Support::kNoEffect) {
    parsed.notes.push_back(given.name + " has no effect: " + option.help);
    return {};
  }
  if (!option.kind.set(parsed.options, given.value)) {
    return invalid_argument(given.name, given.subject + " needs " + option.kind.expects +
                                            ", not \"" + given.value + "\"");
  }
  return {};
}

Result<void> read_api_keys(ServeOptions& options, const FileReader& files) {
  if (options.api_key_file.empty()) return {};
  auto text = files(options.api_key_file);
  if (!text) return text.error();
  const std::size_t before = options.api_keys.size();
  for (const std::string& line : split(text.value(), "\n")) {
    if (!line.starts_with('#')) options.api_keys.push_back(line);
  }
  // Without this a server meant to be closed would stand open.
  if (options.api_keys.size() > before) return {};
  return invalid_argument("--api-key-file", options.api_key_file + " holds no key");
}

Result<void> read_template(ServeOptions& options, const FileReader& files) {
  if (options.chat_template_file.empty()) return {};
  auto text = files(options.chat_template_file);
  if (!text) return text.error();
  options.chat_template = std::move(text).value();
  return {};
}

// Options that depend on each other.
Result<void> reconcile(ServeOptions& options) {
  options.ubatch_size = std::min(options.ubatch_size, options.batch_size);
  if (options.grid_step > options.ubatch_size) {
    return invalid_argument("--grid-step", "--grid-step " + std::to_string(options.grid_step) +
                                               " is more than --ubatch-size " +
                                               std::to_string(options.ubatch_size) +
                                               ", the largest step of the engine");
  }
  if (options.ssl_cert_file.empty() != options.ssl_key_file.empty()) {
    return invalid_argument("--ssl-cert-file",
                            "--ssl-cert-file and --ssl-key-file are needed together");
  }
  if (options.record_private && options.record.empty()) {
    return invalid_argument("--record-private",
                            "--record-private says how to record; --record FILE says where to");
  }
  return {};
}

void note_open_server(const ServeOptions& options, std::vector<std::string>& notes) {
  const std::string& host = options.host;
  const bool local = host.starts_with("127.") || host == "::1" || host == "localhost";
  if (local || !options.api_keys.empty()) return;
  notes.push_back("anyone who can reach " + host +
                  " can use this server; --api-key or --api-key-file closes it");
}

std::optional<Parsed> help_or_version(std::span<const std::string> args) {
  Parsed parsed;
  for (const std::string& argument : args) {
    if (argument == "-h" || argument == "--help") parsed.options.show_help = true;
    if (argument == "--version") parsed.options.show_version = true;
  }
  if (parsed.options.show_help || parsed.options.show_version) return parsed;
  return std::nullopt;
}

Result<Parsed> parse(std::span<const std::string> args, const Environment& env,
                     const FileReader& files) {
  if (const auto instead = help_or_version(args)) return *instead;
  auto given = gather_assignments(args, env, files);
  if (!given) return given.error();
  Parsed parsed;
  for (const Assignment& assignment : given.value()) {
    if (const auto applied = apply(assignment, parsed); !applied) return applied.error();
  }
  ServeOptions& options = parsed.options;
  if (const auto read = read_api_keys(options, files); !read) return read.error();
  if (const auto read = read_template(options, files); !read) return read.error();
  if (const auto sound = reconcile(options); !sound) return sound.error();
  note_open_server(options, parsed.notes);
  note_misspelled(env, parsed.notes);
  return parsed;
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
  auto parsed = parse(args, env, files);
  if (!parsed) return as_sentence(parsed.error());
  return parsed;
}

}  // namespace holdfast::cli
