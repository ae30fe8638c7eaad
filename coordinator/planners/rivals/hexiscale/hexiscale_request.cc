#include "coordinator/planners/rivals/hexiscale/hexiscale_request.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/domain/stage_rules.h"
#include "coordinator/planners/rivals/listed/whole_layers.h"

namespace tangram {
namespace {

constexpr int kMostTp = 8;

// Parameters of a layer that work on each token.
double ActiveParameters(const LayerSpec& layer) {
  double sum = 0;
  for (const OpKind op : OperatorsOf(layer)) {
    const double share =
        IsExpertOp(op) && layer.num_experts > 0
            ? static_cast<double>(layer.experts_per_token) / layer.num_experts
            : 1;
    sum += share * ParameterCount(layer, op);
  }
  return sum;
}

HexiscaleModel ModelFor(const PlanRequest& request) {
  HexiscaleModel model{
      .sequence_length = static_cast<double>(request.training.sequence_length)};
  for (const LayerSpec& layer : request.model.layers) {
    if (layer.kind == LayerKind::kEmbedding) {
      model.positions = layer.max_position_embeddings;
      model.hidden_size = layer.hidden_size;
    } else if (layer.kind == LayerKind::kHead) {
      model.vocab_size = layer.vocab_size;
    } else {
      ++model.num_layers;
      model.attention_width +=
          layer.num_heads * (layer.head_dim + layer.value_head_dim) / 2.0;
      model.layer_parameters += ParameterCount(layer);
      model.active_parameters += ActiveParameters(layer);
    }
  }
  model.attention_width /= model.num_layers;
  model.layer_parameters /= model.num_layers;
  model.active_parameters /= model.num_layers;
  return model;
}

// Returns the greatest power of two that splits all layers.
int MostTpOf(const ModelSpec& model) {
  const auto splits = [&](int tp) {
    return std::all_of(model.layers.begin(), model.layers.end(),
                       [&](const LayerSpec& layer) {
                         return layer.kind != LayerKind::kTransformer ||
                                SplitsMixer(layer, tp);
                       });
  };
  int tp = 1;
  while (tp < kMostTp && splits(2 * tp)) tp *= 2;
  return tp;
}

// Returns the FLOP/s with which the closed form of a layer gives the profiled
// time of all transformer layers, without recomputation.
double ReachedFlops(const ModelSpec& model, const HexiscaleModel& shape,
                    const std::vector<LayerProfile>& layers, int samples) {
  double seconds = 0;
  for (int l = 0; l < model.num_layers(); ++l) {
    if (model.layers[l].kind != LayerKind::kTransformer) continue;
    seconds += layers[l].forward_s + layers[l].backward_s;
  }
  const double token_flops = 2 * shape.active_parameters +
                             4 * shape.sequence_length * shape.attention_width;
  return 3 * samples * shape.sequence_length * token_flops * shape.num_layers /
         seconds;
}

// Sets the memory that the profile of tp degree 1 says. The first transformer
// layer stands for all.
void SetMemory(const std::vector<LayerProfile>& layers, HexiscaleModel& shape) {
  const auto pass_bytes = [](const LayerProfile& layer) {
    return layer.activation_bytes + layer.transient_bytes;
  };
  const LayerProfile& layer = layers[1];  // After the embedding.
  shape.state_bytes = layer.state_bytes / layer.parameters;
  shape.pass_bytes = pass_bytes(layer);
  shape.head_pass_bytes = pass_bytes(layers.back());
}

// Returns the first GPU of each node in HexiScale's count.
std::vector<int> FirstGpus(const Cluster& cluster) {
  std::vector<int> first;
  int next = 0;
  for (const Node& node : cluster.nodes) {
    first.push_back(next);
    next += node.num_gpus;
  }
  return first;
}

PipelinePlan PlanOfPipeline(const PlanRequest& request, bool recompute,
                            const HexiscalePipeline& pipeline,
                            int microbatch_size) {
  const std::vector<int> first = FirstGpus(request.cluster);
  std::vector<int> layers;
  PipelinePlan plan{.pipeline_microbatch_size = microbatch_size};
  for (const HexiscaleStage& stage : pipeline.stages) {
    if (stage.num_layers == 0) continue;
    layers.push_back(stage.num_layers);
    PlacedStage& placed = plan.stages.emplace_back();
    for (const int gpu : stage.gpus) {
      placed.gpus.push_back(
          {.node = stage.machine, .index = gpu - first[stage.machine]});
    }
  }
  std::vector<StagePlan> stages =
      StagesOfLayers(request.model, layers, recompute);
  for (size_t s = 0; s < stages.size(); ++s) {
    stages[s].parallelism.tp_degree =
        static_cast<int>(plan.stages[s].gpus.size());
    plan.stages[s].plan = std::move(stages[s]);
  }
  return plan;
}

// Returns the microbatches of each pipeline, which together are the batch.
absl::StatusOr<std::vector<int>> SharesOf(const PlanRequest& request,
                                          const HexiscalePlan& plan) {
  const int batch = request.training.global_batch_size;
  const int p = static_cast<int>(plan.pipelines.size());
  const int number = batch / plan.microbatch_size;
  if (batch % plan.microbatch_size != 0 || number < p) {
    return absl::InvalidArgumentError(absl::StrCat(
        "global_batch_size: ", batch, "; expected microbatches of ",
        plan.microbatch_size, " samples for ", p, " pipelines"));
  }
  std::vector<int> shares;
  int sum = 0;
  for (const HexiscalePipeline& pipeline : plan.pipelines) {
    shares.push_back(pipeline.num_microbatches);
    sum += pipeline.num_microbatches;
  }
  if (sum == number) return shares;
  for (int r = 0; r < p; ++r) shares[r] = (number + p - 1 - r) / p;
  return shares;
}

}  // namespace

HexiscaleInput InputFor(const PlanRequest& request,
                        const LayerProfiles& profiles, int samples) {
  const Cluster& cluster = request.cluster;
  HexiscaleInput input{.model = ModelFor(request),
                       .global_batch_size = request.training.global_batch_size,
                       .microbatch_size = samples,
                       .max_tp_degree = MostTpOf(request.model)};
  for (size_t n = 0; n < cluster.nodes.size(); ++n) {
    const Node& node = cluster.nodes[n];
    const int type = profiles.type_of_node[n];
    const std::vector<LayerProfile>& layers =
        *profiles.Find({.type = type, .tp_degree = 1, .samples = samples});
    const ProfiledType& profiled = profiles.types[type];
    input.machines.push_back(
        {.num_gpus = node.num_gpus,
         .flops_per_s =
             ReachedFlops(request.model, input.model, layers, samples),
         .memory_bytes = (profiled.memory_bytes - profiled.reserved_bytes) /
                         (1 + node.device.efficiency.fragmentation),
         .bytes_per_s = node.intra_node.bandwidth_bytes_per_s,
         .group = node.group});
    if (n == 0) SetMemory(layers, input.model);
  }
  for (size_t a = 0; a < cluster.links.size(); ++a) {
    std::vector<double>& row = input.links.emplace_back();
    for (size_t b = 0; b < cluster.links.size(); ++b) {
      row.push_back(std::min(cluster.links[a][b].pair_bandwidth_bytes_per_s,
                             cluster.links[b][a].pair_bandwidth_bytes_per_s));
    }
  }
  return input;
}

absl::StatusOr<Proposal> ProposalOf(const PlanRequest& request,
                                    const HexiscaleInput& input,
                                    const HexiscalePlan& plan) {
  absl::StatusOr<std::vector<int>> shares = SharesOf(request, plan);
  if (!shares.ok()) return shares.status();
  Proposal proposal{.predicted_s = plan.iteration_s};
  std::vector<PipelineReplica> pipelines;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    pipelines.push_back(
        {.plan = PlanOfPipeline(request, input.recompute, plan.pipelines[r],
                                plan.microbatch_size),
         .num_microbatches = (*shares)[r]});
  }
  if (pipelines.size() == 1) {
    proposal.plan = std::move(pipelines.front().plan);
  } else {
    proposal.replicated_plan = {.pipelines = std::move(pipelines)};
  }
  return proposal;
}

}  // namespace tangram
