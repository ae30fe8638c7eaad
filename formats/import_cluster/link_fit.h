#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_LINK_FIT_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_LINK_FIT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "formats/import_profile/nccl_output.h"

namespace tangram {

// The slowest link of the ring that a collective used.
struct FittedLink {
  double bandwidth_bytes_per_s = 0;  // Bus bandwidth of large messages.
  std::optional<double> latency_s;   // Per hop; empty: too few sizes.
  int ranks = 0;
  int nodes = 0;      // 0: not reported.
  int num_sizes = 0;  // Message sizes that were measured.

  // Describes the run: "all_reduce over 8 GPUs of 2 nodes, 20 sizes".
  std::string what;
};

// Fits t = α · hops + bytes · factor / bandwidth. `hops` is what the cost model
// counts: a tree's depth, twice for all-reduce. `factor` is the bus factor of
// nccl-tests: 2(n-1)/n for all-reduce, (n-1)/n for other collectives, 1 for
// pairs. The fit minimises relative errors, so small sizes count as much as
// large ones. With fewer than three sizes, or if no line fits, the bandwidth is
// the highest bus bandwidth and there is no latency. kInvalidArgument for a run
// from which no link can be told.
absl::StatusOr<FittedLink> FitLink(const NcclRun& run);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_LINK_FIT_H_
