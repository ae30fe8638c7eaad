#ifndef TANGRAM_COMMON_SIM_REPLICA_RINGS_H_
#define TANGRAM_COMMON_SIM_REPLICA_RINGS_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/replicated_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// A part of the model that a single stage holds in each pipeline. So the rings
// for its gradients all have the same members.
struct ReplicaSegment {
  OperatorCut begin;
  OperatorCut end;
  std::vector<int> stages;  // The stage that holds it, by pipeline.
  double reduce_s = 0;      // Gradients; with kZero1, reduce-scatter alone.
  double gather_s = 0;      // New weights; 0 with all-reduce.
  // With kZero2, the time in which each pipeline sends its gradients of one
  // microbatch to the others; else empty.
  std::vector<double> push_s;
};

// The nodes of each stage of each pipeline, ascending.
using StageNodes = std::vector<std::vector<std::vector<int>>>;
StageNodes StageNodesOf(const ReplicatedPlan& plan);

// Returns the segments between the cuts of all pipelines, in model order. Empty
// with one pipeline. `plan` has passed ValidateReplicatedPlan.
//
// A ring over R pipelines carries 2(R−1)/R of the segment's gradients over each
// of its hops, at the rate of the slowest hop. With kZero1 it carries R−1 times
// the largest fraction of state. The stage of pipeline r holds the segment in
// t_r shards, which may differ (RingSeconds).
//
// If no two pipelines share a node, and several but not all of them hold a
// segment on nodes of the same groups, the exchange may go in rings of rings
// instead, if that takes less time (BlueConnect, Cho et al., MLSys 2019; hybrid
// sharding in PyTorch's FSDP): the n pipelines of each such fabric
// reduce-scatter among themselves, their parts are exchanged in a ring over the
// K fabrics with the links of all their nodes at once, and are gathered inside
// the fabrics. So 2(K−1)/K of the gradients leave each fabric, whatever n is:
//   max over fabrics of 2(n−1)/n · bytes / rate inside
//     + 2(K−1)/K · bytes / (rate between · nodes of the smaller fabric).
// With kZero1, n−1 times the largest fraction of a fabric's state, and K−1
// times that of the largest fabric.
//
// With kZero2, pipeline r sends ω_q of the gradients to each other pipeline q,
// one after the other, for each microbatch. ω are the fractions of state:
//   push_r = Σ_{q≠r} (latency + ω_q · bytes / rate_{r→q}).
std::vector<ReplicaSegment> ReplicaSegments(const ModelSpec& model,
                                            const Cluster& cluster,
                                            const TrainingOptions& training,
                                            const ReplicatedPlan& plan);

// One ring that runs once, on the links of some nodes.
struct RingTask {
  double release_s = 0;
  double duration_s = 0;
  // The nodes of each member. Refers to the caller's.
  std::vector<absl::Span<const int>> nodes;
};

// Plays tasks, earliest release first (of equal ones, the last in the list). A
// node runs one task at a time. Returns the end of each task. `node_free_s`, by
// node, is the time at which a node's links are free. It is read and updated.
// With one shared node the last end is the least possible: max_j (R_(j) + Σ_{k
// ≥ j} d_(k)), tasks in order of release R.
std::vector<double> PlayRings(absl::Span<const RingTask> tasks,
                              std::vector<double>& node_free_s);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_REPLICA_RINGS_H_
