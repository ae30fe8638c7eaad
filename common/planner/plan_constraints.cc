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
  return all;
}

StageLimits LimitsOfAllStages(const PlanConstraints& constraints) {
  return {.recompute = constraints.recompute};
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
    if (index == 0 && !constraints.runtime.empty()) {
      constraints.runtime.clear();
    } else {
      constraints.recompute.reset();
    }
  }
  return constraints;
}

}  // namespace tangram
