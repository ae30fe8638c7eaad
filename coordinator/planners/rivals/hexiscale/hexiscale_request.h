#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_REQUEST_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_REQUEST_H_

#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/planner.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_input.h"
#include "coordinator/planners/rivals/profiles/layer_profiles.h"

// Requests and plans, in HexiScale's terms and back. Pure.
namespace tangram {

// Returns the input for microbatches of `samples`, apart from the options of
// the search. Every node is a machine. Its FLOP/s are those that one GPU
// reaches on the model's layers by `profiles`, which have `samples`, so
// HexiScale's times are in the units of the cost model. Links are those between
// two GPUs. Layers are the mean of the model's transformer layers.
HexiscaleInput InputFor(const PlanRequest& request,
                        const LayerProfiles& profiles, int samples);

// Returns the proposal of a plan: one pipeline, or several that share the
// batch. Stages without layers are left out, and so are their GPUs. If the
// microbatches of the plan are not those of a batch, its pipelines share them
// evenly. kInvalidArgument: they cannot.
absl::StatusOr<Proposal> ProposalOf(const PlanRequest& request,
                                    const HexiscaleInput& input,
                                    const HexiscalePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HEXISCALE_HEXISCALE_REQUEST_H_
