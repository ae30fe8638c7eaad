#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_LAYERWISE_PARALLELIZER_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_LAYERWISE_PARALLELIZER_H_

#include <memory>
#include <string>

#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram {

// A parallelizer whose atoms are layers, as its search and its bounds.
struct LayerwiseSearch {
  std::string name;
  std::string version;
  ParallelizerFeatures features;
  ExtraDegrees degrees;  // Degrees that the search sets besides tp, dp and pp.
  // Returns lower bounds on every plan that `search` may find.
  PerformanceProfile (*bounds)(const ModelSlice& slice,
                               const IslandSpec& island,
                               const ProfileOptions& options) = nullptr;
  // Answers a query that a ValidatingParallelizer has accepted. May return
  // plans outside the island's limits, which are dropped.
  SlicePlanSet (*search)(const ModelSlice& slice, const IslandSpec& island,
                         const ParallelizeOptions& options) = nullptr;
};

// Creates a parallelizer whose atoms are layers. If the island's limits leave
// no stage, it answers without searching. Relies on arguments that a
// ValidatingParallelizer has accepted.
std::unique_ptr<Parallelizer> CreateLayerwiseParallelizer(
    LayerwiseSearch search);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_LAYERWISE_PARALLELIZER_H_
