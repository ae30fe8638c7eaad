#include "common/planner/plan_constraints.h"

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

// Appends one copy of `all` per element of the member, without that element.
template <typename T>
void AppendWithoutEach(const PlanConstraints& all,
                       std::vector<T> PlanConstraints::*member,
                       std::vector<PlanConstraints>& without) {
  for (size_t i = 0; i < (all.*member).size(); ++i) {
    std::vector<T>& rest = without.emplace_back(all).*member;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
  }
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
  for (const IslandValue& most : constraints.max_stages) {
    all.push_back(Describe(most, "stages at most"));
  }
  for (const LayerPin& pin : constraints.pins) all.push_back(Describe(pin));
  if (!constraints.runtime.empty()) {
    all.push_back("runtime " + constraints.runtime);
  }
  return all;
}

std::vector<PlanConstraints> WithoutEach(const PlanConstraints& constraints) {
  std::vector<PlanConstraints> without;
  AppendWithoutEach(constraints, &PlanConstraints::exclude_nodes, without);
  AppendWithoutEach(constraints, &PlanConstraints::exclude_islands, without);
  AppendWithoutEach(constraints, &PlanConstraints::tp_degrees, without);
  AppendWithoutEach(constraints, &PlanConstraints::dp_degrees, without);
  AppendWithoutEach(constraints, &PlanConstraints::max_stages, without);
  AppendWithoutEach(constraints, &PlanConstraints::pins, without);
  if (!constraints.runtime.empty()) {
    without.emplace_back(constraints).runtime.clear();
  }
  return without;
}

}  // namespace tangram
