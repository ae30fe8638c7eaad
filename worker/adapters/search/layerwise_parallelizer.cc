#include "worker/adapters/search/layerwise_parallelizer.h"

#include <utility>

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
    return search_.search(slice, island, options);
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
