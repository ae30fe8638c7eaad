#include "common/sim/replica_rings.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "common/cost/collectives.h"
#include "common/cost/model_state.h"
#include "common/sim/stage_placement.h"
#include "common/sim/unlike_ring.h"

namespace tangram {
namespace {

// Returns the time in which each pipeline sends the others their fractions of
// `bytes`.
std::vector<double> PushSeconds(const Cluster& cluster,
                                const ReplicatedPlan& plan,
                                absl::Span<const RingMember* const> members,
                                double bytes) {
  std::vector<double> push_s(members.size());
  for (size_t r = 0; r < members.size(); ++r) {
    for (size_t q = 0; q < members.size(); ++q) {
      if (q == r) continue;
      push_s[r] += TransferSeconds(
          plan.pipelines[q].state_fraction * bytes,
          PathBetween(cluster, members[r]->gpus, members[q]->gpus));
    }
  }
  return push_s;
}

// Sets reduce_s, gather_s and push_s. With R pipelines, all-reduce takes 2 (R −
// 1) steps with 1/R of the gradients each. kZero1 takes R − 1 steps with the
// largest fraction of state each, for gradients and again for new weights.
// `stages` has every stage of every pipeline.
void SetSeconds(const ModelSpec& model, const Cluster& cluster,
                const TrainingOptions& training, const ReplicatedPlan& plan,
                const std::vector<std::vector<RingMember>>& stages,
                ReplicaSegment& segment) {
  const int num_pipelines = static_cast<int>(plan.pipelines.size());
  std::vector<const RingMember*> members;
  for (int r = 0; r < num_pipelines; ++r) {
    members.push_back(&stages[r][segment.stages[r]]);
  }
  RingTraffic traffic =
      AllReduceTraffic(ParametersOf(model, segment.begin, segment.end),
                       GradientBytes(training), num_pipelines);
  if (plan.sync == ReplicaSync::kAllReduce) {
    segment.reduce_s = RingSeconds(cluster, members, traffic);
    return;
  }
  double largest_fraction = 0;
  for (const PipelineReplica& replica : plan.pipelines) {
    largest_fraction = std::max(largest_fraction, replica.state_fraction);
  }
  traffic.steps = num_pipelines - 1;
  traffic.rate_share = traffic.steps * largest_fraction;
  if (plan.sync == ReplicaSync::kZero2) {
    segment.push_s = PushSeconds(cluster, plan, members,
                                 traffic.parameters * traffic.parameter_bytes);
  } else {
    segment.reduce_s = RingSeconds(cluster, members, traffic);
  }
  traffic.parameter_bytes = ElementBytes(training.precision);
  segment.gather_s = RingSeconds(cluster, members, traffic);
}

}  // namespace

StageNodes StageNodesOf(const ReplicatedPlan& plan) {
  StageNodes nodes;
  for (const PipelineReplica& replica : plan.pipelines) {
    std::vector<std::vector<int>>& of_pipeline = nodes.emplace_back();
    for (const PlacedStage& stage : replica.plan.stages) {
      std::set<int> used;
      for (const GpuId& gpu : stage.gpus) used.insert(gpu.node);
      of_pipeline.emplace_back(used.begin(), used.end());
    }
  }
  return nodes;
}

std::vector<ReplicaSegment> ReplicaSegments(const ModelSpec& model,
                                            const Cluster& cluster,
                                            const TrainingOptions& training,
                                            const ReplicatedPlan& plan) {
  std::vector<ReplicaSegment> segments;
  if (plan.pipelines.size() == 1) return segments;
  std::set<OperatorCut> cuts;
  // A stage is in many segments, so its GPUs are looked at once.
  std::vector<std::vector<RingMember>> members;
  for (const PipelineReplica& replica : plan.pipelines) {
    std::vector<RingMember>& of_pipeline = members.emplace_back();
    for (const PlacedStage& stage : replica.plan.stages) {
      of_pipeline.push_back(MemberOf(cluster, stage));
      cuts.insert(stage.plan.end);
    }
  }
  OperatorCut begin;
  // The stage of each pipeline that holds the operator after `begin`.
  std::vector<int> stages(plan.pipelines.size());
  for (const OperatorCut end : cuts) {
    for (size_t r = 0; r < stages.size(); ++r) {
      const std::vector<PlacedStage>& all = plan.pipelines[r].plan.stages;
      while (all[stages[r]].plan.end <= begin) ++stages[r];
    }
    ReplicaSegment segment = {.begin = begin, .end = end, .stages = stages};
    SetSeconds(model, cluster, training, plan, members, segment);
    segments.push_back(std::move(segment));
    begin = end;
  }
  return segments;
}

std::vector<double> PlayRings(absl::Span<const RingTask> tasks,
                              std::vector<double>& node_free_s) {
  std::vector<size_t> order(tasks.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return tasks[a].release_s < tasks[b].release_s;
  });
  std::vector<double> ends(tasks.size());
  for (const size_t i : order) {
    double start_s = tasks[i].release_s;
    for (const absl::Span<const int> member : tasks[i].nodes) {
      for (const int node : member) {
        start_s = std::max(start_s, node_free_s[node]);
      }
    }
    ends[i] = start_s + tasks[i].duration_s;
    for (const absl::Span<const int> member : tasks[i].nodes) {
      for (const int node : member) node_free_s[node] = ends[i];
    }
  }
  return ends;
}

}  // namespace tangram
