#ifndef TANGRAM_CLI_ARGS_REQUEST_H_
#define TANGRAM_CLI_ARGS_REQUEST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/args/options.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/registry/planner_options.h"
#include "formats/config/model_file.h"

// Turns parsed options into a request: reads the files, fills in defaults, and
// checks rules between several options. Errors are kInvalidArgument, or
// kNotFound for a file, and name the option or file.
namespace tangram {

// Reads the cluster with its profiles and keeps the nodes that were chosen.
// Without a file, makes it of the cloud instances that `nodes` counts.
absl::StatusOr<Cluster> LoadCluster(const ClusterChoice& choice);

// Returns the training options. The sequence length is 0 if none was given; a
// precision that was not given is chosen (precision_choice.h). A model whose
// rates of dropout are 0 is trained without.
absl::StatusOr<TrainingOptions> MakeTraining(const TrainingChoice& choice,
                                             const ModelSpec& model,
                                             const Cluster& cluster);

// Returns the request of `tangram plan`.
absl::StatusOr<PlanRequest> MakePlanRequest(const PlanOptions& options);

// Likewise for some nodes of the cluster `whole` and a model that were read
// before, so that requests for many allocations read files once. Constraints on
// nodes that only `whole` has are dropped (KeepConstraints).
absl::StatusOr<PlanRequest> MakePlanRequest(const PlanOptions& options,
                                            const Cluster& whole,
                                            Cluster cluster,
                                            const LoadedModel& loaded);

// Reads the model of the options.
absl::StatusOr<LoadedModel> LoadModelOf(const PlanOptions& options);

// Parses "NAME=VALUE" texts, each name once. The planner checks that it has
// such options.
absl::StatusOr<PlannerOptionText> ParsePlannerOptions(
    const std::vector<std::string>& options);

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_REQUEST_H_
