#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_AMP_PARTITION_PROGRAM_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_AMP_PARTITION_PROGRAM_H_

#include <vector>

// How AMP cuts a model into stages (Li et al., "AMP: Automatically Finding
// Model Parallel Strategies with Heterogeneity Awareness", NeurIPS 2022,
// section 4). Pure.
namespace tangram {

// Stage s of the layers [a, b) takes the sum of stage_s[s][l] over them for one
// microbatch, forward and backward. A cut before layer l, between stages s and
// s + 1, takes transfer_s[s][l].
struct PartitionProblem {
  std::vector<std::vector<double>> stage_s;     // [stage][layer]
  std::vector<std::vector<double>> transfer_s;  // [stage][layer], no last stage
  int num_microbatches = 1;

  int num_stages() const { return static_cast<int>(stage_s.size()); }
  int num_layers() const { return static_cast<int>(stage_s.front().size()); }
};

// Returns the seconds of a pipeline with these bounds (see AmpPlan): all stages
// and transfers once, and the slowest stage for every further microbatch.
double PipelineSeconds(const PartitionProblem& problem,
                       const std::vector<int>& bounds);

// Returns the bounds of the fastest pipeline. Every stage has a layer. Equal
// ones are told apart by the layers of their last stages: the more the better,
// as fewer microbatches are in flight there. Empty: more stages than layers.
// O(b s l²) for s stages of l layers, and b sums of neighbouring layers that
// can be the slowest stage of the best pipeline.
std::vector<int> FastestPartition(const PartitionProblem& problem);

// Returns the bounds that upstream's recurrence finds for stages of equal
// speed: those of the first stage count (see AmpDefects::forgets_transfers).
// Empty: more stages than layers.
std::vector<int> UpstreamPartition(const PartitionProblem& problem);

// Returns the bounds of stages with as many blocks each, or one more from the
// front on (see AmpInput::first_block). Empty: more stages than blocks.
std::vector<int> EvenPartition(int num_stages, int num_layers, int first_block,
                               int num_blocks);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_AMP_PARTITION_PROGRAM_H_
