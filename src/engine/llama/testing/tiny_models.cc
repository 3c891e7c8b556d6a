#include "engine/llama/testing/tiny_models.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "engine/llama/testing/tiny_file.h"
#include "engine/llama/testing/tiny_recipes.h"

namespace holdfast::llama {
namespace {

using tiny::Recipe;

struct FileClose {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FilePtr = std::unique_ptr<std::FILE, FileClose>;

Result<const Recipe*> recipe_for(const TinySpec& spec) {
  const std::string arch(spec.arch);
  const Recipe* recipe = tiny::find_recipe(spec.arch);
  if (recipe == nullptr) return invalid_argument("arch", "no tiny model of " + arch);
  if (spec.mtp && !recipe->has_mtp) return invalid_argument("mtp", "no MTP block for " + arch);
  if (spec.width == 0 || spec.width % 128 != 0) {
    return invalid_argument("width", "not a multiple of 128");
  }
  return recipe;
}

// `where` names the file in an Error. A null file is one that could not be opened.
Result<void> write(const TinySpec& spec, std::uint64_t seed, const FilePtr& file,
                   const std::string& where) {
  const Result<const Recipe*> recipe = recipe_for(spec);
  if (!recipe.ok()) return recipe.error();
  const tiny::Blueprint blueprint =
      tiny::blueprint_of(**recipe, tiny::tiny_sizes(spec.width), spec.mtp);
  const tiny::ModelFile model{.recipe = **recipe,
                              .blueprint = blueprint,
                              .name = "tiny " + std::string((*recipe)->name),
                              .seed = seed};
  if (file == nullptr || !tiny::write_model(model, file.get())) {
    return Error{ErrorCode::kIo, "cannot write " + where, ""};
  }
  return {};
}

llama_model_params model_params(const TinySpec& spec) {
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 0;
  params.load_mtp = spec.mtp;
  params.progress_callback = [](float, void*) { return true; };  // instead of dots
  return params;
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
  const Recipe* recipe = tiny::find_recipe(arch);
  return recipe != nullptr && recipe->has_mtp;
}

// By way of a file without a name, which is gone when the model is: the library
// makes a model from a file in one way only, whoever built it.
Result<LlamaModelPtr> make_tiny_model(const TinySpec& spec, std::uint64_t seed) {
  const FilePtr file(std::tmpfile());
  if (const auto written = write(spec, seed, file, "a temporary file"); !written.ok()) {
    return written.error();
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
  if (const auto recipe = recipe_for(spec); !recipe.ok()) return recipe.error();
  return write(spec, seed, FilePtr(std::fopen(path.c_str(), "wb")), path.string());
}

}  // namespace holdfast::llama
