#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_AMP_AMP_INPUT_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_AMP_AMP_INPUT_H_

#include <map>
#include <vector>

#include "coordinator/planners/rivals/profiles/layer_profiles.h"

namespace tangram {

// One layer on each of tp GPUs of one type, for one microbatch of one replica.
// Amounts that cross links are in the unit of AmpCluster's rates.
struct AmpLayer {
  double pass_s = 0;    // Forward and backward.
  double boundary = 0;  // From one rank to its peer in the next stage.
  double reduced = 0;   // Gradients that one rank reduces over replicas.
  // The part of `reduced` that is a copy of the first layer's: a tied head's
  // matrix. A stage with the first layer has it once.
  double copied = 0;
  double state_bytes = 0;
  double activation_bytes = 0;  // Until the backward pass.
  double transient_bytes = 0;   // During one pass.
};

struct AmpNode {
  int type = 0;   // Index into AmpInput::capacity_bytes.
  int group = 0;  // Nodes of one group have the same links.
  int gpus = 0;
};

// Ranks take the GPUs in the order of the nodes.
struct AmpCluster {
  std::vector<AmpNode> nodes;
  std::vector<double> inside;  // Rate inside a node, by group.
  // Rate from a node of one group to another node of another.
  std::vector<std::vector<double>> between;
};

struct AmpInput {
  AmpCluster cluster;
  int global_batch_size = 0;
  // Memory of a GPU for the model, by type.
  std::vector<double> capacity_bytes;
  // By type, tp degree and samples of a microbatch. All entries have as many
  // layers, at least one.
  std::map<ProfileKey, std::vector<AmpLayer>> layers;
  // The layers [first_block, first_block + num_blocks) are alike. Layers before
  // and after them stay with the first and the last.
  int first_block = 0;
  int num_blocks = 0;
};

// Defects of upstream, which the corrected search does not have.
struct AmpDefects {
  // Every stage is timed as a GPU of mean speed over the cluster, so a split
  // cannot give faster GPUs more layers.
  bool mean_gpu = false;
  // A microbatch of n samples is timed as n of one sample.
  bool linear_in_samples = false;
  // The partition program compares a cut with what the best one so far costs
  // without its transfer. A cut must win by the whole transfer.
  bool forgets_transfers = false;
  // An all-reduce runs at the speed of the ring's last link, not the slowest.
  bool last_link_alone = false;
  // Plans are not checked for memory.
  bool no_memory = false;
  // A pipeline of one microbatch gets blocks in equal numbers.
  bool even_single_microbatch = false;

  static AmpDefects Upstream() { return {true, true, true, true, true, true}; }
};

// One plan for the whole cluster: rank = (stage · dp + replica) · tp + t.
struct AmpPlan {
  int tp_degree = 1;
  int dp_degree = 1;
  int samples = 1;          // In a microbatch of one replica.
  std::vector<int> bounds;  // Stage s has layers [bounds[s], bounds[s + 1]).
  double predicted_s = 0;   // One iteration.
  double bytes_short = 0;   // Per GPU; 0: fits.

  int num_stages() const { return static_cast<int>(bounds.size()) - 1; }
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_AMP_AMP_INPUT_H_
