#ifndef TANGRAM_COMMON_DOMAIN_STAGE_PLAN_H_
#define TANGRAM_COMMON_DOMAIN_STAGE_PLAN_H_

#include <cstdint>
#include <vector>

namespace tangram {

// The distribution of one stage over its tp·cp·dp GPUs. Ranks are numbered with
// tp fastest, then cp, then dp, so the ranks of a tp group are adjacent.
struct StageParallelism {
  int tp_degree = 1;
  int cp_degree = 1;
  int dp_degree = 1;
  // Experts are spread over ep_degree of the cp·dp ranks; divides cp·dp and
  // the number of experts. Expert weights are further split by tp, and
  // replicated over cp·dp / ep ranks.
  int ep_degree = 1;
  // Fully sharded expert parallelism (LAER-MoE): expert parameters and their
  // optimizer state are sharded over the whole ep group and gathered on use,
  // which lets the runtime place whole experts to even out the load.
  bool fsep = false;
  // 0: all replicated; 1: optimizer state, 2: and gradients, 3: and weights
  // sharded over dp·cp (experts: over cp·dp/ep).
  int zero_stage = 0;
  // With a ZeRO stage, state is sharded over the cp ranks of so many adjacent
  // dp ranks, and each shard is held dp / zero_degree times (hybrid sharding).
  // Divides dp. 0: over all of them.
  int zero_degree = 0;
  // Megatron sequence parallelism: norms and residuals are split over tp.
  bool sequence_parallel = false;
  // 2-D tensor parallelism (MindSpeed's tp-2d): of the tp ranks, tp_y share the
  // inner dimension of a product and tp_x = tp / tp_y, which are adjacent, the
  // other. All activations are split over tp. 1: Megatron's, in one dimension.
  int tp_y_degree = 1;

  int num_gpus() const { return tp_degree * cp_degree * dp_degree; }
  // Ranks that hold the same weights, unless ZeRO shards them.
  int num_replicas() const { return dp_degree * cp_degree; }
  // Ranks over which ZeRO shards weights, and groups of such ranks.
  int num_shards() const {
    return (zero_degree > 0 ? zero_degree : dp_degree) * cp_degree;
  }
  int num_shard_groups() const { return num_replicas() / num_shards(); }
  int tp_x_degree() const { return tp_degree / tp_y_degree; }
  bool operator==(const StageParallelism&) const = default;
};

// A boundary between two operators: before operator `op` of layer `layer`.
// The end of layer l is {l + 1, 0}.
struct OperatorCut {
  int layer = 0;
  int op = 0;
  auto operator<=>(const OperatorCut&) const = default;
};

// Bit i: operator i of the layer (OperatorsOf order) is recomputed in the
// backward pass instead of being kept. Maximal runs of recomputed operators
// inside one layer form a segment, of which only the input is kept.
using OpMask = uint32_t;
inline constexpr OpMask kRecomputeNone = 0;
// A bit beside those of the operators. With it, a segment's output is dropped
// as well, and the next operator takes it from the recomputation (Megatron-LM's
// CheckpointWithoutOutput, for --recompute-modules layernorm, mla_up_proj,
// moe_act).
inline constexpr OpMask kDropOutputs = OpMask{1} << 31;

struct RecomputeRun {
  int num_layers = 0;  // Consecutive layers with this mask.
  OpMask mask = kRecomputeNone;
  bool operator==(const RecomputeRun&) const = default;
};

// Parts of a stage that its GPUs keep in host memory and copy over the host
// link for use (ZeRO-Offload, 2101.06840; in this form in Mist, 2503.19050).
// Fractions from 0, all on the GPU, to 1, all on the host.
struct HostOffload {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;    // Optimizer state; the step runs on the GPU.
  double activations = 0;  // Activations kept for the backward pass.

  bool none() const { return *this == HostOffload(); }
  bool operator==(const HostOffload&) const = default;
};

// The layers of one stage and how they run. Layers count from the start of the
// slice in a SlicePlan, and of the model in a PipelinePlan.
struct StagePlan {
  OperatorCut begin;
  OperatorCut end;
  StageParallelism parallelism;
  // One mask for every layer that the stage touches, partly or wholly, in
  // order; run lengths add up to that number of layers.
  std::vector<RecomputeRun> recompute;
  HostOffload offload;

  bool operator==(const StagePlan&) const = default;
};

// Returns the number of layers that [begin, end) touches.
inline int LayersTouched(OperatorCut begin, OperatorCut end) {
  return end.layer - begin.layer + (end.op > 0 ? 1 : 0);
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_STAGE_PLAN_H_
