#include "engine/llama/tiny_models.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/llama/tiny_recipes.h"
#include "engine/llama/tiny_tokenizer.h"
#include "engine/llama/tiny_weights.h"
#include "ggml-cpp.h"
#include "ggml.h"
#include "gguf.h"

namespace holdfast::llama_engine {
namespace {

using tiny::Blueprint;
using tiny::Recipe;
using tiny::Shape;

// ---- Metadata ----

void set_value(gguf_context* metadata, const std::string& key, std::uint32_t value) {
  gguf_set_val_u32(metadata, key.c_str(), value);
}
void set_value(gguf_context* metadata, const std::string& key, float value) {
  gguf_set_val_f32(metadata, key.c_str(), value);
}
void set_value(gguf_context* metadata, const std::string& key, const tiny::Array& value) {
  gguf_set_arr_data(metadata, key.c_str(), GGUF_TYPE_UINT32, value.data(), value.size());
}

gguf_context_ptr make_metadata(const Recipe& recipe, const tiny::Keys& keys) {
  gguf_context_ptr metadata(gguf_init_empty());
  gguf_set_val_str(metadata.get(), "general.architecture", recipe.arch);
  gguf_set_val_str(metadata.get(), "general.name", ("tiny " + std::string(recipe.name)).c_str());
  for (const tiny::Key& key : keys) {
    const std::string name = std::string(recipe.arch) + "." + key.name;
    std::visit([&](const auto& value) { set_value(metadata.get(), name, value); }, key.value);
  }
  tiny::set_tokenizer(metadata.get());
  return metadata;
}

// ---- Tensors ----

struct Made {
  ggml_context_ptr tensors;
  gguf_context_ptr file;  // refers to them
};

std::size_t elements(const Shape& shape) {
  std::size_t product = 1;
  for (std::int64_t extent : shape.extents) product *= static_cast<std::size_t>(extent);
  return product;
}

ggml_context_ptr make_context(const tiny::Shapes& shapes) {
  std::size_t bytes = 0;
  for (const Shape& shape : shapes) {
    bytes += ggml_tensor_overhead() + GGML_PAD(elements(shape) * sizeof(float), GGML_MEM_ALIGN);
  }
  return ggml_context_ptr(ggml_init({bytes, /*mem_buffer=*/nullptr, /*no_alloc=*/false}));
}

ggml_tensor* make_tensor(ggml_context* context, const Shape& shape,
                         const tiny::WeightRules& rules) {
  ggml_tensor* tensor = ggml_new_tensor(
      context, GGML_TYPE_F32, static_cast<int>(shape.extents.size()), shape.extents.data());
  ggml_set_name(tensor, shape.name.c_str());
  tiny::fill_weights({ggml_get_data_f32(tensor), elements(shape)}, shape.name, shape.extents[0],
                     rules);
  return tensor;
}

// ---- Models ----

const Recipe* find_recipe(std::string_view name) {
  const auto found = std::ranges::find(tiny::recipes(), name, &Recipe::name);
  return found == tiny::recipes().end() ? nullptr : &*found;
}

Result<const Recipe*> recipe_for(const TinySpec& spec) {
  const std::string arch(spec.arch);
  const Recipe* recipe = find_recipe(spec.arch);
  if (recipe == nullptr) return invalid_argument("arch", "no tiny model of " + arch);
  if (spec.mtp && !recipe->has_mtp) return invalid_argument("mtp", "no MTP block for " + arch);
  if (spec.width == 0 || spec.width % 128 != 0) {
    return invalid_argument("width", "not a multiple of 128");
  }
  return recipe;
}

Result<Made> make(const TinySpec& spec, std::uint64_t seed) {
  const Result<const Recipe*> recipe = recipe_for(spec);
  if (!recipe.ok()) return recipe.error();
  const Blueprint blueprint = tiny::blueprint_of(**recipe, spec.width, spec.mtp);
  Made made{make_context(blueprint.tensors), make_metadata(**recipe, blueprint.keys)};
  const tiny::WeightRules rules{seed, blueprint.scales_embeddings};
  for (const Shape& shape : blueprint.tensors) {
    gguf_add_tensor(made.file.get(), make_tensor(made.tensors.get(), shape, rules));
  }
  return made;
}

llama_model_params model_params(const TinySpec& spec) {
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 0;
  params.load_mtp = spec.mtp;
  params.progress_callback = [](float, void*) { return true; };  // instead of dots
  return params;
}

struct FileClose {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FilePtr = std::unique_ptr<std::FILE, FileClose>;

bool write_all(const Made& made, std::FILE* file) {
  return gguf_write_to_file_ptr(made.file.get(), file, /*only_meta=*/false) &&
         std::fflush(file) == 0;
}

}  // namespace

std::span<const std::string_view> tiny_architectures() {
  static const auto kNames = [] {
    std::vector<std::string_view> names;
    for (const Recipe& recipe : tiny::recipes()) names.push_back(recipe.name);
    return names;
  }();
  return kNames;
}

bool tiny_architecture_has_mtp(std::string_view arch) {
  const Recipe* recipe = find_recipe(arch);
  return recipe != nullptr && recipe->has_mtp;
}

// By way of a file without a name, which is gone when the model is: the library
// makes a model from a file in one way only, whoever built it.
Result<LlamaModelPtr> make_tiny_model(const TinySpec& spec, std::uint64_t seed) {
  const Result<Made> made = make(spec, seed);
  if (!made.ok()) return made.error();
  const FilePtr file(std::tmpfile());
  if (file == nullptr || !write_all(*made, file.get())) {
    return Error{ErrorCode::kIo, "cannot write a temporary file", ""};
  }
  std::rewind(file.get());
  LlamaModelPtr model(llama_model_load_from_file_ptr(file.get(), model_params(spec)));
  if (model == nullptr) {
    return Error{ErrorCode::kEngine, "llama.cpp refused tiny " + std::string(spec.arch), ""};
  }
  return model;
}

Result<void> write_tiny_model(const TinySpec& spec, std::uint64_t seed,
                              const std::filesystem::path& path) {
  const Result<Made> made = make(spec, seed);
  if (!made.ok()) return made.error();
  const FilePtr file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr || !write_all(*made, file.get())) {
    return Error{ErrorCode::kIo, "cannot write " + path.string(), ""};
  }
  return {};
}

}  // namespace holdfast::llama_engine
