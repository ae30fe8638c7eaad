#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/commands.h"
#include "cli/print/answer_json.h"
#include "cli/print/table.h"
#include "coordinator/planners/builtin/builtin_planners.h"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

std::vector<const char*> FeatureNames(const PlannerFeatures& features) {
  std::vector<const char*> names;
  const auto add = [&](bool has, const char* name) {
    if (has) names.push_back(name);
  };
  add(features.heterogeneous, "unlike GPUs");
  add(features.leaves_out_gpus, "parts of clusters");
  add(features.parallelizers, "parallelizers");
  add(features.mixes_parallelizers, "mixes of parallelizers");
  add(features.constraints, "constraints");
  add(features.runtimes, "runtimes");
  add(features.lower_bound, "lower bound");
  return names;
}

}  // namespace

CommandResult Run(const PlannersOptions& /*options*/, Console& console) {
  Table planners({{"planner"}, {"what it does"}, {"knows"}});
  Table options(
      {{"planner"}, {"option"}, {"default"}, {"values"}, {"meaning"}});
  Json list = Json::array();
  for (const PlannerInfo& planner : BuiltinPlanners().planners()) {
    Json option_list = Json::array();
    planners.AddRow({planner.name, planner.description,
                     absl::StrJoin(FeatureNames(planner.features), ", ")});
    for (const PlannerOption& option : planner.options) {
      option_list.push_back({{"option", option.name},
                             {"default", option.default_value},
                             {"values", DescribeValues(option)},
                             {"meaning", option.description}});
      options.AddRow({planner.name, option.name, option.default_value,
                      DescribeValues(option), option.description});
    }
    list.push_back({{"planner", planner.name},
                    {"description", planner.description},
                    {"knows", FeatureNames(planner.features)},
                    {"options", option_list}});
  }
  if (console.format == OutputFormat::kJson) {
    PrintJson({{"format_version", "tangram.planners/v1"}, {"planners", list}},
              console);
    return ExitCode::kOk;
  }
  console.out << planners.ToString() << "\n" << options.ToString();
  return ExitCode::kOk;
}

}  // namespace tangram
