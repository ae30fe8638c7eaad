#include "coordinator/planners/portfolio/runtime_attempts.h"

#include <set>

#include "absl/algorithm/container.h"

namespace tangram {

std::vector<std::optional<CollectiveLibrary>> LibrariesOf(
    const Cluster& cluster) {
  std::set<CollectiveLibrary> all;
  for (const Node& node : cluster.nodes) {
    all.insert(node.device.collective_library);
  }
  if (all.size() < 2) return {std::nullopt};
  return {all.begin(), all.end()};
}

// Chunks would run layers elsewhere than pins say.
bool MayRunInChunks(const Runtime& runtime, const PlanRequest& request) {
  const PlanConstraints& constraints = request.constraints;
  return runtime.interleaved && !request.training.blocking_transfers &&
         !DemandedSchedule(constraints).has_value() &&
         constraints.virtual_stages != 1 && constraints.pp_degree != 1 &&
         constraints.pins.empty();
}

PlanRequest InChunks(PlanRequest request) {
  request.constraints.schedule = PipelineSchedule::kInterleaved;
  return request;
}

std::vector<RuntimeVariant> VariantsOf(const PlanningRuntime& runtime,
                                       const PlanRequest& request,
                                       absl::Span<const Island> islands) {
  std::vector<IslandSpec> specs;
  for (const Island& island : islands) specs.push_back(island.spec);
  std::vector<int> tp_degrees;
  for (const IslandValue& tp : request.constraints.tp_degrees) {
    tp_degrees.push_back(tp.value);
  }
  return runtime.Variants(request.model, request.training, specs, tp_degrees);
}

std::vector<RuntimeAttempt> AttemptsOf(
    absl::Span<const std::optional<CollectiveLibrary>> libraries,
    absl::Span<const RuntimeVariant> variants, int chunks) {
  std::vector<RuntimeAttempt> attempts;
  const auto add_all = [&](int of_chunks) {
    for (const std::optional<CollectiveLibrary>& library : libraries) {
      for (const RuntimeVariant& variant : variants) {
        attempts.push_back({.variant = variant,
                            .library = library,
                            .chunks = of_chunks,
                            .number = static_cast<int>(attempts.size())});
      }
    }
  };
  add_all(1);
  if (chunks > 1) add_all(chunks);
  return attempts;
}

bool FixesDegreesOfStages(const RuntimeVariant& variant) {
  return variant.stages.tp_degree > 0;
}

bool FixSomeDegrees(absl::Span<const RuntimeVariant> variants) {
  return absl::c_any_of(variants, [](const RuntimeVariant& variant) {
    return FixesDegreesOfStages(variant) || variant.ends.tp_degree > 0;
  });
}

PipelineRules WithoutShared(PipelineRules rules) {
  StageLimits& stages = rules.stages;
  stages.tp_degree = stages.dp_degree = stages.cp_degree = 0;
  stages.gpus_per_stage = stages.max_stages = 0;
  stages.each_depth = false;
  rules.ends = {};
  rules.gpus_per_node = 0;
  return rules;
}

}  // namespace tangram
