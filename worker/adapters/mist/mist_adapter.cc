#include "worker/adapters/mist/mist_adapter.h"

#include "worker/adapters/mist/mist_search.h"
#include "worker/adapters/search/lower_bounds.h"

namespace tangram {
namespace {

// Relies on arguments that a ValidatingParallelizer has let through.
class MistParallelizer : public Parallelizer {
 public:
  std::string name() const override { return "mist"; }
  std::string version() const override { return "1"; }
  ParallelizerFeatures features() const override {
    return {.data_parallel = true,
            .pipeline_parallel = true,
            .tensor_parallel = true,
            .gradient_accumulation = true,
            .recompute = true,
            .offload = true,
            .zero = true,
            .moe_models = true};
  }

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
    PerformanceProfile profile =
        LayerwiseLowerBounds(slice, island, options, {});
    // All that a layer keeps may be on the host.
    if (island.device.host.bandwidth_bytes_per_s > 0) {
      profile.min_total_bytes = slice.num_layers();
    }
    return profile;
  }

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    return mist::SearchMist(slice, island, options);
  }
};

}  // namespace

std::unique_ptr<Parallelizer> CreateMistParallelizer() {
  return std::make_unique<MistParallelizer>();
}

}  // namespace tangram
