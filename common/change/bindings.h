#ifndef TANGRAM_COMMON_CHANGE_BINDINGS_H_
#define TANGRAM_COMMON_CHANGE_BINDINGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/cluster.h"

namespace tangram {

// A part of a cluster at twice its rate.
struct Binding {
  enum class Kind { kCompute, kMemoryRate, kInsideNodes, kLink };
  Kind kind = Kind::kCompute;
  std::string from;             // A group; of a link, the one end.
  std::string to;               // The other end of a link.
  double iteration_time_s = 0;  // With it.
};

// Returns the iteration time of one plan with each of these at twice its rate:
// arithmetic and memory bandwidth of the GPUs of each group, links inside its
// nodes, and links between two groups or between nodes of one. The plan stays
// as it is, so a better one may gain more. `time_of` evaluates it on a cluster.
// Fastest first; those that change nothing are left out. Devices with measured
// operators keep these.
absl::StatusOr<std::vector<Binding>> BindingsOf(
    const Cluster& cluster, double iteration_time_s,
    const std::function<absl::StatusOr<double>(const Cluster&)>& time_of);

}  // namespace tangram

#endif  // TANGRAM_COMMON_CHANGE_BINDINGS_H_
