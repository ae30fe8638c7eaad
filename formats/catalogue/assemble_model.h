#ifndef TANGRAM_FORMATS_CATALOGUE_ASSEMBLE_MODEL_H_
#define TANGRAM_FORMATS_CATALOGUE_ASSEMBLE_MODEL_H_

#include <string>

#include "absl/types/span.h"
#include "common/domain/model_spec.h"

namespace tangram {

struct Vocabulary {
  int size = 0;
  int max_position_embeddings = 0;  // Learned positions; 0: rotary or none.
  bool tied = false;                // The head uses the embedding's weights.
};

// A model of at least one transformer layer between the embedding and the head
// that go with it: the same width, the same kind of norm.
ModelSpec AssembleModel(std::string name, const Vocabulary& vocabulary,
                        absl::Span<const LayerSpec> transformer_layers);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CATALOGUE_ASSEMBLE_MODEL_H_
