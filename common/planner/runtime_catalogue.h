#ifndef TANGRAM_COMMON_PLANNER_RUNTIME_CATALOGUE_H_
#define TANGRAM_COMMON_PLANNER_RUNTIME_CATALOGUE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/island.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/replicated_plan.h"
#include "common/domain/runtime.h"
#include "common/domain/stage_limits.h"
#include "common/planner/cluster_planner.h"

namespace tangram {

// The limits of one search for plans that a runtime takes.
struct RuntimeVariant {
  StageLimits stages;  // For all stages.
  // Additional, for slices that hold the first or last layer.
  StageLimits ends;
  int gpus_per_node = 0;  // Required of islands in use; 0: any.
};

// The properties of a training framework that planning needs. Thread-safe;
// lives as long as its catalogue.
class PlanningRuntime {
 public:
  virtual ~PlanningRuntime() = default;

  virtual absl::string_view name() const = 0;  // "megatron"
  virtual const Runtime& runs() const = 0;
  // Returns the parallelizers whose plans it runs best, to ask if none is
  // named.
  virtual std::vector<std::string> Parallelizers(
      const ModelSpec& model) const = 0;
  // Returns all parallelizers that may make plans that it runs.
  virtual std::vector<std::string> AllParallelizers() const = 0;
  // Returns an error with the reason for a model or training options that it
  // does not support.
  virtual absl::Status Check(const ModelSpec& model,
                             const TrainingOptions& training) const = 0;
  // Returns the options with which the framework trains when asked for
  // `training`.
  virtual TrainingOptions Train(const TrainingOptions& training) const = 0;
  // Returns the differences between Train(asked) and `asked`, one per line.
  virtual std::vector<std::string> TrainingLosses(
      const TrainingOptions& asked) const = 0;
  // Returns what the framework does otherwise whatever the plan, one difference
  // per line: "data: yours; becomes synthetic, ...". `plan` is one that it
  // runs.
  virtual std::vector<std::string> FrameworkLosses(
      const PlanRequest& request, const PipelinePlan& plan) const = 0;
  // Returns whether it trains on the user's data, not on synthetic data alone.
  virtual bool ReadsData() const = 0;
  // Returns why it cannot run on such GPUs. Empty: it can.
  virtual std::string WhyNotDevice(const DeviceSpec& device) const = 0;
  // Returns a predicate on the total number of GPUs of a pipeline. Empty: any
  // number.
  virtual std::function<bool(int)> AcceptsGpus() const = 0;
  // Returns one search for each value, possible on some island, of the
  // properties that stages must share. A tp degree is a power of two or one of
  // `more_tp`.
  virtual std::vector<RuntimeVariant> Variants(
      const ModelSpec& model, const TrainingOptions& training,
      absl::Span<const IslandSpec> islands,
      absl::Span<const int> more_tp) const = 0;
  // Returns the plan as the runtime runs it. kInvalidArgument with the reason
  // if it cannot run the plan without loss.
  virtual absl::StatusOr<PipelinePlan> Fit(const PlanRequest& request,
                                           const PipelinePlan& plan) const = 0;
  // Returns whether it trains plans of several pipelines.
  virtual bool TrainsPipelines() const { return false; }
  // Returns OK if it runs these pipelines without loss. kInvalidArgument or
  // kUnimplemented with the reason otherwise.
  virtual absl::Status CheckPipelines(const PlanRequest& request,
                                      const ReplicatedPlan& plan) const {
    static_cast<void>(request);
    static_cast<void>(plan);
    return absl::UnimplementedError("several pipelines; expected one");
  }
};

// The training frameworks that planning knows. The creator of a planner
// provides it, so planners do not depend on the files of frameworks.
class RuntimeCatalogue {
 public:
  virtual ~RuntimeCatalogue() = default;

  // Returns the runtime of that name. kInvalidArgument naming `name` and the
  // known runtimes.
  virtual absl::StatusOr<const PlanningRuntime*> Find(
      absl::string_view name) const = 0;
  // Returns the runtimes that Find knows, in the order of preference among
  // equally fast plans.
  virtual std::vector<const PlanningRuntime*> All() const = 0;
  // Returns the parallelizers to ask for a plan without a runtime if none is
  // named.
  virtual std::vector<std::string> FreeParallelizers(
      const ModelSpec& model) const = 0;
  // Slice plans of several parallelizers may be mixed if one of these runs them
  // all.
  virtual absl::Span<const Runtime> KnownRuntimes() const = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_PLANNER_RUNTIME_CATALOGUE_H_
