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

// A submesh seen as a grid (2201.12023 §3.1) with the role of its inner axis,
// along which GPUs are next to each other. The outer axis splits the batch, as
// upstream forces it to; the inner axis splits features, or the batch too.
// Experts may be split along the outer axis in the first case and along the
// inner axis in the second, and are whole along the other.
//
// That is all that a stage of ours can hold, which has one set of degrees for
// all its operators: the paper's operators may each split other tensor
// dimensions along either axis.
struct LogicalMesh {
  int outer = 1;
  int inner = 1;
  bool inner_splits_batch = false;
  // What a whole stage on this mesh may be: first with the experts whole.
  std::vector<StageParallelism> shardings;
};

// The meshes of a submesh of `num_gpus`.
std::vector<LogicalMesh> LogicalMeshesOf(int num_gpus, const IslandSpec& island,
                                         const SplitLimits& limits);

// What an intra-operator problem minimises.
enum class ShardingAim {
  kSeconds,  // Of both passes of one microbatch, collectives included.
  kBytes,    // Model state, and activations of one microbatch.
};

// The intra-operator problem of one layer on a mesh. Node i is operator i.
// Strategy s of an operator on experts is that of mesh.shardings[s]; others
// have one. Edges forbid what is between two shardings of a stage. Resharding
// within one is in the operators' collectives.
ShardingProblem LayerShardingProblem(const LayerSpec& layer,
                                     const LogicalMesh& mesh,
                                     const StageEnvironment& environment,
                                     ShardingAim aim);

// The different solutions of the layers' intra-operator problems on all meshes
// of a submesh, with either aim: what is fastest, and what leaves most memory
// for microbatches in flight.
std::vector<StageParallelism> SolveIntraOperator(
    absl::Span<const LayerSpec> layers, int num_gpus, const IslandSpec& island,
    const SplitLimits& limits, const StageEnvironment& environment);

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_INTRA_OPERATOR_H_
