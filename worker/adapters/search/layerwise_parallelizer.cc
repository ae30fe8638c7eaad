#include "worker/adapters/search/layerwise_parallelizer.h"

#include <utility>

#include "common/parallelizer/keep_within.h"
#include "worker/adapters/search/slice_layers.h"

namespace tangram {
namespace {

class LayerwiseParallelizer : public Parallelizer {
 public:
  explicit LayerwiseParallelizer(LayerwiseSearch search)
      : search_(std::move(search)) {}

  std::string name() const override { return search_.name; }
  std::string version() const override { return search_.version; }
  ParallelizerFeatures features() const override { return search_.features; }

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) const override {
    return SliceByLayer(model);
  }

  absl::StatusOr<ModelSlice> Concatenate(
      const ModelSlice& head, const ModelSlice& tail) const override {
    return JoinSlices(head, tail);
  }

  absl::StatusOr<PerformanceProfile> Profile(
      const ModelSlice& slice, const IslandSpec& island,
      const ProfileOptions& options) const override {
    return search_.bounds(slice, island, options);
  }

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    if (!island.limits.none()) {
      const SplitLimits limits(SliceLayers(slice).kinds(),
                               options.pipeline_microbatch_size,
                               options.training);
      if (StageSizes(island, limits, search_.degrees).empty()) {
        return SlicePlanSet{
            .infeasible = Infeasible{.reason = kNoStageWithinLimits},
            .covers_trailing_stages = kUnlimitedTrailingStages};
      }
    }
    SlicePlanSet answer = search_.search(slice, island, options);
    SettleWithin(island.limits, slice, options.trailing_stages, answer);
    return answer;
  }

 private:
  const LayerwiseSearch search_;
};

}  // namespace

std::unique_ptr<Parallelizer> CreateLayerwiseParallelizer(
    LayerwiseSearch search) {
  return std::make_unique<LayerwiseParallelizer>(std::move(search));
}

}  // namespace tangram
