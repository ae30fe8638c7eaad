#include "worker/adapters/process/process_parallelizer.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/check_answers.h"
#include "common/wire/model_wire.h"
#include "common/wire/parallelizer_wire.h"
#include "common/wire/slice_plan_wire.h"
#include "tangram/v1/parallelizer_service.pb.h"
#include "worker/adapters/process/adapter_pool.h"
#include "worker/adapters/process/estimate_plans.h"
#include "worker/adapters/process/estimates.h"
#include "worker/adapters/search/lower_bounds.h"

namespace tangram {
namespace {

v1::PairContext ContextOf(const ModelSlice& slice, const IslandSpec& island,
                          const TrainingOptions& training) {
  return ToProto(PairContext{
      .training = training, .slices = {slice}, .islands = {island}});
}

bool IsMoe(const ModelSlice& slice) {
  return absl::c_any_of(slice.runs,
                        [](const LayerRun& run) { return run.layer.is_moe(); });
}

IslandSpec WithoutLimits(IslandSpec island) {
  island.limits = {};
  return island;
}

class ProcessParallelizer : public Parallelizer {
 public:
  explicit ProcessParallelizer(std::unique_ptr<AdapterPool> pool)
      : pool_(std::move(pool)) {}

  std::string name() const override { return pool_->info().id.name; }
  std::string version() const override { return pool_->info().id.version; }
  ParallelizerFeatures features() const override {
    return pool_->info().features;
  }

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) const override {
    if (model.has_experts()) TANGRAM_RETURN_IF_ERROR(CheckMoe());
    return AskForSlices(ToProto(model));
  }

  absl::StatusOr<ModelSlice> Concatenate(
      const ModelSlice& head, const ModelSlice& tail) const override {
    TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> slices,
                             AskForSlices(ToProto({head, tail})));
    if (slices.size() == 1) return std::move(slices.front());
    return Blame(absl::InternalError(
        absl::StrCat("slices: ", slices.size(), "; expected 1")));
  }

  absl::StatusOr<PerformanceProfile> Profile(
      const ModelSlice& slice, const IslandSpec& island,
      const ProfileOptions& options) const override {
    if (IsMoe(slice)) TANGRAM_RETURN_IF_ERROR(CheckMoe());
    v1::ProfileRequest request;
    *request.mutable_context() = ContextOf(slice, island, options.training);
    *request.mutable_query() = ToProto(ProfileQuery{
        .pipeline_microbatch_size = options.pipeline_microbatch_size});
    *request.mutable_estimates() =
        EstimatesFor(slice, WithoutLimits(island), options);
    *request.mutable_bound() = ToProto(BoundFor(slice, island, options));
    v1::PerformanceProfile answer;
    TANGRAM_RETURN_IF_ERROR(pool_->Ask(
        [&](AdapterProcess& process) { return process.Call(request, answer); },
        nullptr));
    return Blame(FromProto(answer));
  }

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    if (IsMoe(slice)) TANGRAM_RETURN_IF_ERROR(CheckMoe());
    v1::ParallelizeRequest request;
    *request.mutable_context() = ContextOf(slice, island, options.training);
    *request.mutable_query() = ToProto(
        PairQuery{.pipeline_microbatch_size = options.pipeline_microbatch_size,
                  .trailing_stages = options.trailing_stages,
                  .max_search_steps = options.max_search_steps,
                  .limit_s = options.limit_s});
    *request.mutable_estimates() = EstimatesFor(
        slice, WithoutLimits(island),
        {.training = options.training,
         .pipeline_microbatch_size = options.pipeline_microbatch_size});
    v1::SlicePlanSet answer;
    const absl::Status status = pool_->Ask(
        [&](AdapterProcess& process) {
          return process.Call(request, answer, options.should_stop);
        },
        options.should_stop);
    if (absl::IsCancelled(status)) {
      return SlicePlanSet{
          .infeasible = Infeasible{.reason = "stopped before the answer"},
          .truncated = true};
    }
    TANGRAM_RETURN_IF_ERROR(status);
    return Blame(Complete(std::move(answer), slice, island, options));
  }

 private:
  // The bound that the program may return if it computes none itself.
  PerformanceProfile BoundFor(const ModelSlice& slice, const IslandSpec& island,
                              const ProfileOptions& options) const {
    PerformanceProfile bound = LayerwiseLowerBounds(
        slice, island, options,
        {.cp = features().context_parallel, .ep = features().expert_parallel});
    // Everything may be in the hosts' memory.
    if (features().offload) bound.min_total_bytes = 0;
    return bound;
  }

  absl::Status CheckMoe() const {
    if (features().moe_models) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat(name(), " does not plan mixtures of experts"));
  }

  template <typename Request>
  absl::StatusOr<std::vector<ModelSlice>> AskForSlices(
      const Request& request) const {
    v1::SliceList answer;
    TANGRAM_RETURN_IF_ERROR(pool_->Ask(
        [&](AdapterProcess& process) { return process.Call(request, answer); },
        nullptr));
    return Blame(FromProto(answer));
  }

  // A program proposes stages. The cost model's estimates replace those of the
  // program, and plans that do not fit in memory are dropped.
  absl::StatusOr<SlicePlanSet> Complete(
      v1::SlicePlanSet answer, const ModelSlice& slice,
      const IslandSpec& island, const ParallelizeOptions& options) const {
    for (v1::SlicePlan& plan : *answer.mutable_plans()) {
      plan.set_made_by(name());
      // Valid values let FromProto read the plan; EstimatePlans replaces them.
      plan.set_max_trailing_stages(options.trailing_stages);
      for (v1::SliceStage& stage : *plan.mutable_stages()) {
        stage.set_time_s(1);
        stage.set_backward_s(0);
        stage.set_sync_s(0);
      }
    }
    TANGRAM_ASSIGN_OR_RETURN(SlicePlanSet set, FromProto(answer));
    TANGRAM_RETURN_IF_ERROR(
        CheckSlicePlanSet(set, slice, WithoutLimits(island), options));
    // Programs need not know the limits.
    EstimatePlans(slice, island, options, set);
    return set;
  }

  // An answer that cannot be read is the adapter's fault.
  template <typename T>
  absl::StatusOr<T> Blame(absl::StatusOr<T> answer) const {
    if (answer.ok()) return answer;
    return Blame(answer.status());
  }
  absl::Status Blame(const absl::Status& status) const {
    return absl::InternalError(
        absl::StrCat(name(), " answered nonsense: ", status.message()));
  }

  const std::unique_ptr<AdapterPool> pool_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Parallelizer>> CreateProcessParallelizer(
    ProcessOptions options) {
  TANGRAM_ASSIGN_OR_RETURN(std::unique_ptr<AdapterPool> pool,
                           AdapterPool::Create(std::move(options)));
  return std::make_unique<ProcessParallelizer>(std::move(pool));
}

}  // namespace tangram
