#include "cli/engine_settings.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "cli/version.h"
#include "engine/llama/llama_backends.h"

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

// The pocket model lies in the source tree, or beside the installed program.
std::string default_model_path() {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto beside = program.parent_path() / "../share/holdfast/holdfast-pocket-q8_0.gguf";
  if (std::filesystem::exists(beside, ignored)) return beside.lexically_normal().string();
  return HOLDFAST_POCKET_MODEL;
}

}  // namespace

llama::LlamaConfig engine_config(const ServeOptions& options) {
  llama::LlamaConfig config;
  config.model_path = options.model_path.empty() ? default_model_path() : options.model_path;
  config.context_tokens = options.ctx_size;
  config.slots = options.parallel;
  config.threads = std::max(0, options.threads);
  config.threads_batch = std::max(0, options.threads_batch);
  config.ubatch = options.ubatch_size;
  config.gpu_layers = options.gpu_layers < 0 ? -1 : options.gpu_layers;
  config.cpu_variant = options.cpu_variant;
  config.extra_buffers = options.repack;
  config.flash_attention = flash_from(options.flash_attn);
  config.cache_type_k = options.cache_type_k;
  config.cache_type_v = options.cache_type_v;
  config.swa_full = options.swa_full;
  config.use_mmap = options.mmap;
  config.use_mlock = options.mlock;
  config.warm_up = options.warmup;
  config.split_mode = options.split_mode;
  config.main_gpu = options.main_gpu;
  config.tensor_split = options.tensor_split;
  config.devices = split_commas(options.device);
  config.rope_scaling = options.rope_scaling;
  config.rope_freq_base = options.rope_freq_base;
  config.rope_freq_scale = options.rope_freq_scale;
  config.yarn_ext_factor = options.yarn_ext_factor;
  config.yarn_attn_factor = options.yarn_attn_factor;
  config.yarn_beta_fast = options.yarn_beta_fast;
  config.yarn_beta_slow = options.yarn_beta_slow;
  config.yarn_orig_ctx = options.yarn_orig_ctx;
  config.chat_template = options.chat_template;
  config.draft_source = options.spec;
  config.draft_model_path = options.draft_model;
  config.draft_tokens_max = options.draft_max;
  config.draft_gpu_layers = options.draft_gpu_layers < 0 ? -1 : options.draft_gpu_layers;
  // Its numbers must not depend on guesses; who asks for both gets steps that are all alike.
  if (options.deterministic && options.spec == DraftSource::kAuto) {
    config.draft_source = DraftSource::kOff;
  }
  return config;
}

// On a processor chunks of 256 are as fast as larger ones, and a prompt that
// parts inside a message finds a nearer place; a GPU wants them large.
TokenPos grid_step(const ServeOptions& options, bool on_gpu) {
  if (options.grid_step > 0) return options.grid_step;
  const TokenPos largest = options.ubatch_size / 64 * 64;
  return on_gpu ? largest : std::min(TokenPos{256}, largest);
}

Result<engine::EngineSetting> asked_setting(const ServeOptions& options) {
  if (auto chosen = llama::use_cpu_variant(options.cpu_variant); !chosen) return chosen.error();
  engine::EngineSetting asked;
  asked.cpu_variant = llama::cpu_variant_in_use();
  asked.extra_buffers = options.repack;
  asked.together = !options.deterministic;
  asked.drafts = engine_config(options).draft_source != DraftSource::kOff;
  return asked;
}

llama::LlamaConfig with_setting(llama::LlamaConfig config, const engine::EngineSetting& setting) {
  config.cpu_variant = setting.cpu_variant;
  config.extra_buffers = setting.extra_buffers;
  if (!setting.drafts) config.draft_source = DraftSource::kOff;
  return config;
}

cache::Fingerprint fingerprint_of(const ServeOptions& options, const StateFacts& of) {
  const auto number = [](auto value) { return std::to_string(value); };
  std::string split;
  for (const float share : options.tensor_split) split += number(share) + ",";
  cache::Fingerprint facts;
  facts.add("model", of.digest)
      .add("engine", llama::llama_library_info())
      .add("variant", of.engine.cpu_variant)
      .add("buffers", of.engine.extra_buffers ? "extra" : "plain")
      .add("kv", options.cache_type_k + "/" + options.cache_type_v)
      .add("flash", number(static_cast<int>(options.flash_attn)))
      .add("swa-full", number(options.swa_full))
      .add("stretched", number(of.stretched))
      .add("rope", options.rope_scaling + "/" + number(options.rope_freq_base) + "/" +
                       number(options.rope_freq_scale))
      .add("yarn", number(options.yarn_orig_ctx) + "/" + number(options.yarn_ext_factor) + "/" +
                       number(options.yarn_attn_factor) + "/" + number(options.yarn_beta_fast) +
                       "/" + number(options.yarn_beta_slow))
      .add("device", options.device + "/" + number(options.gpu_layers) + "/" + options.split_mode +
                         "/" + number(options.main_gpu) + "/" + split)
      .add("ubatch", number(options.ubatch_size))
      .add("grid", number(of.grid_step));
  // Decoded state is kept in throughput mode only; the order of sums follows the threads.
  facts.add("mode", options.deterministic ? "deterministic" : "throughput");
  if (options.deterministic) {
    facts.add("threads", number(options.threads) + "/" + number(options.threads_batch));
  }
  return facts;
}

}  // namespace holdfast::cli
