#include "worker/adapters/galvatron/galvatron_adapter.h"

#include "worker/adapters/galvatron/galvatron_search.h"
#include "worker/adapters/galvatron/galvatron_stages.h"
#include "worker/adapters/search/lower_bounds.h"

namespace tangram {
namespace {

// Relies on arguments that a ValidatingParallelizer has let through.
class GalvatronParallelizer : public Parallelizer {
 public:
  std::string name() const override { return "galvatron"; }
  std::string version() const override { return "1"; }
  ParallelizerFeatures features() const override {
    return {.data_parallel = true,
            .pipeline_parallel = true,
            .tensor_parallel = true,
            .context_parallel = true,
            .gradient_accumulation = true,
            .recompute = true,
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
    return LayerwiseLowerBounds(slice, island, options,
                                galvatron::kGalvatronDegrees);
  }

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    return galvatron::SearchGalvatron(slice, island, options);
  }
};

}  // namespace

std::unique_ptr<Parallelizer> CreateGalvatronParallelizer() {
  return std::make_unique<GalvatronParallelizer>();
}

}  // namespace tangram
