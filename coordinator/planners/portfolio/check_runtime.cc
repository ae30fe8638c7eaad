#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/obstacles.h"
#include "coordinator/planners/portfolio/plan_for_runtime.h"

namespace tangram {

bool HasFewGpus(const PlanRequest& request) {
  constexpr int kFewGpus = 64;
  return request.cluster->num_gpus() <= kFewGpus;
}

absl::Status CheckRuntime(const PlanningRuntime& runtime,
                          const PlanRequest& request) {
  Obstacles obstacles;
  obstacles.Add(runtime.Check(request.model, runtime.Train(request.training)));
  const std::optional<PipelineSchedule> schedule =
      DemandedSchedule(request.constraints);
  const PipelinePlan demanded{
      .schedule = schedule.value_or(PipelineSchedule::kOneFOneB)};
  const absl::string_view unknown = WhyNotScheduled(runtime.runs(), demanded);
  if (!unknown.empty()) {
    obstacles.Add(absl::InvalidArgumentError(
        absl::StrCat(runtime.name(), " does not run ", unknown)));
  }
  std::set<std::string> of_devices;
  for (const Node& node : request.cluster->nodes) {
    of_devices.insert(runtime.WhyNotDevice(node.device));
  }
  if (!of_devices.contains("")) {
    for (const std::string& why : of_devices) {
      obstacles.Add(absl::InvalidArgumentError(why));
    }
  }
  return obstacles.AsStatus();
}

}  // namespace tangram
