#include "coordinator/planners/rivals/metis/metis_request.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "coordinator/planners/rivals/profiles/layer_profiles.h"

namespace tangram {
namespace {

constexpr double kMsPerSecond = 1e3;
constexpr double kBytesPerMb = 1e6;
constexpr double kBytesPerMib = 1 << 20;
// M6 refuses plans without any time beside the layers, which these profiles do
// not have.
constexpr double kLeastSyncMs = 1e-3;

double MibPerMs(double bytes_per_s) {
  return bytes_per_s / kBytesPerMib / kMsPerSecond;
}

// The slowest link from `node` to others of `nodes`, or inside it if there are
// none.
double SlowestLink(const Cluster& cluster, int node) {
  double slowest = cluster.nodes[node].intra_node.bandwidth_bytes_per_s;
  bool found = false;
  for (int other = 0; other < static_cast<int>(cluster.nodes.size()); ++other) {
    if (other == node) continue;
    const double link = cluster.LinkBetween(node, other).bandwidth_bytes_per_s;
    slowest = found ? std::min(slowest, link) : link;
    found = true;
  }
  return slowest;
}

MetisProfile ProfileFor(const std::vector<LayerProfile>& layers,
                        double sync_ms) {
  MetisProfile profile{.sync_ms = sync_ms};
  for (const LayerProfile& layer : layers) {
    profile.layer_ms.push_back((layer.forward_s + layer.backward_s) *
                               kMsPerSecond);
    profile.state_mb.push_back(layer.state_bytes / kBytesPerMb);
    profile.activation_mb.push_back(layer.activation_bytes / kBytesPerMb);
    profile.transient_mb.push_back(layer.transient_bytes / kBytesPerMb);
    profile.optimizer_ms.push_back(layer.optimizer_s * kMsPerSecond);
  }
  return profile;
}

// GPU ids of the plan's ranks.
std::vector<GpuId> RanksOf(const MetisRequest& request, const MetisPlan& plan) {
  std::vector<GpuId> ranks;
  for (const int type : plan.types) {
    ranks.insert(ranks.end(), request.gpus[type].begin(),
                 request.gpus[type].end());
  }
  return ranks;
}

// Adjacent replicas of one type with equal shares make one group.
// `type_of_rank`: that of the stage's first rank and on.
MixedReplicas GroupsOf(const MetisStage& stage, const int* type_of_rank) {
  MixedReplicas mixed;
  int previous_type = -1;
  int previous_share = -1;
  for (const int share : stage.shares) {
    if (share != previous_share || *type_of_rank != previous_type) {
      mixed.groups.push_back(
          {.parallelism = {.tp_degree = stage.tp, .dp_degree = 0}});
    }
    ReplicaGroup& group = mixed.groups.back();
    ++group.parallelism.dp_degree;
    group.share += share;
    previous_share = share;
    previous_type = *type_of_rank;
    type_of_rank += stage.tp;
  }
  return mixed;
}

}  // namespace

MetisRequest MakeMetisRequest(const PlanRequest& request,
                              const MetisSettings& settings) {
  const Cluster& cluster = request.cluster;
  const LayerProfiles profiles = ProfileLayers(
      request.model, cluster, request.training,
      {.max_tp_degree = settings.max_tp, .max_samples = settings.max_samples});
  int common = 0;  // GPUs of a host with M10.
  for (const Node& node : cluster.nodes) {
    common = std::gcd(common, node.num_gpus);
  }
  MetisRequest result;
  MetisInput& input = result.input;
  std::vector<int> type_of(profiles.types.size(), -1);  // By profiled type.
  for (int node = 0; node < static_cast<int>(cluster.nodes.size()); ++node) {
    const Node& here = cluster.nodes[node];
    const int profiled = profiles.type_of_node[node];
    int& type = type_of[profiled];
    if (type < 0) {
      type = input.num_types++;
      result.gpus.emplace_back();
      input.reserved_mb.push_back(profiles.types[profiled].reserved_bytes /
                                  kBytesPerMb);
      const double sync_ms =
          settings.defects.drops_zero_sync ? kLeastSyncMs : 0;
      for (const auto& [key, layers] : profiles.layers) {
        if (key.type != profiled) continue;
        input.profiles[{type, key.tp_degree, key.samples}] =
            ProfileFor(layers, sync_ms);
      }
    }
    const int per_host = settings.defects.equal_hosts ? common : here.num_gpus;
    for (int gpu = 0; gpu < here.num_gpus; ++gpu) {
      result.gpus[type].push_back({node, gpu});
      if (gpu % per_host != 0) continue;
      input.hosts.push_back(
          {.type = type,
           .num_gpus = per_host,
           .memory_mb = here.device.memory_bytes / kBytesPerMb,
           .intra_bandwidth = MibPerMs(here.intra_node.bandwidth_bytes_per_s),
           .inter_bandwidth = MibPerMs(SlowestLink(cluster, node))});
    }
  }
  if (profiles.layers.empty()) return result;
  const auto& [key, layers] = *profiles.layers.begin();
  for (const LayerProfile& layer : layers) {
    input.parameter_bytes.push_back(layer.gradient_bytes * key.tp_degree);
    input.optimizer_ms += layer.optimizer_s * key.tp_degree * kMsPerSecond;
  }
  input.output_bytes.assign(layers.size(), profiles.boundary_bytes_per_sample);
  return result;
}

bool CanRun(const MetisRequest& request, const MetisPlan& plan) {
  const std::vector<GpuId> ranks = RanksOf(request, plan);
  if (plan.costed_stages != static_cast<int>(plan.stages.size())) return false;
  if (plan.stages.back().end_layer != request.input.num_layers()) return false;
  int first = 0;
  for (const MetisStage& stage : plan.stages) {
    if (stage.begin_layer == stage.end_layer) return false;
    if (absl::c_linear_search(stage.shares, 0)) return false;
    for (int end = first + stage.num_gpus; first < end; first += stage.tp) {
      if (ranks[first].node != ranks[first + stage.tp - 1].node) return false;
    }
  }
  return true;
}

PipelinePlan ToPipelinePlan(const MetisRequest& request, const MetisPlan& plan,
                            int global_batch) {
  const std::vector<GpuId> ranks = RanksOf(request, plan);
  std::vector<int> type_of_rank;
  for (const int type : plan.types) {
    type_of_rank.insert(type_of_rank.end(), request.gpus[type].size(), type);
  }
  PipelinePlan result{.pipeline_microbatch_size = global_batch / plan.batches};
  auto next = ranks.begin();
  for (const MetisStage& stage : plan.stages) {
    PlacedStage placed;
    placed.plan.begin = {stage.begin_layer, 0};
    placed.plan.end = {stage.end_layer, 0};
    placed.plan.recompute = {{stage.end_layer - stage.begin_layer}};
    placed.gpus.assign(next, next + stage.num_gpus);
    if (stage.shares.size() > 1) {
      placed.mixed = GroupsOf(stage, &type_of_rank[next - ranks.begin()]);
    } else {
      placed.plan.parallelism = {.tp_degree = stage.tp, .dp_degree = stage.dp};
    }
    next += stage.num_gpus;
    result.stages.push_back(std::move(placed));
  }
  return result;
}

}  // namespace tangram
