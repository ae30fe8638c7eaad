#ifndef TANGRAM_FORMATS_IMPORT_PROFILE_NCCL_OUTPUT_H_
#define TANGRAM_FORMATS_IMPORT_PROFILE_NCCL_OUTPUT_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/domain/measurements.h"

namespace tangram {

// The output of one program of nccl-tests.
struct NcclRun {
  std::optional<CollectiveOp> op;       // Empty: cannot be told.
  int num_ranks = 0;                    // 0: the output does not list them.
  std::set<std::string> hosts;          // Names of the nodes.
  std::set<std::string> gpus;           // Product names.
  std::vector<CollectivePoint> points;  // One for each message size.
  bool adds = false;      // It sums, and each byte crosses the bus once.
  double bus_factor = 0;  // Bus over algorithm bandwidth of the last point.
  int num_wrong = 0;      // Sizes left out because their results were wrong.
};

// Reads the standard output of NVIDIA's nccl-tests, of any version, with or
// without mpirun's line prefixes. Takes the out-of-place times. The file's
// `name` gives the collective if the output does not.
NcclRun ReadNcclRun(absl::string_view text, absl::string_view name);

// Returns the ranks that the ratio of both bandwidths implies; 0 if none.
int RanksFromBandwidths(const NcclRun& run);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_PROFILE_NCCL_OUTPUT_H_
