#ifndef TANGRAM_FORMATS_CONFIG_CALIBRATED_CONSTANTS_H_
#define TANGRAM_FORMATS_CONFIG_CALIBRATED_CONSTANTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"

namespace tangram {

// Version of the format of files of constants, the key `tangram_constants`.
inline constexpr int kConstantsFileVersion = 1;

// A constant of the cost model that measurements may change: a property of the
// GPU type, or of the links of its nodes.
enum class Constant {
  kGemmMaxFraction,     // DeviceEfficiency::gemm_max_fraction.
  kGemmHalfFlops,       // DeviceEfficiency::gemm_half_flops.
  kAttentionFraction,   // DeviceEfficiency::attention_fraction.
  kMemoryFraction,      // DeviceEfficiency::memory_fraction.
  kHostLaunch,          // DeviceEfficiency::host_launch_s.
  kIntraNodeBandwidth,  // Both bandwidths of Node::intra_node.
  kIntraNodeLatency,    // Latency of Node::intra_node.
  kInterNodeBandwidth,  // Both bandwidths of links between nodes.
  kInterNodeLatency,    // Latency of links between nodes.
};

const char* ConstantName(Constant constant);  // "gemm_max_fraction"

// The factor of a constant of one GPU type, or of the links of its nodes.
struct CalibratedConstant {
  std::string device;  // DeviceSpec::type.
  Constant constant = Constant::kGemmMaxFraction;
  double factor = 1;
};

using Calibration = std::vector<CalibratedConstant>;

// Multiplies the constants of the cluster with their factors.
void ApplyCalibration(const Calibration& calibration, Cluster& cluster);

// Returns a file of constants (docs/file-formats.md). Several calibrations
// may follow each other; the first of a GPU type counts.
std::string FormatConstants(absl::Span<const CalibratedConstant> constants);

// Parses a file of constants. kInvalidArgument names `source_name`, field,
// value and what was expected.
absl::StatusOr<Calibration> ParseConstants(absl::string_view text,
                                           absl::string_view source_name);

// Reads a file of constants and applies it to the cluster, which then lists it
// among its assumptions. kInvalidArgument if the cluster has none of its GPU
// types.
absl::Status ApplyConstantsFile(const std::string& path, Cluster& cluster);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_CALIBRATED_CONSTANTS_H_
