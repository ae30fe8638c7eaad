#include <utility>

#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/domain/figure_limits.h"
#include "common/wire/cluster_wire.h"
#include "common/wire/field_checks.h"
#include "common/wire/measurements_wire.h"
#include "tangram/v1/cluster.pb.h"

namespace tangram {
namespace {

v1::PeakFlops ToProto(const PeakFlops& peak) {
  v1::PeakFlops message;
  message.set_fp32(peak.fp32);
  message.set_fp16(peak.fp16);
  message.set_bf16(peak.bf16);
  message.set_fp8(peak.fp8);
  return message;
}

v1::DeviceEfficiency ToProto(const DeviceEfficiency& efficiency) {
  v1::DeviceEfficiency message;
  message.set_gemm_max_fraction(efficiency.gemm_max_fraction);
  message.set_gemm_half_flops(efficiency.gemm_half_flops);
  message.set_attention_fraction(efficiency.attention_fraction);
  message.set_memory_fraction(efficiency.memory_fraction);
  message.set_kernel_launch_s(efficiency.kernel_launch_s);
  message.set_reserved_bytes(efficiency.reserved_bytes);
  message.set_fragmentation(efficiency.fragmentation);
  message.set_host_launch_s(efficiency.host_launch_s);
  message.set_unaligned_penalty(efficiency.unaligned_penalty);
  message.set_odd_penalty(efficiency.odd_penalty);
  message.set_overlap_penalty(efficiency.overlap_penalty);
  message.set_copy_penalty(efficiency.copy_penalty);
  message.set_duplex_penalty(efficiency.duplex_penalty);
  return message;
}

// 0: the device has no units of this precision.
absl::Status CheckPeak(absl::string_view field, double flops) {
  if (flops == 0) return absl::OkStatus();
  return CheckWithin(field, flops, kLeastRate, kMaxFlopsPerS);
}

absl::StatusOr<PeakFlops> FromProto(const v1::PeakFlops& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckPeak("fp32", message.fp32()), CheckPeak("fp16", message.fp16()),
       CheckPeak("bf16", message.bf16()), CheckPeak("fp8", message.fp8())}));
  return PeakFlops{.fp32 = message.fp32(),
                   .fp16 = message.fp16(),
                   .bf16 = message.bf16(),
                   .fp8 = message.fp8()};
}

absl::StatusOr<DeviceEfficiency> FromProto(
    const v1::DeviceEfficiency& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckWithin("gemm_max_fraction", message.gemm_max_fraction(),
                   kLeastEfficiency, 1),
       CheckWithin("gemm_half_flops", message.gemm_half_flops(), 0,
                   kMaxGemmHalfFlops),
       CheckWithin("attention_fraction", message.attention_fraction(),
                   kLeastEfficiency, 1),
       CheckWithin("memory_fraction", message.memory_fraction(),
                   kLeastEfficiency, 1),
       CheckWithin("kernel_launch_s", message.kernel_launch_s(), 0,
                   kMaxLatencyS),
       CheckWithin("reserved_bytes", message.reserved_bytes(), 0,
                   kMaxMemoryBytes),
       CheckFraction("fragmentation", message.fragmentation()),
       CheckWithin("host_launch_s", message.host_launch_s(), 0, kMaxLatencyS),
       CheckWithin("unaligned_penalty", message.unaligned_penalty(), 0,
                   kMaxPenalty),
       CheckWithin("odd_penalty", message.odd_penalty(), 0, kMaxPenalty),
       CheckWithin("overlap_penalty", message.overlap_penalty(), 0,
                   kMaxPenalty),
       CheckWithin("copy_penalty", message.copy_penalty(), 0, kMaxPenalty),
       CheckWithin("duplex_penalty", message.duplex_penalty(), 0,
                   kMaxPenalty)}));
  return DeviceEfficiency{.gemm_max_fraction = message.gemm_max_fraction(),
                          .gemm_half_flops = message.gemm_half_flops(),
                          .attention_fraction = message.attention_fraction(),
                          .memory_fraction = message.memory_fraction(),
                          .kernel_launch_s = message.kernel_launch_s(),
                          .host_launch_s = message.host_launch_s(),
                          .unaligned_penalty = message.unaligned_penalty(),
                          .odd_penalty = message.odd_penalty(),
                          .overlap_penalty = message.overlap_penalty(),
                          .copy_penalty = message.copy_penalty(),
                          .duplex_penalty = message.duplex_penalty(),
                          .reserved_bytes = message.reserved_bytes(),
                          .fragmentation = message.fragmentation()};
}

