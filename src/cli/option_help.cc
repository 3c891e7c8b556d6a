// What `holdfast --help` and `holdfast serve --help` print.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_table.h"
#include "cli/options.h"
#include "cli/text_parts.h"
#include "cli/text_wrap.h"

namespace holdfast::cli {
namespace {

constexpr std::string_view kServeIntro =
    "holdfast serve - an LLM server for GGUF models with an OpenAI-compatible API. What it has "
    "read once it does not read again: a conversation, a branch of it or a shared prompt goes on "
    "from the state that was kept, with exactly the answer a fresh start would give.";

struct Example {
  std::string_view what;
  std::string_view command;
};

constexpr Example kServeExamples[] = {
    {"Try it now, with the small model that comes along:", "holdfast serve"},
    {"Serve your own model:", "holdfast serve -m qwen3.gguf"},
    {"Ask it something:",
     "curl http://127.0.0.1:8080/v1/chat/completions \\\n"
     "  -H 'Content-Type: application/json' \\\n"
     "  -d '{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}'"},
    {"Talk to it in the terminal:", "holdfast chat"},
    {"Put it behind an OpenAI client:",
     "export OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=none"},
    {"Long contexts: 128k tokens for one request, keys and values in 8 bits:",
     "holdfast serve -m qwen3.gguf -c 128k -np 1 -fa on -ctk q8_0 -ctv q8_0"},
    {"Several users: eight at a time with 16k tokens each, from other machines:",
     "holdfast serve -m qwen3.gguf -np 8 -c 16k \\\n"
     "  --host 0.0.0.0 --api-key-file keys.txt"},
    {"Everything on the GPU:", "holdfast serve -m qwen3.gguf -ngl all"},
};

constexpr std::string_view kServeSources =
    "Each option can also be set in the environment, --ctx-size as HOLDFAST_CTX_SIZE "
    "(llama-server's LLAMA_ARG_CTX_SIZE is understood too), or in the --config file as the line "
    "`ctx-size = 32k`; # begins a comment there. The command line beats the environment, and that "
    "beats the file. Numbers of tokens may end in k (1024) or m (1024 x 1024).";

std::string examples_text() {
  std::string text;
  for (const Example& example : kServeExamples) {
    text += "  " + std::string(example.what) + "\n    ";
    for (const char c : example.command)
      text += c == '\n' ? std::string("\n    ") : std::string(1, c);
    text += "\n\n";
  }
  return text;
}

std::string help_with_default(const Option& option) {
  const std::string shown = option.kind.show(ServeOptions{});
  if (shown.empty()) return option.help;
  std::string tail = "(default: " + shown + ")";
  if (shown.size() < 16) std::replace(tail.begin(), tail.end(), ' ', kFixedSpace);
  return option.help + " " + tail;
}

// Names on the left, help beside them, or below where names are long.
std::string option_text(const Option& option, int width) {
  constexpr int kColumn = 30;
  std::string left = "  " + option.names + (is_flag(option) ? "" : " " + option.value);
  const std::string help = wrap_text(help_with_default(option), width, kColumn);
  if (left.size() + 2 > kColumn) return left + "\n" + help;
  return left + help.substr(left.size());
}

bool is_shown(const Option& option) {
  return option.support == Support::kFull || option.support == Support::kCommandLineOnly;
}

std::string group_text(const OptionGroup& group, int width) {
  std::string text;
  for (const Option& option : group.options) {
    if (is_shown(option)) text += option_text(option, width);
  }
  return text.empty() ? "" : group.title + ":\n" + text + "\n";
}

std::string no_effect_text(int width) {
  std::vector<std::string> names;
  for (const OptionGroup& group : option_table()) {
    for (const Option& option : group.options) {
      if (option.support != Support::kNoEffect) continue;
      const auto on = names_of(option).on;
      names.push_back(*std::find_if(
          on.begin(), on.end(), [](const std::string& name) { return name.starts_with("--"); }));
    }
  }
  return "Accepted without effect, so that llama-server command lines work:\n" +
         wrap_text(join(names, " "), width, 2);
}

}  // namespace

std::string overview_help(int width) {
  return wrap_text(
             "holdfast - serve a large language model from a GGUF file. What has been computed is "
             "never computed again.",
             width, 0) +
         R"(
Commands:
  holdfast serve [options]     start the server
  holdfast chat [question]     talk to a running server in the terminal
  holdfast explain [id]        what a request reused, and why not more
  holdfast doctor [-m MODEL]   look at machine, engine and disk; check the engine
  holdfast cache [command]     what is kept on disk: list, verify, trim, move
  holdfast replay FILE         what a recorded server did, again and explained
  holdfast version             print the version

Start here:
  holdfast serve               serve the small model that comes along
  holdfast serve -m my.gguf    serve your own
  holdfast chat                in a second terminal

`holdfast serve --help` and `holdfast chat --help` explain every option.
)";
}

std::string serve_help(int width) {
  width = std::max(width, 60);
  std::string text = wrap_text(kServeIntro, width, 0) + "\nExamples:\n" + examples_text();
  for (const OptionGroup& group : option_table()) text += group_text(group, width);
  return text + wrap_text(kServeSources, width, 0) + "\n" + no_effect_text(width);
}

}  // namespace holdfast::cli
