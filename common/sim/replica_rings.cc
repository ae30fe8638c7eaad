#include "common/sim/replica_rings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/cost/collectives.h"
#include "common/cost/parameter_bytes.h"
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

// Members together hold at most so many shards and pieces.
constexpr int64_t kMostParts = int64_t{1} << 60;

// Members of rings whose nodes are of the same groups, so that the links among
// them are those inside the groups.
struct Fabric {
  std::vector<const RingMember*> members;
  RingMember together;  // All of them as one member.
  double fraction = 0;  // Part of the state of all its members.
  double largest_fraction = 0;
};

bool SameGroups(const PathEnd& a, const PathEnd& b) {
  return absl::c_equal(a.groups, b.groups, [](const auto& x, const auto& y) {
    return x.group == y.group;
  });
}

// Adds a member that holds a further part of what `fabric` holds.
void Join(const RingMember& member, double fraction, Fabric& fabric) {
  fabric.fraction += fraction;
  fabric.largest_fraction = std::max(fabric.largest_fraction, fraction);
  fabric.members.push_back(&member);
  PathEnd& gpus = fabric.together.gpus;
  if (fabric.members.size() == 1) {
    fabric.together = member;
    return;
  }
  gpus.num_gpus += member.gpus.num_gpus;
  gpus.num_nodes += member.gpus.num_nodes;
  gpus.first_node = std::min(gpus.first_node, member.gpus.first_node);
  for (size_t g = 0; g < gpus.groups.size(); ++g) {
    gpus.groups[g].num_nodes += member.gpus.groups[g].num_nodes;
  }
  // Each member holds a part of each shard.
  const auto add = [](int64_t more, int64_t& parts) {
    parts = std::min(parts + more, kMostParts);
  };
  add(member.fewest_shards, fabric.together.fewest_shards);
  add(member.pieces, fabric.together.pieces);
}

// How much of its segment a ring carries.
enum class RingKind {
  kAllReduce,
  kToOwners,  // Reduce-scatter or all-gather, by the fractions of state.
};

// Returns the traffic of a ring whose members own fractions of what it carries,
// the largest of them `largest`.
RingTraffic TrafficOf(RingKind kind, double parameters, double parameter_bytes,
                      size_t num_members, double largest) {
  RingTraffic traffic = AllReduceTraffic(parameters, parameter_bytes,
                                         static_cast<int>(num_members));
  if (kind == RingKind::kAllReduce) return traffic;
  traffic.steps = static_cast<int>(num_members) - 1;
  traffic.rate_share = traffic.steps * largest;
  return traffic;
}

// Returns whether two pipelines use GPUs of one node. They share its links, so
// that more of them are no faster.
bool ShareNodes(const ReplicatedPlan& plan) {
  std::map<int, size_t> users;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    for (const PlacedStage& stage : plan.pipelines[r].plan.stages) {
      for (const GpuId& gpu : stage.gpus) {
        if (users.try_emplace(gpu.node, r).first->second != r) return true;
      }
    }
  }
  return false;
}

// Returns the seconds of an exchange of a segment: the lesser of those of one
// ring of all members and, with `nests`, of rings of rings.
double ExchangeSeconds(const Cluster& cluster, const ReplicatedPlan& plan,
                       absl::Span<const RingMember* const> members,
                       RingKind kind, double parameters, double parameter_bytes,
                       bool nests) {
  std::vector<Fabric> fabrics;
  double largest = 0;
  for (size_t r = 0; r < members.size(); ++r) {
    const double fraction = plan.pipelines[r].state_fraction;
    largest = std::max(largest, fraction);
    auto fabric = absl::c_find_if(fabrics, [&](const Fabric& f) {
      return SameGroups(f.together.gpus, members[r]->gpus);
    });
    if (fabric == fabrics.end()) fabric = fabrics.emplace(fabrics.end());
    Join(*members[r], fraction, *fabric);
  }
  const double one_ring_s = RingSeconds(
      cluster, members,
      TrafficOf(kind, parameters, parameter_bytes, members.size(), largest));
  if (!nests || fabrics.size() == 1 || fabrics.size() == members.size()) {
    return one_ring_s;
  }
  std::vector<const RingMember*> together;
  double largest_fabric = 0;
  double inner_s = 0;
  for (const Fabric& fabric : fabrics) {
    together.push_back(&fabric.together);
    largest_fabric = std::max(largest_fabric, fabric.fraction);
    if (fabric.members.size() == 1) continue;
    const double share =
        fabric.fraction > 0 ? fabric.largest_fraction / fabric.fraction : 1;
    inner_s = std::max(inner_s,
                       RingSeconds(cluster, fabric.members,
                                   TrafficOf(kind, parameters, parameter_bytes,
                                             fabric.members.size(), share)));
  }
  const double between_s =
      RingSeconds(cluster, together,
                  TrafficOf(kind, parameters, parameter_bytes, together.size(),
                            largest_fabric));
  return std::min(one_ring_s, inner_s + between_s);
}

// Sets reduce_s, gather_s and push_s. `stages` has every stage of every
// pipeline.
void SetSeconds(const ModelSpec& model, const Cluster& cluster,
                const TrainingOptions& training, const ReplicatedPlan& plan,
                const std::vector<std::vector<RingMember>>& stages, bool nests,
                ReplicaSegment& segment) {
  std::vector<const RingMember*> members;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    members.push_back(&stages[r][segment.stages[r]]);
  }
  const double parameters = ParametersOf(model, segment.begin, segment.end);
  const double gradient_bytes = GradientBytes(training);
  const RingKind kind = plan.sync == ReplicaSync::kAllReduce
                            ? RingKind::kAllReduce
                            : RingKind::kToOwners;
  if (plan.sync == ReplicaSync::kZero2) {
    segment.push_s =
        PushSeconds(cluster, plan, members, parameters * gradient_bytes);
  } else {
    segment.reduce_s = ExchangeSeconds(cluster, plan, members, kind, parameters,
                                       gradient_bytes, nests);
  }
  if (kind == RingKind::kAllReduce) return;
  segment.gather_s = ExchangeSeconds(cluster, plan, members, kind, parameters,
                                     ElementBytes(training.precision), nests);
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
  const bool nests = !ShareNodes(plan);
  OperatorCut begin;
  // The stage of each pipeline that holds the operator after `begin`.
  std::vector<int> stages(plan.pipelines.size());
  for (const OperatorCut end : cuts) {
    for (size_t r = 0; r < stages.size(); ++r) {
      const std::vector<PlacedStage>& all = plan.pipelines[r].plan.stages;
      while (all[stages[r]].plan.end <= begin) ++stages[r];
    }
    ReplicaSegment segment = {.begin = begin, .end = end, .stages = stages};
    SetSeconds(model, cluster, training, plan, members, nests, segment);
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
