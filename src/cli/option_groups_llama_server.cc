// The options of llama-server that Holdfast does not have: some change nothing
// here and are accepted, so that its command lines work; the others are refused.
#include <utility>

#include "cli/option_groups.h"

namespace holdfast::cli {
namespace {

Option row(std::string names, std::string value, std::string reason, Support support) {
  return {std::move(names), std::move(value), {}, std::move(reason), "", "", support};
}

Option no_effect(std::string names, std::string value, std::string reason) {
  return row(std::move(names), std::move(value), std::move(reason), Support::kNoEffect);
}

Option unsupported(std::string names, std::string value, std::string reason) {
  return row(std::move(names), std::move(value), std::move(reason), Support::kNone);
}

}  // namespace

// clang-format off
OptionGroup no_effect_group() {
  const std::string always = "what it turns on is always on here";
  const std::string reuse = "Holdfast decides by itself what to keep and reuse";
  const std::string own_log = "the log has its own options, see --log-level and --log-format";
  return {"", {
      no_effect("--jinja / --no-jinja", "", "chat templates always run through Jinja"),
      no_effect("-cb, --cont-batching / -nocb, --no-cont-batching", "", always),
      no_effect("--metrics", "", always),
      no_effect("-bs, --backend-sampling", "", "tokens are chosen on the processor"),
      no_effect("--props", "", always),
      no_effect("--cache-prompt / --no-cache-prompt", "", reuse),
      no_effect("--cache-reuse", "N", reuse),
      no_effect("--cache-idle-slots / --no-cache-idle-slots", "", reuse),
      no_effect("-ctxcp, --ctx-checkpoints, --swa-checkpoints", "N", reuse),
      no_effect("-cms, --checkpoint-min-step", "N", reuse),
      no_effect("-sps, --slot-prompt-similarity", "X", reuse),
      no_effect("-kvu, --kv-unified / -no-kvu, --no-kv-unified", "",
                 "each slot has a context of its own"),
      no_effect("--context-shift / --no-context-shift", "",
                 "a full context ends the answer and is never shifted"),
      no_effect("--keep", "N", "a full context ends the answer and is never shifted"),
      no_effect("-dt, --defrag-thold", "X", "there is nothing to defragment"),
      no_effect("--threads-http", "N", "one thread serves all connections"),
      no_effect("--perf / --no-perf", "", "timings are always reported"),
      no_effect("-fit, --fit", "on|off", "sizes are taken as given"),
      no_effect("-cd, --ctx-size-draft", "N", "a draft model gets the model's own context"),
      no_effect("--prio", "N", "threads run at normal priority"),
      no_effect("-lv, --verbosity, --log-verbosity", "N", own_log),
      no_effect("--log-colors", "on|off|auto", own_log),
      no_effect("--log-prefix / --no-log-prefix", "", own_log),
      no_effect("--log-timestamps / --no-log-timestamps", "", own_log),
      no_effect("--log-disable", "", own_log),
  }};
}

OptionGroup unsupported_group() {
  const std::string fetch =
      "Holdfast does not download models; fetch the GGUF file and pass it with --model";
  const std::string yet = "Holdfast cannot do this yet";
  return {"", {
      unsupported("-hf, -hfr, --hf-repo", "REPO", fetch),
      unsupported("-mu, --model-url", "URL", fetch),
      unsupported("-mm, --mmproj", "FILE", yet),
      unsupported("--lora", "FILE", yet),
      unsupported("--lora-scaled", "FILE", yet),
      unsupported("--control-vector", "FILE", yet),
      unsupported("-hfd, -hfrd, --hf-repo-draft, --spec-draft-hf", "REPO", fetch),
  }};
}
// clang-format on

}  // namespace holdfast::cli
