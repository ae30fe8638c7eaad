#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_SPLIT_LAYERS_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_SPLIT_LAYERS_H_

#include <vector>

#include "absl/types/span.h"

namespace tangram {

// Divides layers over `num_stages` stages, none empty, so that the slowest
// stage is as fast as possible. Returns the end of each stage. Equal layers
// that divide evenly are divided evenly. A remainder goes to the last stages,
// which hold the fewest microbatches. Deviates from Galvatron-uniform, which
// skips depths that do not divide the layers and gives the embedding and head
// no weight.
std::vector<int> SplitLayers(absl::Span<const double> layer_seconds,
                             int num_stages);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_SPLIT_LAYERS_H_
