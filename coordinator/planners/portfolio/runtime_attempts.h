#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_RUNTIME_ATTEMPTS_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_RUNTIME_ATTEMPTS_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "common/domain/cluster.h"
#include "common/domain/device.h"
#include "common/domain/island.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "common/planner/runtime_catalogue.h"

namespace tangram {

// One of the searches for the plans of a runtime, and what is known of it.
struct RuntimeAttempt {
  RuntimeVariant variant;
  // The collective library of the GPUs; none: any GPUs.
  std::optional<CollectiveLibrary> library;
  int chunks = 1;                // See PipelineRules.
  int number = 0;                // In the order of AttemptsOf.
  double scouted_s = kInfinity;  // The scout's plan, if it was the best.
  double seeded_s = kInfinity;   // The plan of the seeds.
  bool has_seed_plans = false;   // At least one slice plan.
  std::optional<Infeasible> why_no_seeds;
};

// Returns the collective libraries of the cluster's GPUs, in order. One launch
// has one of them. If there is only one, GPUs need not be told apart.
std::vector<std::optional<CollectiveLibrary>> LibrariesOf(
    const Cluster& cluster);

// Returns whether the plans of a request may run in several chunks on each GPU
// beside plain 1F1B.
bool MayRunInChunks(const Runtime& runtime, const PlanRequest& request);

// Returns the request for plans that run in chunks.
PlanRequest InChunks(PlanRequest request);

// Returns the variants of the runtime: one for each value of the properties
// that its stages share.
std::vector<RuntimeVariant> VariantsOf(const PlanningRuntime& runtime,
                                       const PlanRequest& request,
                                       absl::Span<const Island> islands);

// Returns a search for each library and each variant, and then likewise for
// plans in `chunks`, if these are more than one.
std::vector<RuntimeAttempt> AttemptsOf(
    absl::Span<const std::optional<CollectiveLibrary>> libraries,
    absl::Span<const RuntimeVariant> variants, int chunks);

// Returns whether the variant fixes the degrees of stages.
bool FixesDegreesOfStages(const RuntimeVariant& variant);

// Returns whether the variants fix degrees of stages, perhaps of the first and
// the last alone.
bool FixSomeDegrees(absl::Span<const RuntimeVariant> variants);

// Returns the rules of an attempt without the values that its stages share,
// which PipelineRules::fit knows, and without those that are only for its
// search.
PipelineRules WithoutShared(PipelineRules rules);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_RUNTIME_ATTEMPTS_H_
