#ifndef TANGRAM_COMMON_PLANNER_PLAN_CONSTRAINTS_H_
#define TANGRAM_COMMON_PLANNER_PLAN_CONSTRAINTS_H_

#include <string>
#include <vector>

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
  int last_layer = 0;  // The pin holds it too.
  std::string island;
  bool operator==(const LayerPin&) const = default;
};

// What every plan must respect, whatever it costs. An island is named by its
// number, its name, its type of GPU or a group of nodes in it; a name may stand
// for several islands.
struct PlanConstraints {
  std::vector<std::string> exclude_nodes;  // Of nodes, or of their groups.
  std::vector<std::string> exclude_islands;
  std::vector<IslandValue> tp_degrees;
  std::vector<IslandValue> dp_degrees;
  std::vector<IslandValue> max_stages;  // No island: of the whole pipeline.
  std::vector<LayerPin> pins;
  // The framework that is to run the plan, by the name of its export: nothing
  // else is planned than what that export holds. Empty: any.
  std::string runtime;

  bool none() const { return *this == PlanConstraints(); }
  bool operator==(const PlanConstraints&) const = default;
};

// For people, one each: "tp 4 on a100", "without node t4-0".
std::vector<std::string> DescribeConstraints(
    const PlanConstraints& constraints);

// As many as DescribeConstraints describes, in its order: `constraints` without
// the one described.
std::vector<PlanConstraints> WithoutEach(const PlanConstraints& constraints);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PLANNER_PLAN_CONSTRAINTS_H_
