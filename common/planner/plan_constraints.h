#ifndef TANGRAM_COMMON_PLANNER_PLAN_CONSTRAINTS_H_
#define TANGRAM_COMMON_PLANNER_PLAN_CONSTRAINTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/domain/pipeline_plan.h"
#include "common/domain/pipeline_schedule.h"
#include "common/domain/recompute_masks.h"
#include "common/domain/stage_limits.h"

namespace tangram {

// A number for every stage on some islands.
struct IslandValue {
  std::string island;  // Empty: all.
  int value = 0;
  bool operator==(const IslandValue&) const = default;
};

// Layers that must run on some islands. Layers count as in plans: 0 is the
// embedding.
struct LayerPin {
  int first_layer = 0;
  int last_layer = 0;  // Inclusive.
  std::string island;
  bool operator==(const LayerPin&) const = default;
};

// Values of PlanConstraints::runtime on the command line and in requests.
inline constexpr char kAutoRuntime[] = "auto";
inline constexpr char kAnyRuntime[] = "any";

// Requirements on every plan, even if other plans would be faster. An island is
// named by its number, its name, its type of GPU or a group of its nodes. A
// name may select several islands.
struct PlanConstraints {
  std::vector<std::string> exclude_nodes;  // Names of nodes or groups.
  std::vector<std::string> exclude_islands;
  std::vector<IslandValue> tp_degrees;
  std::vector<IslandValue> dp_degrees;
  std::vector<IslandValue> cp_degrees;
  // Groups of GPUs, however many chunks each runs. No island: of the whole
  // pipeline.
  std::vector<IslandValue> max_stages;
  std::vector<LayerPin> pins;
  // The framework that will run the plan, by the name of its export. Only plans
  // that this export can represent are planned. kAutoRuntime: the one with the
  // fastest plan. Empty: plans of any kind, also such as no framework runs.
  std::string runtime;
  // The recomputation of every transformer layer. Empty: whatever is
  // fastest.
  std::optional<LayerRecompute> recompute;
  // Every pipeline has them: its devices, the order of passes, and the chunks
  // of the model on each device. 0 or empty: free. 1F1B is the plain one,
  // without more warm-up passes.
  int pp_degree = 0;
  std::optional<PipelineSchedule> schedule;
  int virtual_stages = 0;
  // Every stage has them; see StageLimits.
  int ep_degree = 0;
  std::optional<int> zero_stage;
  int zero_degree = 0;

  bool none() const { return *this == PlanConstraints(); }
  // Whether a search for each framework is part of the answer.
  bool asks_all_runtimes() const {
    return runtime.empty() || runtime == kAutoRuntime;
  }
  bool operator==(const PlanConstraints&) const = default;
};

// Returns one description per constraint, for display: "tp 4 on a100", "without
// node t4-0".
std::vector<std::string> DescribeConstraints(
    const PlanConstraints& constraints);

// Returns the limits that the constraints set on every stage, on any island.
StageLimits LimitsOfAllStages(const PlanConstraints& constraints);

// Returns the schedule that the constraints demand, by its name or by a number
// of chunks. Empty: free.
std::optional<PipelineSchedule> DemandedSchedule(
    const PlanConstraints& constraints);

// Returns whether the constraints demand another schedule than 1F1B, under
// which plans are composed.
bool DemandsRescheduling(const PlanConstraints& constraints);

// Returns why a pipeline as a whole is not as the constraints demand: "3
// pipeline stages, expected 4". Empty if it is.
std::string WhyNotAsked(const PlanConstraints& constraints,
                        const PipelinePlan& plan);

// Returns whether a constraint is about an island. Its number or name may be
// that of another island once islands are divided or nodes are left out.
bool NamesIslands(const PlanConstraints& constraints);

// Returns `constraints` without the one of description `index` of
// DescribeConstraints.
PlanConstraints Without(PlanConstraints constraints, size_t index);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PLANNER_PLAN_CONSTRAINTS_H_
