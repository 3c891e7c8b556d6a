// The options of the model: which one, its context, where and how it is computed.
#include <limits>
#include <optional>
#include <utility>

#include "cli/option_groups.h"

namespace holdfast::cli {
namespace {

using namespace option_kinds;

OptionKind grid_step(TokenPos& field) {
  OptionKind kind =
      with_default(tokens(field, 64, 65536), "256 on a processor, --ubatch-size on a GPU");
  kind.expects = "a multiple of 64 from 64 to 65536";
  kind.set = [set = kind.set, &field](std::string_view text) {
    return set(text) && field % 64 == 0;
  };
  return kind;
}

OptionKind mebibytes(std::int64_t& field, std::int64_t min, std::string shown) {
  return with_default(whole(field, min, std::int64_t{1} << 30), std::move(shown));
}

OptionKind gpu_layers(int& field) {
  return {"a number of layers, auto or all",
          [&field](std::string_view text) {
            const auto count = number_of<int>(text);
            const bool known = text == "auto" || text == "all" || (count && *count >= -1);
            if (known) field = text == "all" ? kGpuLayersAll : count.value_or(kGpuLayersAuto);
            return known;
          },
          "auto"};
}

// llama-server's names for what --spec chooses.
OptionKind spec_type(DraftSource& field) {
  return with_default(choice(field, {{"none", DraftSource::kOff},
                                     {"draft-mtp", DraftSource::kMtp},
                                     {"draft-simple", DraftSource::kDraft},
                                     {"ngram-simple", DraftSource::kNgram},
                                     {"ngram-map-k", DraftSource::kNgram},
                                     {"ngram-map-k4v", DraftSource::kNgram},
                                     {"ngram-mod", DraftSource::kNgram},
                                     {"ngram-cache", DraftSource::kNgram}}),
                      "");
}

OptionKind exactness(Exactness& field) {
  return choice(
      field, {{"off", Exactness::kOff}, {"prompt", Exactness::kPrompt}, {"all", Exactness::kAll}});
}

// Turned off, it leaves exact prompts as they are.
OptionKind all_exact(Exactness& field) {
  return {"on or off", [&field](std::string_view text) {
            const auto truth = truth_of(text);
            if (truth.value_or(false)) field = Exactness::kAll;
            if (!truth.value_or(true) && field == Exactness::kAll) field = Exactness::kOff;
            return truth.has_value();
          }};
}

constexpr float kNoLimit = std::numeric_limits<float>::max();

auto number_up_to(float max) {
  return [max](const std::string& text) {
    const auto number = number_of<float>(text);
    return number && *number >= 0 && *number <= max ? number : std::nullopt;
  };
}

// `--rope-scale 4` is `--rope-freq-scale 0.25`.
OptionKind rope_scale(float& freq_scale) {
  return {"a number above 0",
          [&freq_scale](std::string_view text) {
            const auto scale = number_of<double>(text);
            if (!scale || *scale <= 0) return false;
            freq_scale = static_cast<float>(1.0 / *scale);
            return true;
          },
          "from the model"};
}

OptionKind load_mode(ModelOptions& o) {
  return {"one of auto, none, mmap, mlock, mmap+mlock", [&o](std::string_view text) {
            const bool known = text == "auto" || text == "none" || text == "mmap" ||
                               text == "mlock" || text == "mmap+mlock";
            if (known) o.mmap = text != "none" && text != "mlock";
            if (known) o.mlock = text.ends_with("mlock");
            return known;
          }};
}

// Pretended drafts are as long as asked for, so that two runs can be compared.
OptionKind pretence(DraftOptions& o) {
  OptionKind kind = items(o.synthetic, ",", number_up_to(1), "probabilities such as 0.8,0.7,0.6");
  kind.set = [set = kind.set, &o](std::string_view text) {
    o.adaptive = false;
    return set(text);
  };
  return kind;
}

OptionKind pooling(std::optional<engine::Pooling>& field) {
  return with_default(
      choice<std::optional<engine::Pooling>>(field, {{"none", engine::Pooling::kNone},
                                                     {"mean", engine::Pooling::kMean},
                                                     {"cls", engine::Pooling::kFirst},
                                                     {"last", engine::Pooling::kLast},
                                                     {"rank", engine::Pooling::kRank}}),
      "from the model");
}

}  // namespace

// clang-format off
OptionGroup model_group(ModelOptions& o) {
  return {"Model", {
      {"-m, --model", "PATH", text(o.path),
       "The model, a GGUF file. Without it Holdfast serves its small pocket model, so that "
       "everything can be tried at once.", "LLAMA_ARG_MODEL"},
      {"-a, --alias", "NAME", list(o.aliases, ListMode::kAppend),
       "The model's name in the API; several with commas: the first in the alphabet is its id, the "
       "others are known too. Default: from the model.", "LLAMA_ARG_ALIAS"},
      {"--tags", "LIST", list(o.tags, ListMode::kAppend),
       "What /v1/models shows as the model's tags, with commas.", "LLAMA_ARG_TAGS"},
      {"--mmap / --no-mmap", "", flag(o.mmap), "Map the file into memory rather than read it.",
       "LLAMA_ARG_MMAP"},
      {"--mlock / --no-mlock", "", flag(o.mlock),
       "Keep the model in RAM; the system may not swap it out.", "LLAMA_ARG_MLOCK"},
      {"-lm, --load-mode", "MODE", load_mode(o),
       "The same two in one: auto, none, mmap, mlock or mmap+mlock.", "LLAMA_ARG_LOAD_MODE"},
      {"--warmup / --no-warmup", "", flag(o.warmup),
       "Run the model once at the start, so that the first request is not slower.",
       "LLAMA_ARG_WARMUP"},
  }};
}

OptionGroup context_group(ContextOptions& o) {
  const std::initializer_list<std::string> types = {
      "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"};
  return {"Context and slots", {
      {"-c, --ctx-size", "N", tokens(o.size, 0),
       "Context tokens of each slot: what one conversation can hold. Memory is needed for slots x "
       "N. llama-server's unified cache shares one total among its slots, so the same number here "
       "means at least as much room for each conversation. 0: the model's own, less where memory "
       "is short.", "LLAMA_ARG_CTX_SIZE"},
      {"-np, --parallel", "N", whole(o.parallel, 1, 256),
       "Slots: how many requests run at the same time. More of them wait in the queue.",
       "LLAMA_ARG_N_PARALLEL"},
      {"-b, --batch-size", "N", tokens(o.batch_size, 1, 65536),
       "Most tokens in one call of the engine, and of prompts between two tokens of an answer.",
       "LLAMA_ARG_BATCH"},
      {"-ub, --ubatch-size", "N", tokens(o.ubatch_size, 1, 65536),
       "Most tokens computed in one step. More is faster on a GPU and takes more memory.",
       "LLAMA_ARG_UBATCH"},
      {"-ctk, --cache-type-k", "TYPE", word(o.cache_type_k, types),
       "How keys are stored: f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0 or q5_1.",
       "LLAMA_ARG_CACHE_TYPE_K"},
      {"-ctv, --cache-type-v", "TYPE", word(o.cache_type_v, types),
       "How values are stored; the same types.", "LLAMA_ARG_CACHE_TYPE_V"},
      {"--swa-full / --no-swa-full", "", flag(o.swa_full),
       "Keep all tokens of sliding-window layers, not only the window.", "LLAMA_ARG_SWA_FULL"},
      {"--latency-target", "MS", whole(o.latency_target_ms, 0, 3'600'000),
       "While answers are written, prompts are read and states are copied for no longer than about "
       "this many milliseconds between two of their tokens, and for no longer than about 2048 "
       "tokens take to be read. Less: answers flow more evenly, and prompts are read more slowly. "
       "0: no limit."},
      {"--exact", "off|prompt|all", exactness(o.exact),
       "What has the very bits that a fresh start would give. prompt: all that is reused of a prompt; "
       "an answer is read once more before its next turn, in idle time where there is some "
       "(--prewarm). all: the answers too, whatever else is running; slower with several users. off: "
       "reuse and joint steps make differences of the size of rounding."},
      {"--deterministic / --no-deterministic", "", all_exact(o.exact),
       "Another name for --exact all."},
  }};
}

OptionGroup reuse_group(ReuseOptions& o) {
  return {"Reuse: what has been read is not read again", {
      {"-cram, --cache-ram", "MIB",
       mebibytes(o.ram_mib, kCacheRamUnlimited, "a quarter of the free memory"),
       "Memory for states besides the slots, in MiB. What is worth least goes first when it is "
       "full. 0: none, only slots are continued; -1: no limit.", "LLAMA_ARG_CACHE_RAM"},
      {"--cache-vram", "MIB",
       mebibytes(o.vram_mib, kCacheVramAuto, "a tenth of what is free there, 1024 at most"),
       "With a GPU: its memory for snapshots that leave it while it computes on, and for the latest "
       "of them, which come back from there at once. 0: none, and computing waits for them."},
      {"--slot-snapshots", "N", whole(o.slot_snapshots, 0, 1024),
       "Models with recurrent or windowed layers: each slot may keep N snapshots of its own "
       "conversation, to go back in it, even if --cache-ram is smaller than all of them. Memory is "
       "then the larger of the two. 0: --cache-ram is never exceeded."},
      {"--cache-dir", "DIR",
       with_default(text(o.dir), "holdfast/states in the user's cache folder"),
       "Folder for states that survive a restart; off: none. One server at a time writes to it, "
       "others read. `holdfast cache` shows what is there."},
      {"--cache-disk", "MIB", mebibytes(o.disk_mib, kCacheDiskAuto, "a tenth of the free space"),
       "Most that the folder may hold, in MiB. What is worth least goes first."},
      {"--slot-save-path", "DIR", text(o.slot_save_path),
       "Folder for slots that clients save and restore by name: POST /slots/ID?action=save. It is "
       "made if missing. Without it only erase works."},
      {"--slot-save-max", "MIB",
       mebibytes(o.slot_save_mib, kCacheDiskAuto, "a tenth of the free space"),
       "Most that the folder of saved slots may hold, in MiB. A save beyond it is refused."},
      {"--cache-rest", "MS", whole(o.rest_ms, 0, 3'600'000),
       "How long a conversation rests before it is written, in milliseconds. The next turn often "
       "takes its place, and less is written; a crash loses what has not been."},
      {"--grid-step", "N", grid_step(o.grid_step),
       "A long prompt is cut every N tokens, a multiple of 64; short messages are read together up "
       "to that many. A state can be kept at each cut."},
      {"--checkpoint-every", "N", tokens(o.checkpoint_every, 0),
       "Keep a state every N tokens of a long message. 0: as often as memory allows, and rarer "
       "when it is scarce."},
      {"--checkpoints", "on|off", choice(o.checkpoints, {{"on", true}, {"off", false}}),
       "Keep states while a prompt is read. Off: only when another conversation takes the slot."},
      {"--prove", "SHARE", real(o.prove, 0.0, 1.0),
       "While nobody waits, compute this share of the restored states again from the first token "
       "and compare. A difference takes the state out of use and is reported. 0.02 costs little; 1 "
       "is for a machine under suspicion."},
      {"--prewarm", "on|off|auto", on_off_auto(o.prewarm),
       "While nobody waits, read each answer once more as the conversation's next prompt will show "
       "it: without its thoughts, where the template leaves them out. The next turn then reads the "
       "new message alone. A request that arrives waits for one piece of it at most. auto: not on "
       "battery."},
      {"--token-history / --no-token-history", "", flag(o.token_history),
       "Answers that come back as history keep the token ids that were sampled, so that they are "
       "found again whatever the tokenizer makes of their text."},
  }};
}

OptionGroup speculation_group(DraftOptions& o) {
  return {"Speculation: several tokens a step", {
      {"--spec", "KIND",
       choice(o.source, {{"auto", DraftSource::kAuto}, {"mtp", DraftSource::kMtp},
         {"draft", DraftSource::kDraft}, {"ngram", DraftSource::kNgram},
         {"off", DraftSource::kOff}}),
       "What guesses the next tokens, which the model then verifies in one step: its own "
       "multi-token head (mtp), a small model (draft, see --draft-model), a look at what was said "
       "before (ngram), or nothing. auto: the draft model if one is named, else the head if the "
       "file has one. Every token is still chosen by the model; how much is guessed "
       "adapts to what is measured."},
      {"-md, --draft-model, --model-draft, --spec-draft-model", "PATH", text(o.model),
       "A small model with the same vocabulary, a GGUF file.", "LLAMA_ARG_SPEC_DRAFT_MODEL"},
      {"--draft-max, --draft, --draft-n, --spec-draft-n-max", "N",
       with_default(tokens(o.max, 0, 64), "3, with n-grams 8"),
       "The longest draft. A recurrent model keeps one more state for each of its tokens, where it "
       "can.", "LLAMA_ARG_SPEC_DRAFT_N_MAX, LLAMA_ARG_DRAFT_MAX"},
      {"--draft-min, --draft-n-min, --spec-draft-n-min", "N", tokens(o.min, 0, 64),
       "Shorter drafts are not tried.", "LLAMA_ARG_SPEC_DRAFT_N_MIN, LLAMA_ARG_DRAFT_MIN"},
      {"--draft-p-min, --spec-draft-p-min", "P", real(o.p_min, 0.0, 1.0),
       "A draft ends before a token less likely than this.", "LLAMA_ARG_SPEC_DRAFT_P_MIN"},
      {"--draft-adaptive / --no-draft-adaptive", "", flag(o.adaptive),
       "Draft less, or nothing, while that is faster. Off: always as much as --draft-max."},
      {"-ngld, --gpu-layers-draft, --n-gpu-layers-draft, --spec-draft-ngl", "N|auto|all",
       gpu_layers(o.gpu_layers), "Layers of the draft model kept on the GPU.",
       "LLAMA_ARG_N_GPU_LAYERS_DRAFT"},
      {"--draft-gpu-layers", "N|auto|all", gpu_layers(o.gpu_layers), "The same."},
      {"--spec-synth-rates", "P,P,...",
       pretence(o),
       "For benchmarks of models with random weights only: takes drafted tokens with these "
       "probabilities, by their place, whatever the model says. Answers are then meaningless, and "
       "drafts as long as --draft-max unless --draft-adaptive follows.",
       "LLAMA_ARG_SPEC_SYNTH_RATES"},
      {"--spec-type", "TYPE", spec_type(o.source),
       "The same as --spec, in llama-server's words: none, draft-mtp, draft-simple, ngram-simple "
       "...", "LLAMA_ARG_SPEC_TYPE"},
  }};
}

OptionGroup compute_group(ComputeOptions& o) {
  return {"Processor and GPU", {
      {"--cpu-variant", "NAME", with_default(text(o.cpu_variant), "the best that is trusted"),
       "Which of the engine's builds for processors to use (haswell, zen4, ...); `holdfast doctor` "
       "lists them. Variants that are known to answer wrongly are used only if named here."},
      {"--check-engine", "once|always|off",
       choice(o.check_engine, {{"once", CheckEngine::kOnce}, {"always", CheckEngine::kAlways},
         {"off", CheckEngine::kOff}}),
       "Compare every kind of batch with the plain way of computing it before serving. once: "
       "remembered for this engine, machine, model and options, and a start takes hardly longer. "
       "What fails is given up (special buffers, the CPU variant, slots together, drafts), or "
       "nothing is served."},
      {"--repack / -nr, --no-repack", "", flag(o.repack),
       "Repack weights for faster kernels of the processor, where it has some.",
       "LLAMA_ARG_REPACK"},
      {"-t, --threads", "N", whole(o.threads, -1, 1024),
       "Threads that generate; -1: one for each CPU that this process may use, by its CPU set and "
       "its cgroup's quota.", "LLAMA_ARG_THREADS"},
      {"-tb, --threads-batch", "N", whole(o.threads_batch, -1, 1024),
       "Threads that read prompts; -1: as many as --threads.", "LLAMA_ARG_THREADS_BATCH"},
      {"--poll", "N",
       with_default(whole(o.poll, -1, 100), "50, or 0 where others have CPUs of this machine"),
       "How long threads look for work before they sleep: 0 (they sleep at once) to 100."},
      {"-ngl, --gpu-layers, --n-gpu-layers", "N|auto|all", gpu_layers(o.gpu_layers),
       "Layers kept on the GPU.", "LLAMA_ARG_N_GPU_LAYERS"},
      {"-fa, --flash-attn", "on|off|auto", on_off_auto(o.flash_attn),
       "Flash attention: less memory for long contexts.", "LLAMA_ARG_FLASH_ATTN", "on"},
      {"-dev, --device", "LIST", text(o.device), "Devices to use, with commas.",
       "LLAMA_ARG_DEVICE"},
      {"-sm, --split-mode", "MODE", word(o.split_mode, {"none", "layer", "row", "tensor"}),
       "How several GPUs share a model: none, layer, row or tensor.", "LLAMA_ARG_SPLIT_MODE"},
      {"-mg, --main-gpu", "N", whole(o.main_gpu, 0, 255),
       "The GPU that is used when a model is not split.", "LLAMA_ARG_MAIN_GPU"},
      {"-ts, --tensor-split", "LIST",
       items(o.tensor_split, ",/", number_up_to(kNoLimit), "shares such as 3,1"),
       "Each GPU's share of the model, as in 3,1.", "LLAMA_ARG_TENSOR_SPLIT"},
      {"-cmoe, --cpu-moe", "", flag(o.cpu_experts),
       "Keep the experts of every layer on the processor: for a mixture of experts that does not "
       "fit the GPU.", "LLAMA_ARG_CPU_MOE"},
      {"-ncmoe, --n-cpu-moe", "N", whole(o.cpu_expert_layers, 0, 10000),
       "Keep those of the first N layers there.", "LLAMA_ARG_N_CPU_MOE"},
      {"-ot, --override-tensor", "PATTERN=BUFFER", list(o.tensor_places, ListMode::kAppend),
       "Put tensors whose names match into another buffer: 'exps=CPU'. Several with commas.",
       "LLAMA_ARG_OVERRIDE_TENSOR"},
      {"--override-kv", "KEY=TYPE:VALUE", list(o.metadata_overrides, ListMode::kAppend),
       "Read metadata of the model as if they had this value; types int, float, bool, str. "
       "Several with commas."},
  }};
}

OptionGroup rope_group(RopeOptions& o) {
  return {"Position encoding, for contexts beyond the model's own", {
      {"--rope-scaling", "METHOD", word(o.scaling, {"none", "linear", "yarn"}),
       "none, linear or yarn. Default: from the model.", "LLAMA_ARG_ROPE_SCALING_TYPE"},
      {"--rope-scale", "X", rope_scale(o.freq_scale), "Stretch the context by X.",
       "LLAMA_ARG_ROPE_SCALE"},
      {"--rope-freq-base", "X", real_or_model(o.freq_base), "RoPE base frequency.",
       "LLAMA_ARG_ROPE_FREQ_BASE"},
      {"--rope-freq-scale", "X", real_or_model(o.freq_scale),
       "RoPE frequency factor, 1/--rope-scale.", "LLAMA_ARG_ROPE_FREQ_SCALE"},
      {"--yarn-orig-ctx", "N", tokens(o.yarn_orig_ctx, 0),
       "Context the model was trained with; 0: from the model.", "LLAMA_ARG_YARN_ORIG_CTX"},
      {"--yarn-ext-factor", "X", real_or_model(o.yarn_ext_factor), "YaRN extrapolation mix.",
       "LLAMA_ARG_YARN_EXT_FACTOR"},
      {"--yarn-attn-factor", "X", real_or_model(o.yarn_attn_factor), "YaRN attention scale.",
       "LLAMA_ARG_YARN_ATTN_FACTOR"},
      {"--yarn-beta-fast", "X", real_or_model(o.yarn_beta_fast), "YaRN low correction.",
       "LLAMA_ARG_YARN_BETA_FAST"},
      {"--yarn-beta-slow", "X", real_or_model(o.yarn_beta_slow), "YaRN high correction.",
       "LLAMA_ARG_YARN_BETA_SLOW"},
  }};
}
OptionGroup embedding_group(EmbeddingOptions& o) {
  return {"Embeddings", {
      {"--embedding, --embeddings", "", flag(o.on),
       "Give vectors of texts (/v1/embeddings) instead of generating text. For models that are made "
       "for this. A text may have --ubatch-size tokens.", "LLAMA_ARG_EMBEDDINGS"},
      {"--rerank, --reranking", "", flag(o.rank),
       "Say how well documents answer a query (/v1/rerank), with a model that is made for this.",
       "LLAMA_ARG_RERANKING"},
      {"--pooling", "KIND", pooling(o.pooling),
       "How the vectors of a text's tokens become one: none, mean, cls (the first), last or rank.",
       "LLAMA_ARG_POOLING"},
      {"--embd-normalize", "N", whole(o.norm, engine::kNoNorm, engine::kNormMax),
       "The length of vectors: -1 as computed, 0 largest value 32760, 1 taxicab, 2 Euclid, "
       "N the N-norm."},
  }};
}
// clang-format on

}  // namespace holdfast::cli
