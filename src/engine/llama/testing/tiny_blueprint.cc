#include "engine/llama/testing/tiny_blueprint.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::llama::tiny {

void Blueprint::add_to_layer(std::size_t layer, const Shapes& shapes) {
  const std::string prefix = "blk." + std::to_string(layer) + ".";
  for (const Shape& shape : shapes) tensors.push_back({prefix + shape.name, shape.extents});
}

void Blueprint::add_where(std::string_view layers, std::string_view kinds, const Shapes& shapes) {
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    if (kinds.find(layers[layer]) != kinds.npos) add_to_layer(layer, shapes);
  }
}

void Blueprint::rename(std::string_view from, std::string_view to) {
  const auto found = std::ranges::find(tensors, from, &Shape::name);
  CHECK(found != tensors.end());
  found->name = to;
}

Array on_layers(std::string_view layers, char kind, std::uint32_t value) {
  Array result;
  for (char layer : layers) result.push_back(layer == kind ? value : 0);
  return result;
}

}  // namespace holdfast::llama::tiny
