#ifndef TANGRAM_CLI_ARGS_REQUEST_H_
#define TANGRAM_CLI_ARGS_REQUEST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/args/options.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/registry/planner_options.h"

// From what was asked for to what can be planned: reads the files, fills what
// was left out, and checks what concerns several options at once.
namespace tangram {

absl::StatusOr<Cluster> LoadCluster(const ClusterChoice& choice);

// The sequence length is 0 where none was given.
absl::StatusOr<TrainingOptions> MakeTraining(const TrainingChoice& choice);

absl::StatusOr<PlanRequest> MakePlanRequest(const PlanOptions& options);

// "NAME=VALUE", each name once. Whether the planner has such an option is the
// planner's to say.
absl::StatusOr<PlannerOptionText> ParsePlannerOptions(
    const std::vector<std::string>& options);

bool HasExperts(const ModelSpec& model);

// Where none was asked for: those whose plans the runtime runs best, and for
// any runtime Aceso, which knows no mixtures of experts, or uniform, which
// does. kInvalidArgument for a runtime that is not known.
absl::StatusOr<std::string> DefaultParallelizer(const ModelSpec& model,
                                                const std::string& runtime);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_REQUEST_H_
