#include "cli/engine_settings.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "engine/llama/llama_backends.h"
#include "env/program_path.h"

namespace holdfast::cli {

namespace {

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> items;
  std::size_t begin = 0;
  while (begin <= text.size() && !text.empty()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) items.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

llama::FlashAttention flash_from(OnOffAuto choice) {
  switch (choice) {
    case OnOffAuto::kOn: return llama::FlashAttention::kOn;
    case OnOffAuto::kOff: return llama::FlashAttention::kOff;
    case OnOffAuto::kAuto: break;
  }
  return llama::FlashAttention::kAuto;
}

// The pocket model lies beside the installed program, or in the source tree around build/ or
// build/asan/. No path of the machine that built the program is in it.
std::string default_model_path() {
  const std::filesystem::path folder = std::filesystem::path(env::program_path()).parent_path();
  const auto in = [&](const char* place) {
    return (folder / place / "holdfast-pocket-q8_0.gguf").lexically_normal().string();
  };
  const std::string installed = in("../share/holdfast");
  std::error_code ignored;
  for (const std::string& path : {installed, in("../models"), in("../../models")}) {
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return installed;
}

}  // namespace

llama::LlamaConfig engine_config(const ServeOptions& options) {
  llama::LlamaConfig config;
  config.model_path = options.model.path.empty() ? default_model_path() : options.model.path;
  config.context_tokens = options.context.size;
  config.slots = options.context.parallel;
  const env::UsableCpus cpus = env::usable_cpus();
  const ThreadCounts threads = thread_counts(options.compute, cpus);
  config.threads = threads.generate;
  config.threads_batch = threads.read;
  // A thread that looks for work takes the time of those who have some.
  const int usual_poll = cpus.restricted() ? 0 : config.poll;
  config.poll = options.compute.poll < 0 ? usual_poll : options.compute.poll;
  config.ubatch = options.context.ubatch_size;
  config.gpu_layers = options.compute.gpu_layers < 0 ? -1 : options.compute.gpu_layers;
  config.cpu_variant = options.compute.cpu_variant;
  config.extra_buffers = options.compute.repack;
  config.flash_attention = flash_from(options.compute.flash_attn);
  config.cache_type_k = options.context.cache_type_k;
  config.cache_type_v = options.context.cache_type_v;
  config.swa_full = options.context.swa_full;
  config.cache_vram = static_cast<int>(options.reuse.vram_mib);
  config.use_mmap = options.model.mmap;
  config.use_mlock = options.model.mlock;
  config.warm_up = options.model.warmup;
  if (options.embedding.asked())
    config.embedding = llama::EmbeddingConfig{options.embedding.pooling};
  config.split_mode = options.compute.split_mode;
  config.main_gpu = options.compute.main_gpu;
  config.tensor_split = options.compute.tensor_split;
  config.devices = split_commas(options.compute.device);
  config.tensor_places = options.compute.tensor_places;
  config.cpu_expert_layers = options.compute.cpu_experts ? -1 : options.compute.cpu_expert_layers;
  config.metadata_overrides = options.compute.metadata_overrides;
  config.rope_scaling = options.rope.scaling;
  config.rope_freq_base = options.rope.freq_base;
  config.rope_freq_scale = options.rope.freq_scale;
  config.yarn_ext_factor = options.rope.yarn_ext_factor;
  config.yarn_attn_factor = options.rope.yarn_attn_factor;
  config.yarn_beta_fast = options.rope.yarn_beta_fast;
  config.yarn_beta_slow = options.rope.yarn_beta_slow;
  config.yarn_orig_ctx = options.rope.yarn_orig_ctx;
  config.chat_template = options.chat.chat_template;
  config.grammar_limit = options.server.grammar_limit;
  config.draft_source = options.drafts.source;
  config.draft_model_path = options.drafts.model;
  config.draft_tokens_max = options.drafts.max;
  config.draft_gpu_layers = options.drafts.gpu_layers < 0 ? -1 : options.drafts.gpu_layers;
  // Its numbers must not depend on guesses; who asks for both gets steps that are all alike.
  if (options.context.exact == Exactness::kAll && options.drafts.source == DraftSource::kAuto) {
    config.draft_source = DraftSource::kOff;
  }
  return config;
}

ThreadCounts thread_counts(const ComputeOptions& options, const env::UsableCpus& cpus) {
  const int generate = options.threads > 0 ? options.threads : cpus.count();
  return {generate, options.threads_batch > 0 ? options.threads_batch : generate};
}

std::string too_many_threads(const ComputeOptions& options, const env::UsableCpus& cpus) {
  const ThreadCounts threads = thread_counts(options, cpus);
  const int most = std::max(threads.generate, threads.read);
  if (most <= cpus.count()) return "";
  return std::to_string(most) + " threads, and this process may use " + cpus.in_words() +
         ": they wait for each other, and answers take many times longer; --threads " +
         std::to_string(cpus.count()) + " fits";
}

// On a processor chunks of 256 are as fast as larger ones, and a prompt that
// parts inside a message finds a nearer place; a GPU wants them large.
TokenPos grid_step(const ServeOptions& options, bool on_gpu) {
  if (options.reuse.grid_step > 0) return options.reuse.grid_step;
  const TokenPos largest = options.context.ubatch_size / 64 * 64;
  return on_gpu ? largest : std::min(TokenPos{256}, largest);
}

Result<engine::EngineSetting> asked_setting(const ServeOptions& options) {
  if (auto chosen = llama::use_cpu_variant(options.compute.cpu_variant); !chosen)
    return chosen.error();
  engine::EngineSetting asked;
  asked.cpu_variant = llama::cpu_variant_in_use();
  asked.extra_buffers = options.compute.repack;
  asked.together = options.context.exact != Exactness::kAll;
  asked.drafts = engine_config(options).draft_source != DraftSource::kOff;
  return asked;
}

llama::LlamaConfig with_setting(llama::LlamaConfig config, const engine::EngineSetting& setting) {
  config.cpu_variant = setting.cpu_variant;
  config.extra_buffers = setting.extra_buffers;
  if (!setting.drafts) config.draft_source = DraftSource::kOff;
  return config;
}

namespace {

// Left out where nothing is moved, so that states from before these options are still known.
void add_places(const ComputeOptions& options, cache::Fingerprint& facts) {
  std::string moved;
  for (const std::string& place : options.tensor_places) moved += place + ";";
  if (options.cpu_experts) moved += "experts";
  if (options.cpu_expert_layers > 0) moved += std::to_string(options.cpu_expert_layers);
  if (!moved.empty()) facts.add("places", moved);
  std::string metadata;
  for (const std::string& value : options.metadata_overrides) metadata += value + ";";
  if (!metadata.empty()) facts.add("metadata", metadata);
}

}  // namespace

cache::Fingerprint fingerprint_of(const ServeOptions& options, const StateFacts& of) {
  const auto number = [](auto value) { return std::to_string(value); };
  std::string split;
  for (const float share : options.compute.tensor_split) split += number(share) + ",";
  cache::Fingerprint facts;
  facts.add("model", of.digest)
      .add("engine", llama::llama_library_info())
      .add("variant", of.engine.cpu_variant)
      .add("buffers", of.engine.extra_buffers ? "extra" : "plain")
      .add("kv", options.context.cache_type_k + "/" + options.context.cache_type_v)
      .add("flash", number(static_cast<int>(options.compute.flash_attn)))
      .add("swa-full", number(options.context.swa_full))
      .add("stretched", number(of.stretched))
      .add("rope", options.rope.scaling + "/" + number(options.rope.freq_base) + "/" +
                       number(options.rope.freq_scale))
      .add("yarn", number(options.rope.yarn_orig_ctx) + "/" + number(options.rope.yarn_ext_factor) +
                       "/" + number(options.rope.yarn_attn_factor) + "/" +
                       number(options.rope.yarn_beta_fast) + "/" +
                       number(options.rope.yarn_beta_slow))
      .add("device", options.compute.device + "/" + number(options.compute.gpu_layers) + "/" +
                         options.compute.split_mode + "/" + number(options.compute.main_gpu) + "/" +
                         split)
      .add("ubatch", number(options.context.ubatch_size))
      .add("grid", number(of.grid_step));
  add_places(options.compute, facts);
  // Where prompts are exact, decoded state is not kept, and states of `prompt` and `all` are the
  // same. The order of sums follows the threads; and where every token's hidden row is wanted, the
  // row that a prompt's last logits are made of is computed in another batch.
  const bool exact = prompts_are_exact(options.context.exact);
  facts.add("mode", exact ? "deterministic" : "throughput");
  if (exact) {
    const ThreadCounts threads = thread_counts(options.compute);
    facts.add("threads", number(threads.generate) + "/" + number(threads.read));
    if (of.hidden_rows) facts.add("hidden", "all");
  }
  return facts;
}

}  // namespace holdfast::cli
