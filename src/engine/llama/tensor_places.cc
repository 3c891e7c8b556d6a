#include "engine/llama/tensor_places.h"

#include <common.h>
#include <ggml-backend.h>

#include <regex>
#include <utility>

namespace holdfast::llama {
namespace {

std::vector<ggml_backend_buffer_type_t> buffer_types() {
  std::vector<ggml_backend_buffer_type_t> types;
  for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    auto* const type = ggml_backend_dev_buffer_type(ggml_backend_dev_get(i));
    if (type != nullptr) types.push_back(type);
  }
  return types;
}

bool is_pattern(const std::string& text) {
  try {
    const std::regex parsed(text);
    return true;
  } catch (const std::regex_error&) {
    return false;
  }
}

}  // namespace

Result<TensorPlaces> TensorPlaces::of(const LlamaConfig& config) {
  TensorPlaces places;
  for (const std::string& place : config.tensor_places) {
    if (auto added = places.add_place(place); !added) return added.error();
  }
  places.keep_experts(config.cpu_expert_layers);
  for (const std::string& value : config.metadata_overrides) {
    if (auto added = places.add_metadata(value); !added) return added.error();
  }
  places.overrides_.push_back({nullptr, nullptr});
  places.metadata_.emplace_back();
  places.metadata_.back().key[0] = 0;
  return places;
}

Result<void> TensorPlaces::add_place(const std::string& place) {
  const std::size_t equals = place.rfind('=');
  const std::string pattern = place.substr(0, std::min(equals, place.size()));
  if (equals == std::string::npos || pattern.empty() || !is_pattern(pattern)) {
    return invalid_argument("--override-tensor",
                            "--override-tensor takes PATTERN=BUFFER, such as "
                            "'exps=CPU'; '" +
                                place + "' is not that.");
  }
  const std::string name = place.substr(equals + 1);
  std::string known;
  for (auto* const type : buffer_types()) {
    if (name == ggml_backend_buft_name(type)) {
      add(pattern, type);
      return {};
    }
    (known += known.empty() ? "" : ", ") += ggml_backend_buft_name(type);
  }
  return invalid_argument("--override-tensor", "--override-tensor: there is no buffer '" + name +
                                                   "' here; there is " + known + ".");
}

void TensorPlaces::keep_experts(int layers) {
  if (layers < 0) return add(LLM_FFN_EXPS_REGEX, ggml_backend_cpu_buffer_type());
  for (int i = 0; i < layers; ++i) {
    add(llm_ffn_block_regex(i, LLM_FFN_EXPS_REGEX), ggml_backend_cpu_buffer_type());
  }
}

void TensorPlaces::add(std::string pattern, ggml_backend_buffer_type_t buffer) {
  patterns_.push_back(std::move(pattern));
  overrides_.push_back({patterns_.back().c_str(), buffer});
}

Result<void> TensorPlaces::add_metadata(const std::string& value) {
  if (string_parse_kv_override(value.c_str(), metadata_)) return {};
  return invalid_argument("--override-kv",
                          "--override-kv takes KEY=TYPE:VALUE with one of the "
                          "types int, float, bool, str; '" +
                              value + "' is not that.");
}

}  // namespace holdfast::llama
