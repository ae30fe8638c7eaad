#include "common/planner/plan_constraints.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

std::string OnIsland(const std::string& island) {
  return island.empty() ? "" : " on " + island;
}

std::string Describe(const IslandValue& value, const char* what) {
  return absl::StrCat(what, " ", value.value, OnIsland(value.island));
}

std::string Describe(const LayerPin& pin) {
  return absl::StrCat(
      pin.first_layer == pin.last_layer ? "layer " : "layers ", pin.first_layer,
      pin.first_layer == pin.last_layer ? ""
                                        : absl::StrCat("-", pin.last_layer),
      OnIsland(pin.island));
}

// A constraint of which there is one, and how to drop it.
struct Single {
  std::string text;
  void (*drop)(PlanConstraints&);
};

// Returns those that are given, without runtime and recomputation.
std::vector<Single> SinglesOf(const PlanConstraints& constraints) {
  std::vector<Single> singles;
  if (constraints.pp_degree > 0) {
    singles.push_back({absl::StrCat("pp ", constraints.pp_degree),
                       [](PlanConstraints& c) { c.pp_degree = 0; }});
  }
  if (constraints.schedule.has_value()) {
    singles.push_back(
        {absl::StrCat("schedule ", ScheduleName(*constraints.schedule)),
         [](PlanConstraints& c) { c.schedule.reset(); }});
  }
  if (constraints.virtual_stages > 0) {
    singles.push_back({absl::StrCat("vpp ", constraints.virtual_stages),
                       [](PlanConstraints& c) { c.virtual_stages = 0; }});
  }
  if (constraints.ep_degree > 0) {
    singles.push_back({absl::StrCat("ep ", constraints.ep_degree),
                       [](PlanConstraints& c) { c.ep_degree = 0; }});
  }
  if (constraints.zero_stage.has_value()) {
    singles.push_back({absl::StrCat("zero ", *constraints.zero_stage),
                       [](PlanConstraints& c) { c.zero_stage.reset(); }});
  }
  if (constraints.zero_degree > 0) {
    singles.push_back({absl::StrCat("zero over ", constraints.zero_degree),
                       [](PlanConstraints& c) { c.zero_degree = 0; }});
  }
  return singles;
}

// Erases element `index` of `list`, if it has so many. Otherwise counts the
// elements off `index`. Returns whether it has erased one.
template <typename T>
bool EraseAt(size_t& index, std::vector<T>& list) {
  if (index < list.size()) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
    return true;
  }
  index -= list.size();
  return false;
}

}  // namespace

std::vector<std::string> DescribeConstraints(
    const PlanConstraints& constraints) {
  std::vector<std::string> all;
  for (const std::string& node : constraints.exclude_nodes) {
    all.push_back("without node " + node);
  }
  for (const std::string& island : constraints.exclude_islands) {
    all.push_back("without island " + island);
  }
  for (const IslandValue& tp : constraints.tp_degrees) {
    all.push_back(Describe(tp, "tp"));
  }
  for (const IslandValue& dp : constraints.dp_degrees) {
    all.push_back(Describe(dp, "dp"));
  }
  for (const IslandValue& cp : constraints.cp_degrees) {
    all.push_back(Describe(cp, "cp"));
  }
  for (const IslandValue& most : constraints.max_stages) {
    all.push_back(Describe(most, "stages at most"));
  }
  for (const LayerPin& pin : constraints.pins) all.push_back(Describe(pin));
  if (!constraints.runtime.empty()) {
    all.push_back("runtime " + constraints.runtime);
  }
  if (constraints.recompute.has_value()) {
    all.push_back(
        absl::StrCat("recompute ", RecomputeName(*constraints.recompute)));
  }
  for (const Single& single : SinglesOf(constraints)) {
    all.push_back(single.text);
  }
  return all;
}

StageLimits LimitsOfAllStages(const PlanConstraints& constraints) {
  return {.ep_degree = constraints.ep_degree,
          .zero_stage = constraints.zero_stage,
          .zero_degree = constraints.zero_degree,
          .recompute = constraints.recompute};
}

std::optional<PipelineSchedule> DemandedSchedule(
    const PlanConstraints& constraints) {
  if (constraints.schedule.has_value()) return constraints.schedule;
  if (constraints.virtual_stages > 1) return PipelineSchedule::kInterleaved;
  return std::nullopt;
}

bool DemandsRescheduling(const PlanConstraints& constraints) {
  return DemandedSchedule(constraints).value_or(PipelineSchedule::kOneFOneB) !=
         PipelineSchedule::kOneFOneB;
}

std::string WhyNotAsked(const PlanConstraints& constraints,
                        const PipelinePlan& plan) {
  const auto is_other = [](int asked_for, int found) {
    return asked_for > 0 && asked_for != found;
  };
  if (is_other(constraints.pp_degree, plan.num_devices())) {
    return absl::StrCat("pp ", plan.num_devices(), ", expected ",
                        constraints.pp_degree);
  }
  const std::optional<PipelineSchedule> schedule =
      DemandedSchedule(constraints);
  if (schedule.has_value() && *schedule != plan.schedule) {
    return absl::StrCat("schedule ", ScheduleName(plan.schedule), ", expected ",
                        ScheduleName(*schedule));
  }
  if (schedule.has_value() && !plan.warm_up_passes.empty()) {
    return "more warm-up passes, expected those of 1f1b";
  }
  if (is_other(constraints.virtual_stages, plan.virtual_stages)) {
    return absl::StrCat("vpp ", plan.virtual_stages, ", expected ",
                        constraints.virtual_stages);
  }
  return "";
}

bool NamesIslands(const PlanConstraints& constraints) {
  const auto names_one = [](const auto& constraint) {
    return !constraint.island.empty();
  };
  return !constraints.exclude_islands.empty() || !constraints.pins.empty() ||
         absl::c_any_of(constraints.tp_degrees, names_one) ||
         absl::c_any_of(constraints.dp_degrees, names_one) ||
         absl::c_any_of(constraints.cp_degrees, names_one) ||
         absl::c_any_of(constraints.max_stages, names_one);
}

PlanConstraints Without(PlanConstraints constraints, size_t index) {
  if (!EraseAt(index, constraints.exclude_nodes) &&
      !EraseAt(index, constraints.exclude_islands) &&
      !EraseAt(index, constraints.tp_degrees) &&
      !EraseAt(index, constraints.dp_degrees) &&
      !EraseAt(index, constraints.cp_degrees) &&
      !EraseAt(index, constraints.max_stages) &&
      !EraseAt(index, constraints.pins)) {
    if (!constraints.runtime.empty() && index-- == 0) {
      constraints.runtime.clear();
    } else if (constraints.recompute.has_value() && index-- == 0) {
      constraints.recompute.reset();
    } else {
      SinglesOf(constraints)[index].drop(constraints);
    }
  }
  return constraints;
}

}  // namespace tangram
