#include "engine/llama/testing/tiny_file.h"

#include <array>
#include <cstring>
#include <variant>
#include <vector>

#include "base/check.h"
#include "engine/llama/testing/tiny_tokenizer.h"
#include "engine/llama/testing/tiny_weights.h"
#include "ggml-cpp.h"
#include "gguf.h"

namespace holdfast::llama::tiny {
namespace {

// ---- Metadata ----

void set_value(gguf_context* metadata, const std::string& key, std::uint32_t value) {
  gguf_set_val_u32(metadata, key.c_str(), value);
}
void set_value(gguf_context* metadata, const std::string& key, float value) {
  gguf_set_val_f32(metadata, key.c_str(), value);
}
void set_value(gguf_context* metadata, const std::string& key, const Array& value) {
  gguf_set_arr_data(metadata, key.c_str(), GGUF_TYPE_UINT32, value.data(), value.size());
}

gguf_context_ptr make_metadata(const ModelFile& model) {
  gguf_context_ptr metadata(gguf_init_empty());
  gguf_set_val_str(metadata.get(), "general.architecture", model.recipe.arch);
  gguf_set_val_str(metadata.get(), "general.name", model.name.c_str());
  for (const Key& key : model.blueprint.keys) {
    const bool of_tokenizer = key.name.starts_with("tokenizer.");
    const std::string name =
        of_tokenizer ? key.name : std::string(model.recipe.arch) + "." + key.name;
    std::visit([&](const auto& value) { set_value(metadata.get(), name, value); }, key.value);
  }
  set_tokenizer(metadata.get(), model.blueprint.sizes.vocabulary);
  return metadata;
}

// ---- Tensors ----

std::size_t elements(const Shape& shape) {
  std::size_t product = 1;
  for (std::int64_t extent : shape.extents) product *= static_cast<std::size_t>(extent);
  return product;
}

// What llama.cpp's own quantiser leaves alone, it wants in F32.
ggml_type type_of(const Shape& shape, ggml_type wanted) {
  const bool matrix = shape.extents.size() > 1 && shape.extents[0] % ggml_blck_size(wanted) == 0 &&
                      shape.name.ends_with(".weight");
  const bool small = shape.name.find("norm") != shape.name.npos ||
                     shape.name.find("conv") != shape.name.npos ||
                     shape.name.find("ffn_gate_inp") != shape.name.npos;
  return matrix && !small ? wanted : GGML_TYPE_F32;
}

std::size_t bytes_of(const Shape& shape, ggml_type type) {
  const std::size_t rows = elements(shape) / static_cast<std::size_t>(shape.extents[0]);
  return rows * ggml_row_size(type, shape.extents[0]);
}

// The tensors without their data: the file's table needs no more.
ggml_context_ptr add_table(gguf_context* metadata, const ModelFile& model) {
  const Shapes& shapes = model.blueprint.tensors;
  ggml_context_ptr context(ggml_init({shapes.size() * ggml_tensor_overhead(), nullptr, true}));
  for (const Shape& shape : shapes) {
    ggml_tensor* tensor =
        ggml_new_tensor(context.get(), type_of(shape, model.type),
                        static_cast<int>(shape.extents.size()), shape.extents.data());
    ggml_set_name(tensor, shape.name.c_str());
    gguf_add_tensor(metadata, tensor);
  }
  return context;
}

std::vector<std::byte> data_of(const Shape& shape, const ModelFile& model) {
  std::vector<float> weights(elements(shape));
  fill_weights(weights, shape.name, shape.extents[0],
               {model.seed, model.blueprint.scales_embeddings});
  const ggml_type type = type_of(shape, model.type);
  std::vector<std::byte> data(bytes_of(shape, type));
  if (type == GGML_TYPE_F32) {
    std::memcpy(data.data(), weights.data(), data.size());
    return data;
  }
  const std::int64_t rows = static_cast<std::int64_t>(weights.size()) / shape.extents[0];
  const std::size_t written = ggml_quantize_chunk(type, weights.data(), data.data(), 0, rows,
                                                  shape.extents[0], /*imatrix=*/nullptr);
  CHECK(written == data.size());
  return data;
}

bool write_padded(const std::vector<std::byte>& data, std::FILE* file) {
  constexpr std::array<std::byte, GGUF_DEFAULT_ALIGNMENT> kZeros{};
  const std::size_t padding = GGML_PAD(data.size(), GGUF_DEFAULT_ALIGNMENT) - data.size();
  return std::fwrite(data.data(), 1, data.size(), file) == data.size() &&
         std::fwrite(kZeros.data(), 1, padding, file) == padding;
}

}  // namespace

std::size_t tensor_bytes(const Blueprint& blueprint, ggml_type type) {
  std::size_t sum = 0;
  for (const Shape& shape : blueprint.tensors) sum += bytes_of(shape, type_of(shape, type));
  return sum;
}

bool write_model(const ModelFile& model, std::FILE* file) {
  const gguf_context_ptr metadata = make_metadata(model);
  const ggml_context_ptr table = add_table(metadata.get(), model);
  if (!gguf_write_to_file_ptr(metadata.get(), file, /*only_meta=*/true)) return false;
  const std::size_t all = tensor_bytes(model.blueprint, model.type);
  std::size_t done = 0;
  for (const Shape& shape : model.blueprint.tensors) {
    const std::vector<std::byte> data = data_of(shape, model);
    if (!write_padded(data, file)) return false;
    done += data.size();
    if (model.progress) model.progress(done, all);
  }
  return std::fflush(file) == 0;
}

}  // namespace holdfast::llama::tiny
