// LoadFiles: the files of the model and of its draft model, held open while both are loaded
// (cache/model_files.h), so that states are filed under what really computed them.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cache/model_files.h"
#include "engine/llama/llama_config.h"

namespace holdfast::cli {

struct ModelDigests {
  std::string model;
  std::string draft;  // empty: there is no draft model
};

class LoadFiles {
 public:
  // A file that cannot be opened is left to the engine, whose refusal says more.
  explicit LoadFiles(const llama::LlamaConfig& config);

  // Of what the engine is given. An Error says which file cannot be read.
  [[nodiscard]] Result<ModelDigests> digests() const;
  // The configuration, with the open files for the engine to load.
  [[nodiscard]] llama::LlamaConfig named_in(llama::LlamaConfig config) const;
  // After loading: an Error if what was loaded may not be what was digested.
  [[nodiscard]] Result<void> check_unchanged() const;

 private:
  Result<cache::ModelFiles> model_;
  std::optional<Result<cache::ModelFiles>> draft_;
};

}  // namespace holdfast::cli
