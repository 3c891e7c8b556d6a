// The options of the model: which one, its context, where and how it is computed.
#include "cli/option_groups.h"

namespace holdfast::cli {
namespace {

using namespace option_kinds;

using O = ServeOptions;

OptionKind grid_step() {
  OptionKind kind = tokens(&ServeOptions::grid_step, 64, 65536);
  kind.expects = "a multiple of 64 from 64 to 65536";
  kind.set = [set = kind.set](ServeOptions& options, std::string_view text) {
    return set(options, text) && options.grid_step % 64 == 0;
  };
  kind.show = [](const ServeOptions&) { return "256 on a processor, --ubatch-size on a GPU"; };
  return kind;
}

OptionKind cache_ram() {
  OptionKind kind = whole(&ServeOptions::cache_ram_mib, kCacheRamUnlimited, std::int64_t{1} << 30);
  kind.show = [](const ServeOptions&) { return "a quarter of the free memory"; };
  return kind;
}

OptionKind cache_dir() {
  OptionKind kind = text(&ServeOptions::cache_dir);
  kind.show = [](const ServeOptions&) { return "holdfast/states in the user's cache folder"; };
  return kind;
}

OptionKind cache_disk() {
  OptionKind kind = whole(&ServeOptions::cache_disk_mib, kCacheDiskAuto, std::int64_t{1} << 30);
  kind.show = [](const ServeOptions&) { return "a tenth of the free space"; };
  return kind;
}

OptionKind gpu_layers(int ServeOptions::*field) {
  return {"a number of layers, auto or all",
          [field](ServeOptions& options, std::string_view text) {
            const auto count = number_of<int>(text);
            const bool known = text == "auto" || text == "all" || (count && *count >= -1);
            if (!known) return false;
            options.*field = text == "all" ? kGpuLayersAll : count.value_or(kGpuLayersAuto);
            return true;
          },
          [](const ServeOptions&) { return "auto"; }};
}

// llama-server's names for what --spec chooses.
OptionKind spec_type() {
  OptionKind kind = choice(&ServeOptions::spec, {{"none", DraftSource::kOff},
                                                 {"draft-mtp", DraftSource::kMtp},
                                                 {"draft-simple", DraftSource::kDraft},
                                                 {"ngram-simple", DraftSource::kNgram},
                                                 {"ngram-map-k", DraftSource::kNgram},
                                                 {"ngram-map-k4v", DraftSource::kNgram},
                                                 {"ngram-mod", DraftSource::kNgram},
                                                 {"ngram-cache", DraftSource::kNgram}});
  kind.show = [](const ServeOptions&) { return ""; };
  return kind;
}

OptionKind synthetic_rates() {
  return {"probabilities such as 0.8,0.7,0.6",
          [](ServeOptions& options, std::string_view text) {
            options.draft_synthetic.clear();
            for (const std::string& part : split(text, ",")) {
              const auto rate = number_of<float>(part);
              if (!rate || *rate < 0 || *rate > 1) return false;
              options.draft_synthetic.push_back(*rate);
            }
            return !options.draft_synthetic.empty();
          },
          [](const ServeOptions&) { return ""; }};
}

OptionKind draft_max() {
  OptionKind kind = tokens(&ServeOptions::draft_max, 0, 64);
  kind.show = [](const ServeOptions&) { return "3, with n-grams 8"; };
  return kind;
}

OptionKind cpu_variant() {
  OptionKind kind = text(&ServeOptions::cpu_variant);
  kind.show = [](const ServeOptions&) { return "the best that is trusted"; };
  return kind;
}

OptionKind tensor_split() {
  return {"shares such as 3,1",
          [](ServeOptions& options, std::string_view text) {
            options.tensor_split.clear();
            for (const std::string& part : split(text, ",/")) {
              const auto share = number_of<float>(part);
              if (!share || *share < 0) return false;
              options.tensor_split.push_back(*share);
            }
            return !options.tensor_split.empty();
          },
          [](const ServeOptions&) { return ""; }};
}

// `--rope-scale 4` is `--rope-freq-scale 0.25`.
OptionKind rope_scale() {
  return {"a number above 0",
          [](ServeOptions& options, std::string_view text) {
            const auto scale = number_of<double>(text);
            if (!scale || *scale <= 0) return false;
            options.rope_freq_scale = static_cast<float>(1.0 / *scale);
            return true;
          },
          [](const ServeOptions&) { return "from the model"; }};
}

}  // namespace

// clang-format off
OptionGroup model_group() {
  return {"Model", {
      {"-m, --model", "PATH", "LLAMA_ARG_MODEL", text(&O::model_path),
       "The model, a GGUF file. Without it Holdfast serves its small pocket model, so that "
       "everything can be tried at once."},
      {"-a, --alias", "NAME", "LLAMA_ARG_ALIAS", list(&O::aliases, ListMode::kAppend),
       "The model's name in the API; several with commas. Default: from the model."},
      {"--mmap / --no-mmap", "", "LLAMA_ARG_MMAP", flag(&O::mmap),
       "Map the file into memory rather than read it."},
      {"--mlock / --no-mlock", "", "LLAMA_ARG_MLOCK", flag(&O::mlock),
       "Keep the model in RAM; the system may not swap it out."},
      {"--warmup / --no-warmup", "", "LLAMA_ARG_WARMUP", flag(&O::warmup),
       "Run the model once at the start, so that the first request is not slower."},
  }};
}

OptionGroup context_group() {
  const std::initializer_list<std::string> types = {
      "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"};
  return {"Context and slots", {
      {"-c, --ctx-size", "N", "LLAMA_ARG_CTX_SIZE", tokens(&O::ctx_size, 0),
       "Context tokens of each slot: what one conversation can hold. Memory is needed for slots x "
       "N. llama-server's unified cache shares one total among its slots, so the same number here "
       "means at least as much room for each conversation. 0: the model's own, less where memory "
       "is short."},
      {"-np, --parallel", "N", "LLAMA_ARG_N_PARALLEL", whole(&O::parallel, 1, 256),
       "Slots: how many requests run at the same time. More of them wait in the queue."},
      {"-b, --batch-size", "N", "LLAMA_ARG_BATCH", tokens(&O::batch_size, 64, 65536),
       "Most tokens in one call of the engine, and of prompts between two tokens of an answer."},
      {"-ub, --ubatch-size", "N", "LLAMA_ARG_UBATCH", tokens(&O::ubatch_size, 64, 65536),
       "Most tokens computed in one step. More is faster on a GPU and takes more memory."},
      {"-ctk, --cache-type-k", "TYPE", "LLAMA_ARG_CACHE_TYPE_K", word(&O::cache_type_k, types),
       "How keys are stored: f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0 or q5_1."},
      {"-ctv, --cache-type-v", "TYPE", "LLAMA_ARG_CACHE_TYPE_V", word(&O::cache_type_v, types),
       "How values are stored; the same types."},
      {"--swa-full / --no-swa-full", "", "LLAMA_ARG_SWA_FULL", flag(&O::swa_full),
       "Keep all tokens of sliding-window layers, not only the window."},
      {"--latency-target", "MS", "", whole(&O::latency_target_ms, 0, 3'600'000),
       "While answers are written, prompts are read and states are copied for no longer than about "
       "this many milliseconds between two of their tokens, and for no longer than about 2048 tokens "
       "take to be read. Less: answers flow more evenly, and prompts are read more slowly. 0: no "
       "limit."},
      {"--deterministic / --no-deterministic", "", "", flag(&O::deterministic),
       "The same request gives the same answer whatever else is running. Slower with several "
       "users."},
  }};
}

OptionGroup reuse_group() {
  return {"Reuse: what has been read is not read again", {
      {"-cram, --cache-ram", "MIB", "LLAMA_ARG_CACHE_RAM", cache_ram(),
       "Memory for states besides the slots, in MiB. What is worth least goes first when it is "
       "full. 0: none, only slots are continued; -1: no limit."},
      {"--slot-snapshots", "N", "", whole(&O::slot_snapshots, 0, 1024),
       "Models with recurrent or windowed layers: each slot may keep N snapshots of its own "
       "conversation, to go back in it, even if --cache-ram is smaller than all of them. Memory "
       "is then the larger of the two. 0: --cache-ram is never exceeded."},
      {"--cache-dir", "DIR", "HOLDFAST_CACHE_DIR", cache_dir(),
       "Folder for states that survive a restart; off: none. One server at a time writes to it, "
       "others read. `holdfast cache` shows what is there."},
      {"--cache-disk", "MIB", "", cache_disk(),
       "Most that the folder may hold, in MiB. What is worth least goes first."},
      {"--slot-save-path", "DIR", "", text(&O::slot_save_path),
       "Folder for slots that clients save and restore by name: POST /slots/ID?action=save. It is "
       "made if missing. Without it only erase works."},
      {"--cache-rest", "MS", "", whole(&O::cache_rest_ms, 0, 3'600'000),
       "How long a conversation rests before it is written, in milliseconds. The next turn often "
       "takes its place, and less is written; a crash loses what has not been."},
      {"--grid-step", "N", "", grid_step(),
       "A long prompt is cut every N tokens, a multiple of 64; short messages are read together up "
       "to that many. A state can be kept at each cut."},
      {"--checkpoint-every", "N", "", tokens(&O::checkpoint_every, 0),
       "Keep a state every N tokens of a long message. 0: as often as memory allows, and rarer "
       "when it is scarce."},
      {"--checkpoints", "on|off", "", choice(&O::checkpoints, {{"on", true}, {"off", false}}),
       "Keep states while a prompt is read. Off: only when another conversation takes the slot."},
      {"--prove", "SHARE", "", real(&O::prove, 0.0, 1.0),
       "While nobody waits, compute this share of the restored states again from the first token "
       "and compare. A difference takes the state out of use and is reported. 0.02 costs little; 1 "
       "is for a machine under suspicion."},
      {"--token-history / --no-token-history", "", "", flag(&O::token_history),
       "Answers that come back as history keep the token ids that were sampled, so that they are "
       "found again whatever the tokenizer makes of their text."},
  }};
}

OptionGroup speculation_group() {
  return {"Speculation: several tokens a step", {
      {"--spec", "KIND", "", choice(&O::spec, {{"auto", DraftSource::kAuto},
                                               {"mtp", DraftSource::kMtp},
                                               {"draft", DraftSource::kDraft},
                                               {"ngram", DraftSource::kNgram},
                                               {"off", DraftSource::kOff}}),
       "What guesses the next tokens, which the model then verifies in one step: its own "
       "multi-token head (mtp), a small model (draft, see --draft-model), a look at what was said "
       "before (ngram), or nothing. auto: the draft model if one is named, else the head if the "
       "file has one. Every token is still chosen by the model; how much is guessed "
       "adapts to what is measured."},
      {"-md, --draft-model, --model-draft, --spec-draft-model", "PATH", "LLAMA_ARG_SPEC_DRAFT_MODEL",
       text(&O::draft_model), "A small model with the same vocabulary, a GGUF file."},
      {"--draft-max, --draft, --draft-n, --spec-draft-n-max", "N", "LLAMA_ARG_SPEC_DRAFT_N_MAX",
       draft_max(), "The longest draft. A recurrent model keeps one more state for each of its "
       "tokens, where it can."},
      {"--draft-min, --draft-n-min, --spec-draft-n-min", "N", "LLAMA_ARG_SPEC_DRAFT_N_MIN",
       tokens(&O::draft_min, 0, 64), "Shorter drafts are not tried."},
      {"--draft-p-min, --spec-draft-p-min", "P", "LLAMA_ARG_SPEC_DRAFT_P_MIN",
       real(&O::draft_p_min, 0.0, 1.0), "A draft ends before a token less likely than this."},
      {"--draft-adaptive / --no-draft-adaptive", "", "", flag(&O::draft_adaptive),
       "Draft less, or nothing, while that is faster. Off: always as much as --draft-max."},
      {"-ngld, --draft-gpu-layers, --gpu-layers-draft, --spec-draft-ngl", "N|auto|all",
       "LLAMA_ARG_N_GPU_LAYERS_DRAFT", gpu_layers(&O::draft_gpu_layers),
       "Layers of the draft model kept on the GPU."},
      {"--spec-synth-rates", "P,P,...", "", synthetic_rates(),
       "For benchmarks of models with random weights only: takes drafted tokens with these "
       "probabilities, by their place, whatever the model says. Answers are then meaningless."},
      {"--spec-type", "TYPE", "LLAMA_ARG_SPEC_TYPE", spec_type(),
       "The same as --spec, in llama-server's words: none, draft-mtp, draft-simple, ngram-simple ..."},
  }};
}

OptionGroup compute_group() {
  return {"Processor and GPU", {
      {"--cpu-variant", "NAME", "", cpu_variant(),
       "Which of the engine's builds for processors to use (haswell, zen4, ...); `holdfast doctor` "
       "lists them. Variants that are known to answer wrongly are used only if named here."},
      {"--check-engine", "once|always|off", "", choice(&O::check_engine,
                                                       {{"once", CheckEngine::kOnce},
                                                        {"always", CheckEngine::kAlways},
                                                        {"off", CheckEngine::kOff}}),
       "Compare every kind of batch with the plain way of computing it before serving. once: "
       "remembered for this engine, machine, model and options, and a start takes hardly longer. "
       "What fails is given up (special buffers, the CPU variant, slots together, drafts), or "
       "nothing is served."},
      {"--repack / -nr, --no-repack", "", "LLAMA_ARG_REPACK", flag(&O::repack),
       "Repack weights for faster kernels of the processor, where it has some."},
      {"-t, --threads", "N", "LLAMA_ARG_THREADS", whole(&O::threads, -1, 1024),
       "Threads that generate; -1 lets the engine choose."},
      {"-tb, --threads-batch", "N", "LLAMA_ARG_THREADS_BATCH", whole(&O::threads_batch, -1, 1024),
       "Threads that read prompts; -1: as many as --threads."},
      {"-ngl, --gpu-layers, --n-gpu-layers", "N|auto|all", "LLAMA_ARG_N_GPU_LAYERS",
       gpu_layers(&O::gpu_layers),
       "Layers kept on the GPU."},
      {"-fa, --flash-attn", "on|off|auto", "LLAMA_ARG_FLASH_ATTN", on_off_auto(&O::flash_attn),
       "Flash attention: less memory for long contexts.", "on"},
      {"-dev, --device", "LIST", "LLAMA_ARG_DEVICE", text(&O::device),
       "Devices to use, with commas."},
      {"-sm, --split-mode", "MODE", "LLAMA_ARG_SPLIT_MODE",
       word(&O::split_mode, {"none", "layer", "row", "tensor"}),
       "How several GPUs share a model: none, layer, row or tensor."},
      {"-mg, --main-gpu", "N", "LLAMA_ARG_MAIN_GPU", whole(&O::main_gpu, 0, 255),
       "The GPU that is used when a model is not split."},
      {"-ts, --tensor-split", "LIST", "LLAMA_ARG_TENSOR_SPLIT", tensor_split(),
       "Each GPU's share of the model, as in 3,1."},
  }};
}

OptionGroup rope_group() {
  return {"Position encoding, for contexts beyond the model's own", {
      {"--rope-scaling", "METHOD", "LLAMA_ARG_ROPE_SCALING_TYPE",
       word(&O::rope_scaling, {"none", "linear", "yarn"}),
       "none, linear or yarn. Default: from the model."},
      {"--rope-scale", "X", "LLAMA_ARG_ROPE_SCALE", rope_scale(),
       "Stretch the context by X."},
      {"--rope-freq-base", "X", "LLAMA_ARG_ROPE_FREQ_BASE", real_or_model(&O::rope_freq_base),
       "RoPE base frequency."},
      {"--rope-freq-scale", "X", "LLAMA_ARG_ROPE_FREQ_SCALE", real_or_model(&O::rope_freq_scale),
       "RoPE frequency factor, 1/--rope-scale."},
      {"--yarn-orig-ctx", "N", "LLAMA_ARG_YARN_ORIG_CTX", tokens(&O::yarn_orig_ctx, 0),
       "Context the model was trained with; 0: from the model."},
      {"--yarn-ext-factor", "X", "LLAMA_ARG_YARN_EXT_FACTOR", real_or_model(&O::yarn_ext_factor),
       "YaRN extrapolation mix."},
      {"--yarn-attn-factor", "X", "LLAMA_ARG_YARN_ATTN_FACTOR",
       real_or_model(&O::yarn_attn_factor),
       "YaRN attention scale."},
      {"--yarn-beta-fast", "X", "LLAMA_ARG_YARN_BETA_FAST", real_or_model(&O::yarn_beta_fast),
       "YaRN low correction."},
      {"--yarn-beta-slow", "X", "LLAMA_ARG_YARN_BETA_SLOW", real_or_model(&O::yarn_beta_slow),
       "YaRN high correction."},
  }};
}
// clang-format on

}  // namespace holdfast::cli
