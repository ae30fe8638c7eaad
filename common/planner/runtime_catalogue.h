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
#include "common/domain/runtime.h"
#include "common/domain/stage_limits.h"
#include "common/planner/cluster_planner.h"

namespace tangram {

// The limits of one search for plans that a runtime takes.
struct RuntimeVariant {
  StageLimits stages;  // Of all stages.
  StageLimits ends;    // Besides, of slices that hold the first or last layer.
  int gpus_per_node = 0;  // Of islands to be used; 0: any.
};

// A training framework as planning sees it. Thread-safe; lives as long as its
// catalogue.
class PlanningRuntime {
 public:
  virtual ~PlanningRuntime() = default;

  virtual absl::string_view name() const = 0;  // "megatron"
  virtual const Runtime& runs() const = 0;
  // Not OK, with the reason, for a model or training that it cannot do.
  virtual absl::Status Check(const ModelSpec& model,
                             const TrainingOptions& training) const = 0;
  // How it trains where it is asked to train so.
  virtual TrainingOptions Train(const TrainingOptions& training) const = 0;
  // How Train differs from what was asked, a line each.
  virtual std::vector<std::string> TrainingLosses(
      const TrainingOptions& asked) const = 0;
  // Whether a pipeline may have so many GPUs in all; empty: any number.
  virtual std::function<bool(int)> AcceptsGpus() const = 0;
  // One search for each value of what stages must share that some island can
  // have. A tp degree is a power of two or one of `more_tp`.
  virtual std::vector<RuntimeVariant> Variants(
      const ModelSpec& model, const TrainingOptions& training,
      absl::Span<const IslandSpec> islands,
      absl::Span<const int> more_tp) const = 0;
  // The plan as the runtime runs it. kInvalidArgument, with the reason, if it
  // cannot run it without loss.
  virtual absl::StatusOr<PipelinePlan> Fit(const PlanRequest& request,
                                           const PipelinePlan& plan) const = 0;
};

// The training frameworks that planning knows. Whoever starts a planner gives
// it one: planners do not depend on the files of frameworks.
class RuntimeCatalogue {
 public:
  virtual ~RuntimeCatalogue() = default;

  // kInvalidArgument naming `name` and the runtimes there are.
  virtual absl::StatusOr<const PlanningRuntime*> Find(
      absl::string_view name) const = 0;
  // Slice plans of several parallelizers may be mixed where one of these runs
  // them all.
  virtual absl::Span<const Runtime> KnownRuntimes() const = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_PLANNER_RUNTIME_CATALOGUE_H_
