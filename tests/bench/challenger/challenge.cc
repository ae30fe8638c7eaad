#include "tests/bench/challenger/challenge.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "frameworks/framework_catalogue.h"

namespace tangram::bench {

absl::StatusOr<std::string> PlannedRuntime(const PlanConstraints& asked,
                                           const PlanResult& result) {
  if (asked.runtime != kAutoRuntime) return asked.runtime;
  const double seconds = result.evaluation.iteration_time_s;
  for (const PlanAlternative& alternative : result.alternatives) {
    if (alternative.runtime != kAnyRuntime &&
        alternative.iteration_time_s.has_value() &&
        std::abs(*alternative.iteration_time_s - seconds) < 1e-9 * seconds) {
      return alternative.runtime;
    }
  }
  return absl::InvalidArgumentError(
      "the plan for runtime auto does not say which one it is for; expected "
      "--runtime NAME");
}

absl::Status SetRuntime(const std::string& name, const PipelinePlan& start,
                        Challenge& challenge) {
  challenge.rules = {};
  if (name.empty()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(const PlanningRuntime* runtime,
                           FrameworkCatalogue().Find(name));
  const Cluster& cluster = challenge.request.cluster;
  const int first_node = start.stages.front().gpus.front().node;
  const CollectiveLibrary library =
      cluster.nodes[first_node].device.collective_library;
  challenge.rules = {
      .runtime = &runtime->runs(),
      .why_not_device =
          [runtime, library](const DeviceSpec& device) {
            return device.collective_library != library
                       ? absl::StrCat("GPUs of ",
                                      CollectiveLibraryName(library))
                       : runtime->WhyNotDevice(device);
          },
      .fit =
          [runtime](const PlanRequest& request, const PipelinePlan& plan) {
            return runtime->Fit(request, plan);
          },
      .accepts_gpus = runtime->AcceptsGpus()};
  return absl::OkStatus();
}

}  // namespace tangram::bench
