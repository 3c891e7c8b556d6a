// What `holdfast serve --help` prints.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_groups.h"
#include "cli/options.h"
#include "cli/text_parts.h"
#include "cli/text_wrap.h"

namespace holdfast::cli {
namespace {

constexpr std::string_view kServeIntro =
    "holdfast serve - an LLM server for GGUF models with an OpenAI-compatible API. What it has "
    "read once it does not read again: a conversation, a branch of it or a shared prompt goes on "
    "from the state that was kept, with exactly the answer a fresh start would give.";

constexpr std::string_view kServeExamples = R"(Examples:
  Try it now, with the small model that comes along:
    holdfast serve

  Serve your own model:
    holdfast serve -m qwen3.gguf

  Ask it something:
    curl http://127.0.0.1:8080/v1/chat/completions \
      -H 'Content-Type: application/json' \
      -d '{"messages":[{"role":"user","content":"Hello"}]}'

  Talk to it in the terminal:
    holdfast chat

  Put it behind an OpenAI client:
    export OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=none

  Long contexts: 128k tokens for one request, keys and values in 8 bits:
    holdfast serve -m qwen3.gguf -c 128k -np 1 -fa on -ctk q8_0 -ctv q8_0

  Several users: eight at a time with 16k tokens each, from other machines:
    holdfast serve -m qwen3.gguf -np 8 -c 16k \
      --host 0.0.0.0 --api-key-file keys.txt

  Everything on the GPU:
    holdfast serve -m qwen3.gguf -ngl all
)";

constexpr std::string_view kServeSources =
    "Each option can also be set in the environment, --ctx-size as HOLDFAST_CTX_SIZE "
    "(llama-server's LLAMA_ARG_CTX_SIZE is understood too), or in the --config file as the line "
    "`ctx-size = 32k`; # begins a comment there. The command line beats the environment, and that "
    "beats the file. Numbers of tokens may end in k (1024) or m (1024 x 1024).";

// The first long name of each option that has no effect.
std::string no_effect_text(int width) {
  std::vector<std::string> names;
  for (const Option& option : no_effect_group().options) {
    const std::string name = option.names.substr(option.names.find("--"));
    names.push_back(name.substr(0, name.find_first_of(", ")));
  }
  return "\nAccepted without effect, so that llama-server command lines work:\n" +
         wrap_text(join(names, " "), width, 2);
}

}  // namespace

CommandSyntax serve_syntax(ServeOptions& options) {
  return {.command = "holdfast serve",
          .intro = std::string(kServeIntro),
          .body = std::string(kServeExamples),
          .groups = serve_option_groups(options),
          .closing = std::string(kServeSources),
          .column = 30,
          .from_environment = true};
}

std::string serve_help(int width) {
  ServeOptions options;
  width = std::max(width, 60);
  return command_help(serve_syntax(options), width) + no_effect_text(width);
}

}  // namespace holdfast::cli
