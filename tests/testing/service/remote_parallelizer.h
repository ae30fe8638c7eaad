#ifndef TANGRAM_TESTS_TESTING_SERVICE_REMOTE_PARALLELIZER_H_
#define TANGRAM_TESTS_TESTING_SERVICE_REMOTE_PARALLELIZER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/parallelizer/parallelizer.h"
#include "coordinator/dispatch/remote_slice_plan_source.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram::testing {

// An adapter of the pool's workers as a Parallelizer, so that the suite of
// parallelizers runs on the source that planning uses. Each call is one query.
class RemoteParallelizer : public Parallelizer {
 public:
  // `pool` must outlive the result.
  RemoteParallelizer(WorkerPool& pool, AdapterInfo adapter)
      : pool_(pool), adapter_(std::move(adapter)) {}

  std::string name() const override { return adapter_.id.name; }
  std::string version() const override { return adapter_.id.version; }
  ParallelizerFeatures features() const override { return adapter_.features; }

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) const override {
    return Source()->SliceModel(model);
  }

  absl::StatusOr<ModelSlice> Concatenate(
      const ModelSlice& head, const ModelSlice& tail) const override {
    const ConcatenateQuery query{head, tail};
    TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> joined,
                             Source()->Concatenate({&query, 1}));
    return std::move(joined.front());
  }

  absl::StatusOr<PerformanceProfile> Profile(
      const ModelSlice& slice, const IslandSpec& island,
      const ProfileOptions& options) const override {
    const ProfileQuery query{.pipeline_microbatch_size =
                                 options.pipeline_microbatch_size};
    TANGRAM_ASSIGN_OR_RETURN(
        const std::vector<PerformanceProfile> profiles,
        Source()->Profile(ContextOf(slice, island, options.training),
                          {&query, 1}));
    return profiles.front();
  }

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    const PairQuery query{
        .pipeline_microbatch_size = options.pipeline_microbatch_size,
        .trailing_stages = options.trailing_stages,
        .max_search_steps = options.max_search_steps};
    absl::StatusOr<std::vector<SlicePlanSet>> answers =
        CreateRemoteSlicePlanSource(pool_, adapter_.id, options.should_stop)
            ->Parallelize(ContextOf(slice, island, options.training),
                          {&query, 1}, nullptr);
    if (absl::IsCancelled(answers.status())) {
      return SlicePlanSet{
          .infeasible = Infeasible{.reason = "stopped before the answer"},
          .truncated = true};
    }
    TANGRAM_RETURN_IF_ERROR(answers.status());
    return std::move(answers->front());
  }

 private:
  static PairContext ContextOf(const ModelSlice& slice,
                               const IslandSpec& island,
                               const TrainingOptions& training) {
    return {.training = training, .slices = {slice}, .islands = {island}};
  }

  std::unique_ptr<SlicePlanSource> Source() const {
    return CreateRemoteSlicePlanSource(pool_, adapter_.id);
  }

  WorkerPool& pool_;
  const AdapterInfo adapter_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_SERVICE_REMOTE_PARALLELIZER_H_
