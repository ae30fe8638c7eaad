#include <utility>

#include "common/base/field_error.h"
#include "common/base/status_macros.h"
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

absl::StatusOr<PeakFlops> FromProto(const v1::PeakFlops& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError({CheckNotNegative("fp32", message.fp32()),
                                      CheckNotNegative("fp16", message.fp16()),
                                      CheckNotNegative("bf16", message.bf16()),
                                      CheckNotNegative("fp8", message.fp8())}));
  return PeakFlops{.fp32 = message.fp32(),
                   .fp16 = message.fp16(),
                   .bf16 = message.bf16(),
                   .fp8 = message.fp8()};
}

absl::StatusOr<DeviceEfficiency> FromProto(
    const v1::DeviceEfficiency& message) {
  TANGRAM_RETURN_IF_ERROR(FirstError(
      {CheckPositive("gemm_max_fraction", message.gemm_max_fraction()),
       CheckNotNegative("gemm_half_flops", message.gemm_half_flops()),
       CheckPositive("attention_fraction", message.attention_fraction()),
       CheckPositive("memory_fraction", message.memory_fraction()),
       CheckNotNegative("kernel_launch_s", message.kernel_launch_s()),
       CheckNotNegative("reserved_bytes", message.reserved_bytes()),
       CheckNotNegative("fragmentation", message.fragmentation()),
       CheckNotNegative("host_launch_s", message.host_launch_s()),
       CheckNotNegative("unaligned_penalty", message.unaligned_penalty()),
       CheckNotNegative("odd_penalty", message.odd_penalty()),
       CheckNotNegative("overlap_penalty", message.overlap_penalty()),
       CheckNotNegative("copy_penalty", message.copy_penalty()),
       CheckNotNegative("duplex_penalty", message.duplex_penalty())}));
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
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckNotNegative("bandwidth_bytes_per_s",
                                   message.bandwidth_bytes_per_s()),
                  CheckNotNegative("memory_bytes", message.memory_bytes())}));
  return HostLink{.bandwidth_bytes_per_s = message.bandwidth_bytes_per_s(),
                  .memory_bytes = message.memory_bytes()};
}

// Appends a measurement. Keys must ascend, because lookups use binary search.
absl::Status AddMeasured(const v1::MeasuredOperator& message,
                         std::vector<MeasuredOperator>& measured) {
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckNotNegative("forward_s", message.forward_s()),
                  CheckNotNegative("backward_s", message.backward_s())}));
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
                  CheckPositive("memory_bytes", device.memory_bytes),
                  CheckPositive("memory_bandwidth_bytes_per_s",
                                device.memory_bandwidth_bytes_per_s)}));
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
  for (int i = 0; i < message.measured_size(); ++i) {
    TANGRAM_RETURN_IF_ERROR(InField(
        "measured", i, AddMeasured(message.measured(i), device.measured)));
  }
  TANGRAM_RETURN_IF_ERROR(MeasurementsFromProto(message, device));
  return device;
}

}  // namespace tangram
