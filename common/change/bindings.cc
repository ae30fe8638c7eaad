#include "common/change/bindings.h"

#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"

namespace tangram {
namespace {

constexpr double kFaster = 2;
// Less is rounding, or an event that moved.
constexpr double kLeastGain = 1e-4;

void SpeedUp(Link& link) {
  link.bandwidth_bytes_per_s *= kFaster;
  link.pair_bandwidth_bytes_per_s *= kFaster;
}

void SpeedUp(PeakFlops& flops) {
  flops.fp32 *= kFaster;
  flops.fp16 *= kFaster;
  flops.bf16 *= kFaster;
  flops.fp8 *= kFaster;
}

// Returns the cluster with every node of the group changed.
template <typename Change>
Cluster WithNodes(const Cluster& cluster, size_t group, const Change& change) {
  Cluster changed = cluster;
  for (Node& node : changed.nodes) {
    if (node.group == static_cast<int>(group)) change(node);
  }
  return changed;
}

}  // namespace

absl::StatusOr<std::vector<Binding>> BindingsOf(
    const Cluster& cluster, double iteration_time_s,
    const std::function<absl::StatusOr<double>(const Cluster&)>& time_of) {
  std::vector<Binding> bindings;
  const auto add = [&](Binding::Kind kind, size_t from, size_t to,
                       const Cluster& changed) -> absl::Status {
    TANGRAM_ASSIGN_OR_RETURN(const double seconds, time_of(changed));
    if (seconds < iteration_time_s * (1 - kLeastGain)) {
      bindings.push_back({.kind = kind,
                          .from = cluster.groups[from],
                          .to = cluster.groups[to],
                          .iteration_time_s = seconds});
    }
    return absl::OkStatus();
  };
  for (size_t g = 0; g < cluster.groups.size(); ++g) {
    TANGRAM_RETURN_IF_ERROR(add(
        Binding::Kind::kCompute, g, g,
        WithNodes(cluster, g, [](Node& n) { SpeedUp(n.device.peak_flops); })));
    TANGRAM_RETURN_IF_ERROR(add(
        Binding::Kind::kMemoryRate, g, g, WithNodes(cluster, g, [](Node& n) {
          n.device.memory_bandwidth_bytes_per_s *= kFaster;
        })));
    TANGRAM_RETURN_IF_ERROR(
        add(Binding::Kind::kInsideNodes, g, g,
            WithNodes(cluster, g, [](Node& n) { SpeedUp(n.intra_node); })));
    for (size_t to = g; to < cluster.groups.size(); ++to) {
      Cluster changed = cluster;
      SpeedUp(changed.links[g][to]);
      if (to != g) SpeedUp(changed.links[to][g]);
      TANGRAM_RETURN_IF_ERROR(add(Binding::Kind::kLink, g, to, changed));
    }
  }
  std::stable_sort(bindings.begin(), bindings.end(),
                   [](const Binding& a, const Binding& b) {
                     return a.iteration_time_s < b.iteration_time_s;
                   });
  return bindings;
}

}  // namespace tangram
