#include "formats/catalogue/assemble_model.h"

#include <utility>

#include "common/base/check.h"

namespace tangram {

ModelSpec AssembleModel(std::string name, const Vocabulary& vocabulary,
                        absl::Span<const LayerSpec> transformer_layers) {
  TANGRAM_CHECK(!transformer_layers.empty());
  const LayerSpec& layer = transformer_layers.front();
  ModelSpec model{.name = std::move(name)};
  model.layers.reserve(transformer_layers.size() + 2);
  model.layers.push_back(
      {.kind = LayerKind::kEmbedding,
       .hidden_size = layer.hidden_size,
       .vocab_size = vocabulary.size,
       .max_position_embeddings = vocabulary.max_position_embeddings,
       .tied_embeddings = vocabulary.tied});
  model.layers.insert(model.layers.end(), transformer_layers.begin(),
                      transformer_layers.end());
  model.layers.push_back({.kind = LayerKind::kHead,
                          .hidden_size = layer.hidden_size,
                          .vocab_size = vocabulary.size,
                          .tied_embeddings = vocabulary.tied,
                          .norm_bias = layer.norm_bias});
  return model;
}

}  // namespace tangram
