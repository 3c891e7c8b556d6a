#include "engine/llama/llama_companions.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/draft_model.h"
#include "engine/llama/llama_mtp.h"
#include "engine/ngram.h"

namespace holdfast::llama {

namespace {

constexpr TokenPos kDraftTokens = 3;  // as many as llama-server drafts
constexpr TokenPos kNgramTokens = 8;  // looking costs nothing, and repetitions are long

// Rollback planes of recurrent models take at most this fraction of the free memory.
constexpr ByteCount kRollbackShare = 8;

Result<void> add_mtp(LoadedModel& loaded, std::shared_ptr<llama_model> model, LlamaEngine& primary,
                     const LlamaConfig& config) {
  auto mtp = LlamaMtp::create(std::move(model), primary, config);
  if (!mtp) return mtp.error();
  loaded.companion = std::move(*mtp);
  return {};
}

// Drafts are exchanged as token ids, so the same id has to be the same token.
bool same_vocabulary(const llama_model& a, const llama_model& b) {
  constexpr int kUnusedAtTheEnd = 128;  // models of a family are padded differently
  const llama_vocab* first = llama_model_get_vocab(&a);
  const llama_vocab* second = llama_model_get_vocab(&b);
  const int tokens_a = llama_vocab_n_tokens(first);
  const int tokens_b = llama_vocab_n_tokens(second);
  if (llama_vocab_type(first) != llama_vocab_type(second)) return false;
  if (std::abs(tokens_a - tokens_b) > kUnusedAtTheEnd) return false;
  for (int i = 0; i < std::min(tokens_a, tokens_b); ++i) {
    if (std::strcmp(llama_vocab_get_text(first, i), llama_vocab_get_text(second, i)) != 0) {
      return false;
    }
  }
  return true;
}

LlamaConfig draft_config(const LlamaConfig& primary, TokenPos context) {
  LlamaConfig draft = primary;
  draft.model_path = primary.draft_model_path;
  draft.model_names = primary.draft_model_names;
  draft.draft_model_path.clear();
  draft.draft_model_names.clear();
  draft.draft_source = DraftSource::kOff;
  draft.context_tokens = context;
  draft.gpu_layers = primary.draft_gpu_layers;
  draft.mtp = false;
  draft.chat_template.clear();
  return draft;
}

Result<void> add_draft_model(LoadedModel& loaded, const llama_model& model, LlamaEngine& primary,
                             const LlamaConfig& config) {
  const LlamaConfig settings = draft_config(config, primary.context_tokens());
  auto small = load_llama_file(settings, nullptr);
  if (!small) {
    return Error{small.error().code, "The draft model: " + small.error().message, "--draft-model"};
  }
  if (!same_vocabulary(model, **small)) {
    return invalid_argument("--draft-model",
                            "The draft model has another vocabulary than the model, so its tokens"
                            " mean something else. Use one of the same family.");
  }
  auto shape = LlamaEngine::measure_shape(small->get(), settings);
  if (!shape) return shape.error();
  auto engine = LlamaEngine::create(*small, settings, std::move(*shape));
  if (!engine) return engine.error();
  loaded.companion = std::make_unique<engine::DraftModel>(**engine);
  loaded.draft_engine = std::move(*engine);
  return {};
}

}  // namespace

Result<DraftSource> companion_for(const LlamaConfig& config, const llama_model* model) {
  const bool has_head = llama_model_n_layer_nextn(model) > 0;
  switch (config.draft_source) {
    case DraftSource::kAuto:
      if (!config.draft_model_path.empty()) return DraftSource::kDraft;
      return has_head ? DraftSource::kMtp : DraftSource::kOff;
    case DraftSource::kMtp:
      if (has_head) return DraftSource::kMtp;
      return invalid_argument("--spec",
                              "--spec mtp needs a model file with a multi-token head, and this one"
                              " has none. --spec auto uses one where there is one.");
    case DraftSource::kDraft:
      if (!config.draft_model_path.empty()) return DraftSource::kDraft;
      return invalid_argument(
          "--draft-model", "--spec draft needs a draft model: name its file with --draft-model.");
    case DraftSource::kNgram:
    case DraftSource::kOff: break;
  }
  return config.draft_source;
}

LlamaConfig with_companion(LlamaConfig config, DraftSource source, const StateShape& shape,
                           ByteCount free) {
  config.mtp = source == DraftSource::kMtp;
  if (source == DraftSource::kOff) {
    config.draft_tokens_max = 0;
    return config;
  }
  if (config.draft_tokens_max <= 0) {
    config.draft_tokens_max = source == DraftSource::kNgram ? kNgramTokens : kDraftTokens;
  }
  // The library ends the process if a batch has more tokens than all contexts together.
  if (config.context_tokens > 1) {
    config.draft_tokens_max = std::min(config.draft_tokens_max, config.context_tokens - 1);
  }
  if (config.rollback_depth > 0) return config;
  const ByteCount plane = shape.bytes_per_snapshot() * static_cast<ByteCount>(config.slots);
  const ByteCount affordable = plane == 0 ? 0 : free / kRollbackShare / plane;
  // The library keeps the last tokens of a batch in one ubatch, which has to be longer than these.
  const auto wanted = static_cast<ByteCount>(std::min(config.draft_tokens_max, config.ubatch - 2));
  config.rollback_depth = static_cast<TokenPos>(std::min(affordable, wanted));
  return config;
}

Result<void> add_companion(LoadedModel& loaded, DraftSource source,
                           std::shared_ptr<llama_model> model, LlamaEngine& primary,
                           const LlamaConfig& config) {
  Result<void> added;
  switch (source) {
    case DraftSource::kMtp: added = add_mtp(loaded, std::move(model), primary, config); break;
    case DraftSource::kDraft: added = add_draft_model(loaded, *model, primary, config); break;
    case DraftSource::kNgram:
      loaded.companion = std::make_unique<engine::NgramCompanion>(primary.slot_count());
      break;
    case DraftSource::kAuto:
    case DraftSource::kOff: break;
  }
  if (added) return {};
  // If a companion was asked for by name and the model can never have it, loading fails. If only
  // memory is missing, the model runs without.
  const bool by_name = config.draft_source != DraftSource::kAuto || source == DraftSource::kDraft;
  if (by_name && added.error().code != ErrorCode::kEngine) return added;
  loaded.companion_note = added.error().message + " Running without drafts.";
  return {};
}

}  // namespace holdfast::llama
