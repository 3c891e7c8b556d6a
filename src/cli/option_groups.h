// Every option of `holdfast serve`, once. The command line, the environment, the config file
// and --help all follow from these groups.
#pragma once

#include <vector>

#include "cli/option_kinds.h"
#include "cli/options.h"

namespace holdfast::cli {

// option_groups_model.cc: the model and how it runs.
[[nodiscard]] OptionGroup model_group(ModelOptions& o);
[[nodiscard]] OptionGroup context_group(ContextOptions& o);
[[nodiscard]] OptionGroup reuse_group(ReuseOptions& o);
[[nodiscard]] OptionGroup speculation_group(DraftOptions& o);
[[nodiscard]] OptionGroup compute_group(ComputeOptions& o);
[[nodiscard]] OptionGroup rope_group(RopeOptions& o);
[[nodiscard]] OptionGroup embedding_group(EmbeddingOptions& o);

// option_groups_server.cc: the program around it.
[[nodiscard]] OptionGroup server_group(ServerOptions& o);
[[nodiscard]] OptionGroup log_group(ServeOptions& o);

// option_groups_request.cc: what a request gets when it does not say otherwise.
[[nodiscard]] OptionGroup chat_group(ServeOptions& o);
[[nodiscard]] OptionGroup sampling_group(engine::SamplingParams& o);

// option_groups_llama_server.cc: llama-server's, which --help does not show.
[[nodiscard]] OptionGroup no_effect_group();
[[nodiscard]] OptionGroup unsupported_group();

// All of them, in the order of --help.
[[nodiscard]] inline std::vector<OptionGroup> serve_option_groups(ServeOptions& o) {
  return {model_group(o.model),
          context_group(o.context),
          reuse_group(o.reuse),
          speculation_group(o.drafts),
          compute_group(o.compute),
          server_group(o.server),
          chat_group(o),
          sampling_group(o.sampling),
          embedding_group(o.embedding),
          rope_group(o.rope),
          log_group(o),
          no_effect_group(),
          unsupported_group()};
}

// All that --help and a man page say (serve_help.cc).
[[nodiscard]] CommandSyntax serve_syntax(ServeOptions& options);

// `-fa on`, and 1 and 0 for those who write scripts.
[[nodiscard]] inline OptionKind on_off_auto(OnOffAuto& field) {
  return option_kinds::choice(field, {{"on", OnOffAuto::kOn},
                                      {"off", OnOffAuto::kOff},
                                      {"auto", OnOffAuto::kAuto},
                                      {"1", OnOffAuto::kOn},
                                      {"0", OnOffAuto::kOff}});
}

}  // namespace holdfast::cli
