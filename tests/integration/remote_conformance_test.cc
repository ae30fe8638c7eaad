#include <memory>
#include <string>
#include <utility>

#include "coordinator/dispatch/remote_parallelizer.h"
#include "tests/conformance/parallelizer_conformance.h"
#include "tests/testing/service/test_service.h"

// What is behind the network must behave as if it were not.
namespace tangram::testing {
namespace {

// A remote parallelizer with the service that it needs.
class ServedParallelizer : public Parallelizer {
 public:
  explicit ServedParallelizer(const std::string& name) {
    service_.AddWorker(name, /*num_threads=*/2);
    WorkerPool& pool = service_.server().pool();
    remote_ = CreateRemoteParallelizer(pool, *pool.FindAdapter(name, nullptr));
  }

  std::string name() const override { return remote_->name(); }
  std::string version() const override { return remote_->version(); }
  ParallelizerFeatures features() const override { return remote_->features(); }
  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) const override {
    return remote_->SliceModel(model);
  }
  absl::StatusOr<ModelSlice> Concatenate(
      const ModelSlice& head, const ModelSlice& tail) const override {
    return remote_->Concatenate(head, tail);
  }
  absl::StatusOr<PerformanceProfile> Profile(
      const ModelSlice& slice, const IslandSpec& island,
      const ProfileOptions& options) const override {
    return remote_->Profile(slice, island, options);
  }
  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    return remote_->Parallelize(slice, island, options);
  }

 private:
  TestService service_;
  std::unique_ptr<Parallelizer> remote_;
};

ConformanceSubject Served(const std::string& name) {
  return {.name = name, .create = [name] {
            return std::make_unique<ServedParallelizer>(name);
          }};
}

INSTANTIATE_TEST_SUITE_P(Remote, ParallelizerConformanceTest,
                         ::testing::Values(Served("aceso"), Served("mist"),
                                           Served("uniform")),
                         ConformanceName);

}  // namespace
}  // namespace tangram::testing
