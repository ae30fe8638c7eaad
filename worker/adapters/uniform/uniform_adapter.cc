#include "worker/adapters/uniform/uniform_adapter.h"

#include "worker/adapters/search/lower_bounds.h"
#include "worker/adapters/uniform/uniform_search.h"

namespace tangram {
namespace {

// Relies on arguments that a ValidatingParallelizer has let through.
class UniformParallelizer : public Parallelizer {
 public:
  std::string name() const override { return "uniform"; }
  std::string version() const override { return "1"; }
  ParallelizerFeatures features() const override {
    return {.data_parallel = true,
            .pipeline_parallel = true,
            .tensor_parallel = true,
            .expert_parallel = true,
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
    return LayerwiseLowerBounds(slice, island, options, kUniformDegrees);
  }

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    return SearchUniform(slice, island, options);
  }
};

}  // namespace

std::unique_ptr<Parallelizer> CreateUniformParallelizer() {
  return std::make_unique<UniformParallelizer>();
}

}  // namespace tangram
