#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_INTRA_OPERATOR_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_INTRA_OPERATOR_H_

#include <vector>

#include "absl/types/span.h"
#include "common/cost/operator_cost.h"
#include "common/domain/island.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"
#include "worker/adapters/alpa/alpa_sharding_problem.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram::alpa {

// A submesh as a grid of GPUs (2201.12023 §3.1). GPUs along the inner axis are
// neighbours. The outer axis splits the batch, as upstream forces it to. The
// inner axis splits features or the batch. Experts may be split along the outer
// axis in the first case and along the inner axis in the second; they are whole
// along the other axis.
//
// A stage of ours has one set of degrees for all its operators, so it cannot
// express more. The paper's operators may each split other tensor dimensions
// along either axis.
struct LogicalMesh {
  int outer = 1;
  int inner = 1;
  bool inner_splits_batch = false;
  // Shardings of a whole stage on this mesh. The first keeps the experts whole.
  std::vector<StageParallelism> shardings;
};

// Returns the meshes of a submesh of `num_gpus` GPUs.
std::vector<LogicalMesh> LogicalMeshesOf(int num_gpus, const IslandSpec& island,
                                         const SplitLimits& limits);

// The quantity that an intra-operator problem minimises.
enum class ShardingAim {
  kSeconds,  // Time of both passes of one microbatch, collectives included.
  kBytes,    // Bytes of model state and of one microbatch's activations.
};

// Returns the intra-operator problem of one layer on a mesh. Node i is operator
// i. Strategy s of an operator on experts is mesh.shardings[s]; other operators
// have one strategy. Edges forbid two different shardings in one stage.
// Resharding inside a sharding is part of the operators' collectives.
ShardingProblem LayerShardingProblem(const LayerSpec& layer,
                                     const LogicalMesh& mesh,
                                     const StageEnvironment& environment,
                                     ShardingAim aim);

// Returns the distinct solutions of the layers' intra-operator problems on all
// meshes of a submesh. Each problem is solved for both aims: the fastest
// sharding, and the one that leaves most memory for microbatches in flight.
std::vector<StageParallelism> SolveIntraOperator(
    absl::Span<const LayerSpec> layers, int num_gpus, const IslandSpec& island,
    const SplitLimits& limits, const StageEnvironment& environment);

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_INTRA_OPERATOR_H_
