#include "common/domain/weaker.h"

#include <algorithm>
#include <vector>

#include "absl/types/span.h"

namespace tangram {
namespace {

PeakFlops Weaker(const PeakFlops& a, const PeakFlops& b) {
  return {.fp32 = std::min(a.fp32, b.fp32),
          .fp16 = std::min(a.fp16, b.fp16),
          .bf16 = std::min(a.bf16, b.bf16),
          .fp8 = std::min(a.fp8, b.fp8)};
}

DeviceEfficiency Weaker(const DeviceEfficiency& a, const DeviceEfficiency& b) {
  return {
      .gemm_max_fraction = std::min(a.gemm_max_fraction, b.gemm_max_fraction),
      .gemm_half_flops = std::max(a.gemm_half_flops, b.gemm_half_flops),
      .attention_fraction =
          std::min(a.attention_fraction, b.attention_fraction),
      .memory_fraction = std::min(a.memory_fraction, b.memory_fraction),
      .kernel_launch_s = std::max(a.kernel_launch_s, b.kernel_launch_s),
      .reserved_bytes = std::max(a.reserved_bytes, b.reserved_bytes),
      .fragmentation = std::max(a.fragmentation, b.fragmentation)};
}

// Both sorted by key.
std::vector<MeasuredOperator> SlowerOfBoth(
    absl::Span<const MeasuredOperator> a,
    absl::Span<const MeasuredOperator> b) {
  std::vector<MeasuredOperator> both;
  auto other = b.begin();
  for (const MeasuredOperator& op : a) {
    while (other != b.end() && other->key < op.key) ++other;
    if (other == b.end() || other->key != op.key) continue;
    both.push_back({.key = op.key,
                    .forward_s = std::max(op.forward_s, other->forward_s),
                    .backward_s = std::max(op.backward_s, other->backward_s)});
  }
  return both;
}

}  // namespace

DeviceSpec Weaker(const DeviceSpec& a, const DeviceSpec& b) {
  return {.type = a.type,
          .peak_flops = Weaker(a.peak_flops, b.peak_flops),
          .memory_bytes = std::min(a.memory_bytes, b.memory_bytes),
          .memory_bandwidth_bytes_per_s = std::min(
              a.memory_bandwidth_bytes_per_s, b.memory_bandwidth_bytes_per_s),
          .supports_flash_attention =
              a.supports_flash_attention && b.supports_flash_attention,
          .efficiency = Weaker(a.efficiency, b.efficiency),
          .measured = SlowerOfBoth(a.measured, b.measured)};
}

Link Weaker(const Link& a, const Link& b) {
  return {.bandwidth_bytes_per_s =
              std::min(a.bandwidth_bytes_per_s, b.bandwidth_bytes_per_s),
          .pair_bandwidth_bytes_per_s = std::min(a.pair_bandwidth_bytes_per_s,
                                                 b.pair_bandwidth_bytes_per_s),
          .latency_s = std::max(a.latency_s, b.latency_s)};
}

}  // namespace tangram
