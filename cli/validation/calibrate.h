#ifndef TANGRAM_CLI_VALIDATION_CALIBRATE_H_
#define TANGRAM_CLI_VALIDATION_CALIBRATE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cli/validation/express_run.h"

namespace tangram {

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

// A run with its measured time.
struct CalibrationSample {
  const ExpressedRun* run = nullptr;
  double iteration_s = 0;  // Measured.
};

// Returns the factors that explain the samples best. They minimise
// Σ |ln(predicted / measured)| over the samples plus a penalty, which keeps
// each constant near its catalogue value unless several samples agree
// otherwise. So few samples suffice. Uses pattern search over the logarithms;
// deterministic.
Calibration Calibrate(absl::Span<const CalibrationSample> samples);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_CALIBRATE_H_
