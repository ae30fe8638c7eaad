#include "coordinator/planners/rivals/hetauto/hetauto_cost.h"

#include <algorithm>
#include <vector>

namespace tangram {
namespace {

// A stage with its place in the pipeline.
struct StageOfPlan {
  const HetAutoSection* section = nullptr;
  int num_layers = 0;
  bool is_first = false;
  bool is_last = false;
};

std::vector<StageOfPlan> StagesOf(const HetAutoPlan& plan) {
  std::vector<StageOfPlan> stages;
  for (const HetAutoSection& section : plan.sections) {
    for (const int layers : LayersOfStages(section)) {
      stages.push_back({.section = &section, .num_layers = layers});
    }
  }
  stages.front().is_first = true;
  stages.back().is_last = true;
  return stages;
}

const std::vector<LayerProfile>& ProfileOf(const HetAutoInput& input,
                                           const HetAutoSection& section,
                                           int samples) {
  return *input.profiles.Find({.type = input.clusters[section.cluster].type,
                               .tp_degree = section.tp_degree,
                               .samples = samples});
}

// Returns the sum over the layers of a stage of what `of` returns for a layer.
template <typename Of>
double SumOverLayers(const StageOfPlan& stage,
                     const std::vector<LayerProfile>& layers, const Of& of) {
  double sum = stage.num_layers * of(layers[1]);
  if (stage.is_first) sum += of(layers.front());
  if (stage.is_last) sum += of(layers.back());
  return sum;
}

// Whether the ranks of a stage that have the same weights are in one node.
bool FitsInNode(const HetAutoInput& input, const HetAutoPlan& plan,
                const HetAutoSection& section) {
  return section.tp_degree * section.cp_degree * plan.dp_degree <=
         input.clusters[section.cluster].gpus_per_node;
}

// Returns the bytes per second of each GPU of a stage to the others with the
// same weights. GPUs of a node share its link.
double GpuRate(const HetAutoInput& input, const HetAutoPlan& plan,
               const HetAutoSection& section) {
  const HetAutoCluster& cluster = input.clusters[section.cluster];
  return FitsInNode(input, plan, section)
             ? cluster.intra_bytes_per_s
             : cluster.inter_bytes_per_s / cluster.gpus_per_node;
}

double PassSeconds(const HetAutoInput& input, const HetAutoPlan& plan,
                   const StageOfPlan& stage) {
  const HetAutoSection& section = *stage.section;
  const std::vector<LayerProfile>& layers =
      ProfileOf(input, section, plan.samples);
  const StageOfPlan ends{
      .num_layers = 0, .is_first = stage.is_first, .is_last = stage.is_last};
  return stage.num_layers * LayerPassSeconds(input, section.cluster,
                                             section.tp_degree,
                                             section.cp_degree, plan.samples) +
         SumOverLayers(ends, layers, [](const LayerProfile& layer) {
           return layer.forward_s + layer.backward_s;
         }) / section.cp_degree;
}

// Returns the bytes per second from one stage to the next. Nodes of the smaller
// stage send at once. Stages of one node have its links inside.
double RateBetween(const HetAutoInput& input, const HetAutoSection& from,
                   const HetAutoSection& to) {
  const HetAutoCluster& a = input.clusters[from.cluster];
  const HetAutoCluster& b = input.clusters[to.cluster];
  const int gpus =
      std::min(a.num_gpus() / from.num_stages, b.num_gpus() / to.num_stages);
  if (from.cluster == to.cluster && a.num_nodes == 1) {
    return a.intra_bytes_per_s * gpus;
  }
  const double nodes =
      std::max(1, gpus / std::max(a.gpus_per_node, b.gpus_per_node));
  return nodes * (from.cluster == to.cluster
                      ? a.inter_bytes_per_s
                      : input.links[from.cluster][to.cluster]);
}

// Returns the seconds to hand a microbatch on and its gradients back.
double TransferSeconds(const HetAutoInput& input, const HetAutoPlan& plan,
                       const StageOfPlan& from, const StageOfPlan& to) {
  const double bytes =
      input.profiles.boundary_bytes_per_sample * plan.samples * plan.dp_degree;
  return 2 * bytes / RateBetween(input, *from.section, *to.section);
}

// Ring all-reduce over the n = dp · cp ranks that have the same weights, and
// the optimizer step.
double UpdateSeconds(const HetAutoInput& input, const HetAutoPlan& plan,
                     const StageOfPlan& stage) {
  const std::vector<LayerProfile>& layers =
      ProfileOf(input, *stage.section, plan.samples);
  const double gradients = SumOverLayers(
      stage, layers, [](const LayerProfile& l) { return l.gradient_bytes; });
  const double optimizer_s = SumOverLayers(
      stage, layers, [](const LayerProfile& l) { return l.optimizer_s; });
  const double n = plan.dp_degree * stage.section->cp_degree;
  return optimizer_s +
         2 * (n - 1) / n * gradients / GpuRate(input, plan, *stage.section);
}

// Returns the bytes of a GPU of a stage with so many microbatches in flight. A
// recomputed layer keeps its input alone, and one layer at a time is whole.
double BytesOf(const HetAutoInput& input, const HetAutoPlan& plan,
               const StageOfPlan& stage, int in_flight) {
  const std::vector<LayerProfile>& layers =
      ProfileOf(input, *stage.section, plan.samples);
  const double cp = stage.section->cp_degree;
  const double state = SumOverLayers(
      stage, layers, [](const LayerProfile& l) { return l.state_bytes; });
  const double transient =
      std::max({layers[1].transient_bytes,
                stage.is_first ? layers.front().transient_bytes : 0,
                stage.is_last ? layers.back().transient_bytes : 0});
  double kept = SumOverLayers(
      stage, layers, [](const LayerProfile& l) { return l.activation_bytes; });
  double again = 0;
  if (input.recompute) {
    const double input_bytes =
        input.profiles.boundary_bytes_per_sample * plan.samples;
    kept += stage.num_layers * (input_bytes - layers[1].activation_bytes);
    again = layers[1].activation_bytes;
  }
  return state + (in_flight * kept + again + transient) / cp;
}

}  // namespace

// Context parallelism divides the passes, and hands keys and values around the
// ranks once in the forward pass, and with their gradients in the backward
// pass.
double LayerPassSeconds(const HetAutoInput& input, int cluster, int tp_degree,
                        int cp_degree, int samples) {
  const HetAutoCluster& here = input.clusters[cluster];
  const LayerProfile& layer = (*input.profiles.Find(
      {.type = here.type, .tp_degree = tp_degree, .samples = samples}))[1];
  const double again_s = input.recompute ? layer.forward_s : 0;
  const double pass_s = layer.forward_s + layer.backward_s + again_s;
  if (cp_degree == 1) return pass_s;
  const bool in_node = tp_degree * cp_degree <= here.gpus_per_node;
  const double rate = in_node ? here.intra_bytes_per_s
                              : here.inter_bytes_per_s / here.gpus_per_node;
  const double around_bytes =
      samples * input.key_value_bytes / tp_degree * (cp_degree - 1) / cp_degree;
  return pass_s / cp_degree + 3 * around_bytes / rate;
}

HetAutoCost CostOf(const HetAutoInput& input, const HetAutoPlan& plan) {
  const std::vector<StageOfPlan> stages = StagesOf(plan);
  const int num_stages = static_cast<int>(stages.size());
  const int num_microbatches =
      input.global_batch_size / (plan.samples * plan.dp_degree);
  HetAutoCost cost;
  double latency_s = 0;
  double slowest_s = 0;
  double update_s = 0;
  for (int s = 0; s < num_stages; ++s) {
    const double pass_s = PassSeconds(input, plan, stages[s]);
    const double transfer_s =
        s + 1 < num_stages
            ? TransferSeconds(input, plan, stages[s], stages[s + 1])
            : 0;
    latency_s += pass_s + transfer_s;
    slowest_s = std::max({slowest_s, pass_s, transfer_s});
    update_s = std::max(update_s, UpdateSeconds(input, plan, stages[s]));
    const double bytes = BytesOf(input, plan, stages[s],
                                 std::min(num_microbatches, num_stages - s));
    cost.bytes_short = std::max(
        cost.bytes_short,
        bytes - input.clusters[stages[s].section->cluster].memory_bytes);
  }
  cost.iteration_s = latency_s + (num_microbatches - 1) * slowest_s + update_s;
  return cost;
}

}  // namespace tangram
