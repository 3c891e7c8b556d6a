#include "cli/load_files.h"

namespace holdfast::cli {

LoadFiles::LoadFiles(const llama::LlamaConfig& config)
    : model_(cache::ModelFiles::open(config.model_path)) {
  if (!config.draft_model_path.empty())
    draft_.emplace(cache::ModelFiles::open(config.draft_model_path));
}

Result<ModelDigests> LoadFiles::digests() const {
  if (!model_) return model_.error();
  auto model = model_->digest();
  if (!model) return model.error();
  ModelDigests digests{std::move(*model), ""};
  if (!draft_) return digests;
  if (!*draft_) return draft_->error();
  auto draft = (*draft_)->digest();
  if (!draft) return draft.error();
  digests.draft = std::move(*draft);
  return digests;
}

llama::LlamaConfig LoadFiles::named_in(llama::LlamaConfig config) const {
  if (model_) config.model_names = model_->engine_names();
  if (draft_ && *draft_) config.draft_model_names = (*draft_)->engine_names();
  return config;
}

Result<void> LoadFiles::check_unchanged() const {
  if (model_) {
    if (auto same = model_->check_unchanged(); !same) return same;
  }
  if (draft_ && *draft_) return (*draft_)->check_unchanged();
  return {};
}

}  // namespace holdfast::cli
