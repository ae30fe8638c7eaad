#ifndef TANGRAM_FORMATS_CATALOGUE_ASSEMBLE_MODEL_H_
#define TANGRAM_FORMATS_CATALOGUE_ASSEMBLE_MODEL_H_

#include <string>

#include "absl/types/span.h"
#include "common/domain/model_spec.h"

namespace tangram {

struct Vocabulary {
  // The embedding and head of a model.
  int size = 0;                     // Tokens.
  int max_position_embeddings = 0;  // Learned positions; 0: rotary or none.
  bool tied = false;                // The head uses the embedding's weights.
};

// Returns a model: an embedding, the given transformer layers (at least one),
// and a head. Embedding and head have the width of the first transformer layer,
// and the head has its kind of norm.
ModelSpec AssembleModel(std::string name, const Vocabulary& vocabulary,
                        absl::Span<const LayerSpec> transformer_layers);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CATALOGUE_ASSEMBLE_MODEL_H_
