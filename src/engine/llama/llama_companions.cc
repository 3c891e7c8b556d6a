#include "engine/llama/llama_companions.h"

#include <algorithm>

#include "engine/llama/llama_mtp.h"
#include "engine/ngram.h"

namespace holdfast {

namespace {

constexpr TokenPos kDraftTokens = 3;  // as llama-server's
constexpr TokenPos kNgramTokens = 8;  // a look costs nothing, and repetitions are long

// States that recurrent models keep to go back to, at most: a share of what is free.
constexpr ByteCount kRollbackShare = 8;

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
                           ByteCount free_bytes) {
  config.mtp = source == DraftSource::kMtp;
  if (source == DraftSource::kOff) {
    config.draft_tokens_max = 0;
    return config;
  }
  if (config.draft_tokens_max <= 0) {
    config.draft_tokens_max = source == DraftSource::kNgram ? kNgramTokens : kDraftTokens;
  }
  const ByteCount plane = shape.bytes_per_snapshot() * static_cast<ByteCount>(config.slots);
  const ByteCount affordable = plane == 0 ? 0 : free_bytes / kRollbackShare / plane;
  config.rollback_depth =
      static_cast<TokenPos>(std::min(affordable, static_cast<ByteCount>(config.draft_tokens_max)));
  return config;
}

Result<void> add_companion(LoadedModel& loaded, DraftSource source,
                           std::shared_ptr<llama_model> model, LlamaEngine& primary,
                           const LlamaConfig& config) {
  if (source == DraftSource::kNgram) {
    loaded.companion = std::make_unique<NgramCompanion>(primary.slot_count());
  }
  if (source == DraftSource::kMtp) {
    auto mtp = LlamaMtp::create(std::move(model), primary, config);
    if (mtp) {
      loaded.companion = std::move(*mtp);
    } else if (config.draft_source == DraftSource::kMtp &&
               mtp.error().code == ErrorCode::kUnsupported) {
      return mtp.error();
    } else {
      loaded.companion_note = mtp.error().message + " Running without drafts.";
    }
  }
  return {};
}

}  // namespace holdfast
