#include "engine/llama/llama_context_params.h"

#include <algorithm>
#include <map>
#include <thread>

namespace holdfast::llama {

namespace {

const std::map<std::string, ggml_type> kCacheTypes = {
    {"f32", GGML_TYPE_F32},   {"f16", GGML_TYPE_F16},       {"bf16", GGML_TYPE_BF16},
    {"q8_0", GGML_TYPE_Q8_0}, {"q4_0", GGML_TYPE_Q4_0},     {"q4_1", GGML_TYPE_Q4_1},
    {"q5_0", GGML_TYPE_Q5_0}, {"iq4_nl", GGML_TYPE_IQ4_NL}, {"q5_1", GGML_TYPE_Q5_1},
};

const std::map<std::string, llama_rope_scaling_type> kRopeScalings = {
    {"", LLAMA_ROPE_SCALING_TYPE_UNSPECIFIED},
    {"none", LLAMA_ROPE_SCALING_TYPE_NONE},
    {"linear", LLAMA_ROPE_SCALING_TYPE_LINEAR},
    {"yarn", LLAMA_ROPE_SCALING_TYPE_YARN},
};

llama_flash_attn_type library_flash(FlashAttention flash) {
  switch (flash) {
    case FlashAttention::kOn: return LLAMA_FLASH_ATTN_TYPE_ENABLED;
    case FlashAttention::kOff: return LLAMA_FLASH_ATTN_TYPE_DISABLED;
    case FlashAttention::kAuto: break;
  }
  return LLAMA_FLASH_ATTN_TYPE_AUTO;
}

int default_threads() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

Result<void> set_rope(llama_context_params& params, const LlamaConfig& config) {
  const auto scaling = kRopeScalings.find(config.rope_scaling);
  if (scaling == kRopeScalings.end()) {
    return invalid_argument("--rope-scaling", "--rope-scaling is one of none, linear, yarn.");
  }
  params.rope_scaling_type = scaling->second;
  params.rope_freq_base = config.rope_freq_base;
  params.rope_freq_scale = config.rope_freq_scale;
  params.yarn_ext_factor = config.yarn_ext_factor;
  params.yarn_attn_factor = config.yarn_attn_factor;
  params.yarn_beta_fast = config.yarn_beta_fast;
  params.yarn_beta_slow = config.yarn_beta_slow;
  params.yarn_orig_ctx = static_cast<std::uint32_t>(config.yarn_orig_ctx);
  return {};
}

}  // namespace

Result<ggml_type> cache_type_from_name(const std::string& name, const std::string& flag) {
  const auto it = kCacheTypes.find(name);
  if (it != kCacheTypes.end()) return it->second;
  return invalid_argument(flag, flag +
                                    " is one of f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0,"
                                    " iq4_nl; not '" +
                                    name + "'.");
}

Result<llama_context_params> make_context_params(const LlamaConfig& config) {
  auto type_k = cache_type_from_name(config.cache_type_k, "--cache-type-k");
  if (!type_k) return type_k.error();
  auto type_v = cache_type_from_name(config.cache_type_v, "--cache-type-v");
  if (!type_v) return type_v.error();
  if (ggml_is_quantized(*type_v) && config.flash_attention == FlashAttention::kOff) {
    return invalid_argument("--cache-type-v",
                            "A quantized V cache needs flash attention: drop"
                            " '--flash-attn off' or use --cache-type-v f16.");
  }
  llama_context_params params = llama_context_default_params();
  const auto slots = static_cast<std::uint32_t>(config.slots);
  params.n_ctx = static_cast<std::uint32_t>(config.context_tokens) * slots;
  params.n_seq_max = slots;
  params.kv_unified = false;
  params.n_ubatch = static_cast<std::uint32_t>(config.ubatch);
  // As many rows of logits as a decode can ask for. The default would reserve one for every token
  // of a batch.
  const auto rows_per_slot = static_cast<std::uint32_t>(1 + config.draft_tokens_max);
  params.n_batch = std::max(params.n_ubatch, slots * rows_per_slot);
  params.n_outputs_max = slots * rows_per_slot;
  params.n_outputs_max_per_seq = rows_per_slot;
  params.n_rs_seq = static_cast<std::uint32_t>(config.rollback_depth);
  params.n_threads = config.threads > 0 ? config.threads : default_threads();
  params.n_threads_batch = config.threads_batch > 0 ? config.threads_batch : params.n_threads;
  params.flash_attn_type = library_flash(config.flash_attention);
  params.type_k = *type_k;
  params.type_v = *type_v;
  params.swa_full = config.swa_full;
  params.no_perf = true;
  if (auto rope = set_rope(params, config); !rope) return rope.error();
  return params;
}

}  // namespace holdfast::llama
