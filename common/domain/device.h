#ifndef TANGRAM_COMMON_DOMAIN_DEVICE_H_
#define TANGRAM_COMMON_DOMAIN_DEVICE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/fingerprint.h"
#include "common/base/shared_list.h"
#include "common/domain/measurements.h"

namespace tangram {

enum class Precision { kFp32, kFp16, kBf16, kFp8 };

// "fp32", "fp16", "bf16", "fp8".
absl::string_view PrecisionName(Precision precision);

// Returns the precision that config.json calls "float32", "float16" or
// "bfloat16"; empty for other names.
std::optional<Precision> PrecisionOfDtype(absl::string_view dtype);

// The library that runs the collectives of a device. Libraries of two vendors
// do not talk to each other, so the ranks of one launch have one library.
enum class CollectiveLibrary {
  kNccl,    // NVIDIA.
  kRccl,    // AMD.
  kHccl,    // Huawei.
  kOneCcl,  // Intel.
};
inline constexpr int kNumCollectiveLibraries = 4;  // Enumerators.

// "nccl", "rccl", "hccl", "oneccl".
absl::string_view CollectiveLibraryName(CollectiveLibrary library);

// Peak dense matrix throughput by precision. 0: the device has no such units.
struct PeakFlops {
  double fp32 = 0;
  double fp16 = 0;
  double bf16 = 0;
  double fp8 = 0;

  double At(Precision precision) const;
  bool operator==(const PeakFlops&) const = default;
};

// Fractions of the datasheet figures that a device reaches. Constants are data:
// they come from the catalogue or from calibration, never from code.
struct DeviceEfficiency {
  // A matrix product of f FLOPs on one GPU runs at
  //   peak · gemm_max_fraction · f / (f + gemm_half_flops).
  double gemm_max_fraction = 0.7;
  double gemm_half_flops = 1e9;
  // Fraction of gemm efficiency that attention kernels reach.
  double attention_fraction = 0.5;
  // Fraction of the memory bandwidth that element-wise kernels reach.
  double memory_fraction = 0.8;
  // Fixed cost of one kernel on the device.
  double kernel_launch_s = 5e-6;
  // Host time to issue one kernel. An operator takes at least this times its
  // number of kernels. It bounds small problems.
  double host_launch_s = 0;
  // Extra time of a matrix product, as a fraction. `unaligned_penalty` applies
  // if its inner or last dimension fills no whole tiles (is not a multiple of
  // 64). `odd_penalty` applies if it is not even a multiple of the 8 elements
  // that tensor cores read at once.
  double unaligned_penalty = 0;
  double odd_penalty = 0;
  // Extra time of compute, as a fraction, while a collective runs beside it.
  double overlap_penalty = 0;
  // `copy_penalty` is the same while a copy to or from the host runs beside
  // compute. `duplex_penalty` is the extra time of two copies in opposite
  // directions, as a fraction of the shorter.
  double copy_penalty = 0;
  double duplex_penalty = 0;
  // Memory that the runtime takes before the first tensor: CUDA context,
  // libraries, NCCL buffers.
  double reserved_bytes = 1.2e9;
  // Allocated bytes grow by this fraction through fragmentation.
  double fragmentation = 0.05;

  bool operator==(const DeviceEfficiency&) const = default;
};

// A measured operator time that overrides the analytic model where it matches.
// Keyed by the fingerprint of OperatorWork's identity (see
// cost/operator_cost.h).
struct MeasuredOperator {
  Fingerprint key = 0;
  double forward_s = 0;
  double backward_s = 0;
  bool operator==(const MeasuredOperator&) const = default;
};

// Bandwidth and memory of the host per GPU, while all GPUs of the node use it.
struct HostLink {
  double bandwidth_bytes_per_s = 0;  // In each direction; 0: unknown.
  double memory_bytes = 0;           // The GPU's equal share of the node.
  bool operator==(const HostLink&) const = default;
};

// One GPU type for planning. All fields are resolved: fields that the user left
// out come from the catalogue.
struct DeviceSpec {
  std::string type;  // "A100-80"; for messages only, nothing branches on it.
  PeakFlops peak_flops;
  double memory_bytes = 0;
  double memory_bandwidth_bytes_per_s = 0;
  // Context parallelism needs it too: see StageSite.
  bool supports_flash_attention = false;
  CollectiveLibrary collective_library = CollectiveLibrary::kNccl;
  HostLink host;
  DeviceEfficiency efficiency;
  // Many nodes, islands and stages have the same device, and measurements may
  // take megabytes.
  SharedList<MeasuredOperator> measured;  // Sorted by key.
  // Sorted by key, then samples.
  SharedList<MeasuredLayer> measured_layers;
  // Between devices of this type. Sorted by operation, ranks, nodes.
  SharedList<MeasuredCollective> collectives;

  bool operator==(const DeviceSpec&) const = default;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_DEVICE_H_
