#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_LAYERWISE_PARALLELIZER_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_LAYERWISE_PARALLELIZER_H_

#include <memory>
#include <string>

#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram {

// A parallelizer of layers by its search and the bounds on what that finds.
struct LayerwiseSearch {
  std::string name;
  std::string version;
  ParallelizerFeatures features;
  ExtraDegrees degrees;
  PerformanceProfile (*bounds)(const ModelSlice& slice,
                               const IslandSpec& island,
                               const ProfileOptions& options) = nullptr;
  SlicePlanSet (*search)(const ModelSlice& slice, const IslandSpec& island,
                         const ParallelizeOptions& options) = nullptr;
};

// Its atoms are layers. Where the island's limits leave no stage, nothing is
// searched. Relies on arguments that a ValidatingParallelizer has
// let through.
std::unique_ptr<Parallelizer> CreateLayerwiseParallelizer(
    LayerwiseSearch search);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_LAYERWISE_PARALLELIZER_H_
