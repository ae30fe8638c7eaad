#include "common/planner/pipeline_rules.h"

namespace tangram {

std::string WhyNotDevices(const PipelineRules& rules, const Cluster& cluster,
                          absl::Span<const int> nodes) {
  if (!rules.why_not_device) return "";
  for (const int node : nodes) {
    std::string why = rules.why_not_device(cluster.nodes[node].device);
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace tangram
