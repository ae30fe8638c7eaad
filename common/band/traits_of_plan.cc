#include "common/band/traits_of_plan.h"

#include <set>

#include "absl/strings/str_join.h"

namespace tangram {
namespace {

// Ranks that share the tensors of a layer, from which waiting for the slowest
// of them shows.
constexpr int kWideTp = 8;

// Between PCIe 5.0, 44 GB/s at most, and the slowest NVLink of a whole node.
constexpr double kFastBytesPerS = 50e9;

// Joins the generations of GPU types. Empty if one is unknown.
std::string JoinGenerations(const ResidualTable& table,
                            const std::set<std::string>& types) {
  std::set<std::string> generations;
  for (const std::string& type : types) {
    generations.insert(table.GenerationOf(type));
  }
  if (generations.contains("")) return "";
  return absl::StrJoin(generations, "+");
}

void AddNode(const Node& node, std::set<std::string>& types,
             PredictionTraits& traits) {
  types.insert(node.device.type);
  if (node.intra_node.bandwidth_bytes_per_s < kFastBytesPerS) {
    traits.fast_fabric = false;
  }
}

}  // namespace

PredictionTraits TraitsOfPlan(const ResidualTable& table,
                              const ModelSpec& model, const Cluster& cluster,
                              absl::Span<const PipelinePlan* const> pipelines,
                              absl::string_view framework) {
  std::set<GpuId> gpus;
  std::set<std::string> types;
  PredictionTraits traits{.framework = std::string(framework),
                          .experts = model.has_experts()};
  for (const PipelinePlan* plan : pipelines) {
    for (const PlacedStage& stage : plan->stages) {
      gpus.insert(stage.gpus.begin(), stage.gpus.end());
      if (stage.plan.parallelism.tp_degree >= kWideTp) traits.wide = true;
    }
  }
  traits.fast_fabric = true;
  for (const GpuId& gpu : gpus) {
    AddNode(cluster.nodes[gpu.node], types, traits);
  }
  traits.generation = JoinGenerations(table, types);
  traits.scale = ScaleOf(static_cast<int>(gpus.size()));
  return traits;
}

PredictionTraits TraitsOfCluster(const ResidualTable& table,
                                 const ModelSpec& model, const Cluster& cluster,
                                 absl::string_view framework) {
  std::set<std::string> types;
  PredictionTraits traits{.framework = std::string(framework),
                          .experts = model.has_experts(),
                          .fast_fabric = true,
                          .scale = ScaleOf(cluster.num_gpus())};
  for (const Node& node : cluster.nodes) AddNode(node, types, traits);
  traits.generation = JoinGenerations(table, types);
  return traits;
}

absl::string_view FrameworkOfRuntime(absl::string_view runtime) {
  constexpr struct {
    absl::string_view runtime;
    absl::string_view framework;
  } kFrameworks[] = {{"megatron", "Megatron-Core"},
                     {"flagscale", "Megatron-Core"},
                     {"torchtitan", "FSDP"},
                     {"deepspeed", "Megatron-DeepSpeed"},
                     {"aceso", "Aceso"},
                     {"sailor", "Sailor"},
                     {"mist", "Mist"},
                     {"alpa", "Alpa"}};
  for (const auto& known : kFrameworks) {
    if (known.runtime == runtime) return known.framework;
  }
  return "";
}

}  // namespace tangram
