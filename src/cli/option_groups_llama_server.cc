// The options of llama-server that Holdfast does not have: some change nothing
// here and are accepted, so that its command lines work; the others are refused.
// docs/llama-server.md lists them all (llama_server_flags_test.cc).
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
  const std::string priority = "threads run at normal priority";
  const std::string draft_threads = "a draft model runs on the model's own threads";
  const std::string ngrams = "Holdfast measures how long a draft pays, see --draft-max";
  const std::string cors = "what a page of --cors-origins asks for is allowed to it";
  return {"", {
      no_effect("--jinja / --no-jinja", "", "chat templates always run through Jinja"),
      no_effect("-cb, --cont-batching / -nocb, --no-cont-batching", "", always),
      no_effect("--metrics", "", always),
      no_effect("-bs, --backend-sampling", "", "tokens are chosen on the processor"),
      no_effect("--spec-draft-backend-sampling / --no-spec-draft-backend-sampling", "",
                 "tokens are chosen on the processor"),
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
      no_effect("-fitt, --fit-target", "MIB", "sizes are taken as given"),
      no_effect("-fitc, --fit-ctx", "N", "sizes are taken as given"),
      no_effect("-cd, --ctx-size-draft", "N", "a draft model gets the model's own context"),
      no_effect("--prio", "N", priority),
      no_effect("--prio-batch", "N", priority),
      no_effect("--spec-draft-prio, --prio-draft", "N", priority),
      no_effect("--spec-draft-prio-batch, --prio-batch-draft", "N", priority),
      no_effect("--poll-batch", "N", "--poll counts for both kinds of threads"),
      no_effect("--spec-draft-threads, -td, --threads-draft", "N", draft_threads),
      no_effect("--spec-draft-threads-batch, -tbd, --threads-batch-draft", "N", draft_threads),
      no_effect("--spec-draft-poll, --poll-draft", "N", draft_threads),
      no_effect("--spec-draft-poll-batch, --poll-batch-draft", "N", draft_threads),
      no_effect("--spec-draft-p-split, --draft-p-split", "P", "a draft has one branch"),
      no_effect("--spec-ngram-mod-n-min", "N", ngrams),
      no_effect("--spec-ngram-mod-n-max", "N", ngrams),
      no_effect("--spec-ngram-mod-n-match", "N", ngrams),
      no_effect("--spec-ngram-simple-size-n", "N", ngrams),
      no_effect("--spec-ngram-simple-size-m", "N", ngrams),
      no_effect("--spec-ngram-simple-min-hits", "N", ngrams),
      no_effect("--spec-ngram-map-k-size-n", "N", ngrams),
      no_effect("--spec-ngram-map-k-size-m", "N", ngrams),
      no_effect("--spec-ngram-map-k-min-hits", "N", ngrams),
      no_effect("--spec-ngram-map-k4v-size-n", "N", ngrams),
      no_effect("--spec-ngram-map-k4v-size-m", "N", ngrams),
      no_effect("--spec-ngram-map-k4v-min-hits", "N", ngrams),
      no_effect("--spec-ngram-size-n", "N", ngrams),
      no_effect("--spec-ngram-size-m", "N", ngrams),
      no_effect("--spec-ngram-min-hits", "N", ngrams),
      no_effect("-e, --escape / --no-escape", "", "prompts come as JSON, which has its own escapes"),
      no_effect("-kvo, --kv-offload", "", always),
      no_effect("--op-offload", "", always),
      no_effect("--no-mmproj, --no-mmproj-auto", "", "there is no projector for pictures"),
      no_effect("--mmproj-auto", "", "there is no projector for pictures"),
      no_effect("--mmproj-offload / --no-mmproj-offload", "", "there is no projector for pictures"),
      no_effect("--offline", "", "nothing is ever downloaded"),
      no_effect("--cors-methods", "LIST", cors),
      no_effect("--cors-headers", "LIST", cors),
      no_effect("--cors-credentials / --no-cors-credentials", "", cors),
      no_effect("--no-ui-mcp-proxy, --no-webui-mcp-proxy", "", "there is no such proxy"),
      no_effect("-no-ag, --no-agent", "", "a server of models runs no tools"),
      no_effect("--models-autoload / --no-models-autoload", "", "one server serves one model"),
      no_effect("--no-skip-chat-parsing", "", "answers are read as the model's format says"),
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
  const std::string preset =
      "it names a model to download; pass the GGUF file with --model and the flags it stands for";
  const std::string yet = "Holdfast cannot do this yet";
  const std::string pictures = "Holdfast reads text only";
  const std::string tools = "a server of models runs no tools";
  const std::string router = "one server serves one model";
  const std::string pinning = "use the system's own, `taskset -c 0-7 holdfast serve`";
  const std::string request = "send it with the request";
  const std::string ui = "Holdfast's page is built in";
  return {"", {
      unsupported("-hf, -hfr, --hf-repo", "REPO", fetch),
      unsupported("-hff, --hf-file", "FILE", fetch),
      unsupported("-hft, --hf-token", "TOKEN", fetch),
      unsupported("-mu, --model-url", "URL", fetch),
      unsupported("-dr, --docker-repo", "REPO", fetch),
      unsupported("-hfd, -hfrd, --hf-repo-draft, --spec-draft-hf", "REPO", fetch),
      unsupported("-cl, --cache-list", "", fetch),
      unsupported("--embd-gemma-default", "", preset),
      unsupported("--fim-qwen-1.5b-default", "", preset),
      unsupported("--fim-qwen-3b-default", "", preset),
      unsupported("--fim-qwen-7b-default", "", preset),
      unsupported("--fim-qwen-7b-spec", "", preset),
      unsupported("--fim-qwen-14b-spec", "", preset),
      unsupported("--fim-qwen-30b-default", "", preset),
      unsupported("--gpt-oss-20b-default", "", preset),
      unsupported("--gpt-oss-120b-default", "", preset),
      unsupported("--vision-gemma-4b-default", "", preset),
      unsupported("--vision-gemma-12b-default", "", preset),
      unsupported("--spec-default", "", "use --spec ngram"),
      unsupported("-mm, --mmproj", "FILE", pictures),
      unsupported("-mmu, --mmproj-url", "URL", pictures),
      unsupported("-mmdev, --mmproj-device", "DEVICE", pictures),
      unsupported("--image-min-tokens", "N", pictures),
      unsupported("--image-max-tokens", "N", pictures),
      unsupported("--mtmd-batch-max-tokens", "N", pictures),
      unsupported("--video-fps", "N", pictures),
      unsupported("--video-timestamp-interval", "N", pictures),
      unsupported("--video-ffmpeg-dir", "DIR", pictures),
      unsupported("--media-path", "DIR", pictures),
      unsupported("--lora", "FILE", yet),
      unsupported("--lora-scaled", "FILE", yet),
      unsupported("--lora-init-without-apply", "", yet),
      unsupported("--control-vector", "FILE", yet),
      unsupported("--control-vector-scaled", "FILE", yet),
      unsupported("--control-vector-layer-range", "RANGE", yet),
      unsupported("--rpc", "SERVERS", yet),
      unsupported("-nkvo, --no-kv-offload", "", yet),
      unsupported("--no-op-offload", "", yet),
      unsupported("--no-host", "", yet),
      unsupported("-lzm, --lazy-mode", "MODE", yet),
      unsupported("-ncffn, --n-cpu-ffn", "N", "use --override-tensor"),
      unsupported("--check-tensors", "", "`holdfast doctor` checks what the model computes"),
      unsupported("--list-devices", "", "`holdfast doctor` lists what there is"),
      unsupported("--numa", "TYPE", "use the system's own, `numactl --interleave=all holdfast serve`"),
      unsupported("-C, --cpu-mask", "MASK", pinning),
      unsupported("-Cr, --cpu-range", "RANGE", pinning),
      unsupported("--cpu-strict", "N", pinning),
      unsupported("-Cb, --cpu-mask-batch", "MASK", pinning),
      unsupported("-Crb, --cpu-range-batch", "RANGE", pinning),
      unsupported("--cpu-strict-batch", "N", pinning),
      unsupported("--spec-draft-cpu-mask, -Cd, --cpu-mask-draft", "MASK", pinning),
      unsupported("--spec-draft-cpu-range, -Crd, --cpu-range-draft", "RANGE", pinning),
      unsupported("--spec-draft-cpu-strict, --cpu-strict-draft", "N", pinning),
      unsupported("--spec-draft-cpu-mask-batch, -Cbd, --cpu-mask-batch-draft", "MASK", pinning),
      unsupported("--spec-draft-cpu-strict-batch, --cpu-strict-batch-draft", "N", pinning),
      unsupported("--spec-draft-type-k, -ctkd, --cache-type-k-draft", "TYPE", yet),
      unsupported("--spec-draft-type-v, -ctvd, --cache-type-v-draft", "TYPE", yet),
      unsupported("--spec-draft-override-tensor, -otd, --override-tensor-draft", "PATTERN", yet),
      unsupported("--spec-draft-cpu-moe, -cmoed, --cpu-moe-draft", "", yet),
      unsupported("--spec-draft-n-cpu-moe, --spec-draft-ncmoe, -ncmoed, --n-cpu-moe-draft", "N", yet),
      unsupported("--spec-draft-device, -devd, --device-draft", "LIST", yet),
      unsupported("--spec-synth-len", "L", "use --spec-synth-rates"),
      unsupported("-lcs, --lookup-cache-static", "FILE", yet),
      unsupported("-lcd, --lookup-cache-dynamic", "FILE", yet),
      unsupported("--kv-unified-per-slot", "N", "--ctx-size is the context of each slot"),
      unsupported("-r, --reverse-prompt", "TEXT", request + " (\"stop\")"),
      unsupported("--grammar", "GRAMMAR", request),
      unsupported("--grammar-file", "FILE", request + " (\"grammar\")"),
      unsupported("-j, --json-schema", "SCHEMA", request),
      unsupported("-jf, --json-schema-file", "FILE", request + " (\"json_schema\")"),
      unsupported("--adaptive-target", "X", yet),
      unsupported("--adaptive-decay", "X", yet),
      unsupported("-sp, --special", "", yet),
      unsupported("--spm-infill", "", yet),
      unsupported("--skip-chat-parsing", "", "use --reasoning-format none for thoughts in the text"),
      unsupported("--path", "DIR", ui),
      unsupported("--ui-config, --webui-config", "JSON", ui),
      unsupported("--ui-config-file, --webui-config-file", "FILE", ui),
      unsupported("--ui-mcp-proxy, --webui-mcp-proxy", "", tools),
      unsupported("--tools", "LIST", tools),
      unsupported("--tools-runtime", "OPTION", tools),
      unsupported("--mcp-servers-config", "FILE", tools),
      unsupported("--mcp-servers-json", "JSON", tools),
      unsupported("-ag, --agent", "", tools),
      unsupported("--models-dir", "DIR", router),
      unsupported("--models-preset", "FILE", router),
      unsupported("--models-max", "N", router),
      unsupported("--sleep-idle-seconds", "N", "a model that was loaded stays"),
      unsupported("--reuse-port", "", yet),
      unsupported("--log-prompts-dir", "DIR", "use --record FILE"),
      unsupported("--completion-bash", "", yet),
  }};
}
// clang-format on

}  // namespace holdfast::cli
