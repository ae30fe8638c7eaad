#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_LINK_FIT_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_LINK_FIT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "formats/import_profile/nccl_output.h"

namespace tangram {

// The slowest link of the ring that a collective went round.
struct FittedLink {
  double bandwidth_bytes_per_s = 0;  // Bus bandwidth, in the limit.
  std::optional<double> latency_s;   // Of one hop; empty: too few sizes.
  int ranks = 0;
  int nodes = 0;  // 0: not said.
  int num_sizes = 0;

  // "all_reduce over 8 GPUs of 2 nodes, 20 sizes".
  std::string what;
};

// Fits t = α · hops + bytes · factor / bandwidth, where hops is what the cost
// model counts (a tree's depth, twice for all-reduce) and factor the bus factor
// of nccl-tests (2(n-1)/n for all-reduce, (n-1)/n for the others, 1 for pairs).
// Relative errors are minimised, so small sizes count as much as large ones.
// With fewer than three sizes, or where no line fits, the bandwidth is the best
// of the bus bandwidths and there is no latency. kInvalidArgument for a run
// that says nothing of one link.
absl::StatusOr<FittedLink> FitLink(const NcclRun& run);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_LINK_FIT_H_
