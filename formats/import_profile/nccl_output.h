#ifndef TANGRAM_FORMATS_IMPORT_PROFILE_NCCL_OUTPUT_H_
#define TANGRAM_FORMATS_IMPORT_PROFILE_NCCL_OUTPUT_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/domain/measurements.h"

namespace tangram {

// What one program of nccl-tests printed.
struct NcclRun {
  std::optional<CollectiveOp> op;  // Empty: not to be told.
  int num_ranks = 0;               // 0: it does not list them.
  std::set<std::string> hosts;
  std::set<std::string> gpus;  // Product names.
  std::vector<CollectivePoint> points;
  bool adds = false;      // Sums, and each byte crosses the bus once.
  double bus_factor = 0;  // Bus over algorithm bandwidth of the last point.
  int num_wrong = 0;      // Sizes left out as their results were wrong.
};

// Standard output of NVIDIA's nccl-tests, of any version, also with the line
// prefixes of mpirun. Taken are the out-of-place times. `name` of the file
// tells the collective if the output does not.
NcclRun ReadNcclRun(absl::string_view text, absl::string_view name);

// The ranks that the ratio of both bandwidths implies; 0 if it implies none.
int RanksFromBandwidths(const NcclRun& run);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_PROFILE_NCCL_OUTPUT_H_
