// TensorPlaces: which tensors of a model do not lie where its layer lies, and which metadata of its
// file are overridden, in the shapes that the library takes.
//
// A mixture of experts that does not fit a card runs well with its experts on the processor: they
// are most of the weights and little of the work.
//
// Invariants, verified by tensor_places_test.cc:
//   PLACES-1  both lists end with the empty entry that the library looks for
#pragma once

#include <llama.h>

#include <list>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/llama/llama_config.h"

namespace holdfast::llama {

class TensorPlaces {
 public:
  // An Error names the option, what is wrong with it and what there is.
  [[nodiscard]] static Result<TensorPlaces> of(const LlamaConfig& config);

  // Null where there is none. Valid as long as this is.
  [[nodiscard]] const llama_model_tensor_buft_override* overrides() const {
    return overrides_.size() > 1 ? overrides_.data() : nullptr;
  }
  [[nodiscard]] const llama_model_kv_override* metadata() const {
    return metadata_.size() > 1 ? metadata_.data() : nullptr;
  }

 private:
  [[nodiscard]] Result<void> add_place(const std::string& place);
  void keep_experts(int layers);
  void add(std::string pattern, ggml_backend_buffer_type_t buffer);
  [[nodiscard]] Result<void> add_metadata(const std::string& value);

  std::list<std::string> patterns_;  // the library keeps pointers to them
  std::vector<llama_model_tensor_buft_override> overrides_;
  std::vector<llama_model_kv_override> metadata_;
};

}  // namespace holdfast::llama
