#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/commands.h"
#include "cli/print/table.h"
#include "coordinator/planners/builtin/builtin_planners.h"

namespace tangram {
namespace {

std::string FeatureList(const PlannerFeatures& features) {
  std::vector<const char*> names;
  const auto add = [&](bool has, const char* name) {
    if (has) names.push_back(name);
  };
  add(features.heterogeneous, "unlike GPUs");
  add(features.mixes_parallelizers, "mixes of parallelizers");
  add(features.constraints, "constraints");
  add(features.runtimes, "runtimes");
  add(features.lower_bound, "lower bound");
  add(features.own_plans, "own plans");
  return absl::StrJoin(names, ", ");
}

}  // namespace

CommandResult Run(const PlannersOptions& /*options*/, Console& console) {
  Table planners({{"planner"}, {"what it does"}, {"knows"}});
  Table options(
      {{"planner"}, {"option"}, {"default"}, {"values"}, {"meaning"}});
  for (const PlannerInfo& planner : BuiltinPlanners().planners()) {
    planners.AddRow(
        {planner.name, planner.description, FeatureList(planner.features)});
    for (const PlannerOption& option : planner.options) {
      options.AddRow({planner.name, option.name, option.default_value,
                      DescribeValues(option), option.description});
    }
  }
  console.out << planners.ToString() << "\n" << options.ToString();
  return ExitCode::kOk;
}

}  // namespace tangram