absl::StatusOr<HostLink> FromProto(const v1::HostLink& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckWithin("bandwidth_bytes_per_s", message.bandwidth_bytes_per_s(), 0,
                   kMaxBandwidthBytesPerS),
       CheckWithin("memory_bytes", message.memory_bytes(), 0,
                   kMaxMemoryBytes)}));
  return HostLink{.bandwidth_bytes_per_s = message.bandwidth_bytes_per_s(),
                  .memory_bytes = message.memory_bytes()};
}

// Appends a measurement. Keys must ascend, because lookups use binary search.
absl::Status AddMeasured(const v1::MeasuredOperator& message,
                         std::vector<MeasuredOperator>& measured) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckWithin("forward_s", message.forward_s(), 0, kMaxMeasuredS),
       CheckWithin("backward_s", message.backward_s(), 0, kMaxMeasuredS)}));
  if (!measured.empty() && message.key() <= measured.back().key) {
    return FieldError("key", std::to_string(message.key()),
                      "keys in ascending order");
  }
  measured.push_back({.key = message.key(),
                      .forward_s = message.forward_s(),
                      .backward_s = message.backward_s()});
  return absl::OkStatus();
}

}  // namespace

v1::DeviceSpec ToProto(const DeviceSpec& device) {
  v1::DeviceSpec message;
  message.set_type(device.type);
  *message.mutable_peak_flops() = ToProto(device.peak_flops);
  message.set_memory_bytes(device.memory_bytes);
  message.set_memory_bandwidth_bytes_per_s(device.memory_bandwidth_bytes_per_s);
  message.set_supports_flash_attention(device.supports_flash_attention);
  if (device.collective_library != CollectiveLibrary::kNccl) {
    message.set_collective_library(
        static_cast<v1::CollectiveLibrary>(device.collective_library));
  }
  *message.mutable_efficiency() = ToProto(device.efficiency);
  if (device.host != HostLink()) {
    message.mutable_host()->set_bandwidth_bytes_per_s(
        device.host.bandwidth_bytes_per_s);
    message.mutable_host()->set_memory_bytes(device.host.memory_bytes);
  }
  for (const MeasuredOperator& op : device.measured) {
    v1::MeasuredOperator& measured = *message.add_measured();
    measured.set_key(op.key);
    measured.set_forward_s(op.forward_s);
    measured.set_backward_s(op.backward_s);
  }
  MeasurementsToProto(device, message);
  return message;
}

absl::StatusOr<DeviceSpec> FromProto(const v1::DeviceSpec& message) {
  DeviceSpec device{
      .type = message.type(),
      .memory_bytes = message.memory_bytes(),
      .memory_bandwidth_bytes_per_s = message.memory_bandwidth_bytes_per_s(),
      .supports_flash_attention = message.supports_flash_attention()};
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckName("type", device.type),
                  CheckWithin("memory_bytes", device.memory_bytes, kLeastBytes,
                              kMaxMemoryBytes),
                  CheckWithin("memory_bandwidth_bytes_per_s",
                              device.memory_bandwidth_bytes_per_s, kLeastRate,
                              kMaxBandwidthBytesPerS)}));
  // Our enumerators have the numbers of the message.
  const int library = message.collective_library();
  if (library < 0 || library >= kNumCollectiveLibraries) {
    return FieldError(
        "collective_library", library,
        absl::StrCat("a number from 0 to ", kNumCollectiveLibraries - 1));
  }
  device.collective_library = static_cast<CollectiveLibrary>(library);
  TANGRAM_ASSIGN_OR_RETURN(
      device.peak_flops,
      InField("peak_flops", FromProto(message.peak_flops())));
  if (device.peak_flops == PeakFlops{}) {
    return FieldError("peak_flops", "all 0", "a positive one");
  }
  TANGRAM_ASSIGN_OR_RETURN(
      device.efficiency,
      InField("efficiency", FromProto(message.efficiency())));
  TANGRAM_ASSIGN_OR_RETURN(device.host,
                           InField("host", FromProto(message.host())));
  std::vector<MeasuredOperator> measured;
  for (int i = 0; i < message.measured_size(); ++i) {
    TANGRAM_RETURN_IF_ERROR(
        InField("measured", i, AddMeasured(message.measured(i), measured)));
  }
  device.measured = std::move(measured);
  TANGRAM_RETURN_IF_ERROR(MeasurementsFromProto(message, device));
  return device;
}

}  // namespace tangram
