#include "common/sim/replica_rings.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>

#include "common/cost/collectives.h"
#include "common/cost/model_state.h"
#include "common/sim/stage_placement.h"

namespace tangram {
namespace {

// Returns the parameters of the operators in [begin, end).
double ParametersOf(const ModelSpec& model, OperatorCut begin,
                    OperatorCut end) {
  double parameters = 0;
  for (int layer = begin.layer; layer < model.num_layers(); ++layer) {
    const absl::Span<const OpKind> ops = OperatorsOf(model.layers[layer]);
    for (int op = 0; op < static_cast<int>(ops.size()); ++op) {
      const OperatorCut cut = {layer, op};
      if (cut >= end) return parameters;
      if (cut >= begin) {
        parameters += ParameterCount(model.layers[layer], ops[op]);
      }
    }
  }
  return parameters;
}

// Returns the stage that holds the operator after `cut`.
int StageThatHolds(const PipelinePlan& plan, OperatorCut cut) {
  int s = 0;
  while (plan.stages[s].plan.end <= cut) ++s;
  return s;
}

// The traffic of a segment's rings.
struct Rings {
  double rate_share = 0;  // Fraction of the segment's bytes over each hop.
  int steps = 0;          // Messages in sequence.
};

// Returns the time of a segment's rings, that of the slowest hop:
//   max_r (rate_share · bytes / rate_r + steps · q / min t_r · latency_r),
// with t_r the shards (tp degree) in pipeline r and q = lcm(t_r).
double RingSeconds(const Cluster& cluster, const ReplicatedPlan& plan,
                   const std::vector<int>& stages, double bytes,
                   const Rings& rings) {
  const size_t num_pipelines = plan.pipelines.size();
  int pieces = 1;
  int fewest_shards = 0;
  for (size_t r = 0; r < num_pipelines; ++r) {
    const int tp =
        plan.pipelines[r].plan.stages[stages[r]].plan.parallelism.tp_degree;
    pieces = std::lcm(pieces, tp);
    fewest_shards = r == 0 ? tp : std::min(fewest_shards, tp);
  }
  const int messages = rings.steps * (pieces / fewest_shards);
  double slowest_s = 0;
  for (size_t r = 0; r < num_pipelines; ++r) {
    const size_t next = (r + 1) % num_pipelines;
    const TransferPath path =
        PathBetween(cluster, plan.pipelines[r].plan.stages[stages[r]].gpus,
                    plan.pipelines[next].plan.stages[stages[next]].gpus);
    // TransferSeconds counts one latency.
    const double hop_s = TransferSeconds(rings.rate_share * bytes, path) +
                         (messages - 1) * path.link.latency_s;
    slowest_s = std::max(slowest_s, hop_s);
  }
  return slowest_s;
}

// Sets reduce_s and gather_s. With R pipelines, all-reduce takes 2 (R − 1)
// steps with 1/R of the gradients each. kZero1 takes R − 1 steps with the
// largest fraction of state each, for gradients and again for new weights.
void SetSeconds(const ModelSpec& model, const Cluster& cluster,
                const TrainingOptions& training, const ReplicatedPlan& plan,
                ReplicaSegment& segment) {
  const int num_pipelines = static_cast<int>(plan.pipelines.size());
  const double parameters = ParametersOf(model, segment.begin, segment.end);
  if (parameters <= 0) return;
  const double gradient_bytes = parameters * GradientBytes(training);
  const int steps = num_pipelines - 1;
  if (plan.sync == ReplicaSync::kAllReduce) {
    segment.reduce_s = RingSeconds(
        cluster, plan, segment.stages, gradient_bytes,
        {.rate_share = 2.0 * steps / num_pipelines, .steps = 2 * steps});
    return;
  }
  double largest_fraction = 0;
  for (const PipelineReplica& replica : plan.pipelines) {
    largest_fraction = std::max(largest_fraction, replica.state_fraction);
  }
  const Rings rings = {.rate_share = steps * largest_fraction, .steps = steps};
  segment.reduce_s =
      RingSeconds(cluster, plan, segment.stages, gradient_bytes, rings);
  segment.gather_s =
      RingSeconds(cluster, plan, segment.stages,
                  parameters * ElementBytes(training.precision), rings);
}

}  // namespace

std::vector<ReplicaSegment> ReplicaSegments(const ModelSpec& model,
                                            const Cluster& cluster,
                                            const TrainingOptions& training,
                                            const ReplicatedPlan& plan) {
  std::vector<ReplicaSegment> segments;
  if (plan.pipelines.size() == 1) return segments;
  std::set<OperatorCut> cuts;
  for (const PipelineReplica& replica : plan.pipelines) {
    for (const PlacedStage& stage : replica.plan.stages) {
      cuts.insert(stage.plan.end);
    }
  }
  OperatorCut begin;
  for (const OperatorCut end : cuts) {
    ReplicaSegment segment = {.begin = begin, .end = end};
    std::set<int> nodes;
    for (const PipelineReplica& replica : plan.pipelines) {
      const int s = StageThatHolds(replica.plan, begin);
      segment.stages.push_back(s);
      for (const GpuId& gpu : replica.plan.stages[s].gpus) {
        nodes.insert(gpu.node);
      }
    }
    segment.nodes.assign(nodes.begin(), nodes.end());
    SetSeconds(model, cluster, training, plan, segment);
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
    for (const int node : tasks[i].nodes) {
      start_s = std::max(start_s, node_free_s[node]);
    }
    ends[i] = start_s + tasks[i].duration_s;
    for (const int node : tasks[i].nodes) node_free_s[node] = ends[i];
  }
  return ends;
}

}  // namespace tangram
