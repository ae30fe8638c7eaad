#include "common/domain/weaker.h"

#include <algorithm>
#include <optional>
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
      .host_launch_s = std::max(a.host_launch_s, b.host_launch_s),
      .unaligned_penalty = std::max(a.unaligned_penalty, b.unaligned_penalty),
      .odd_penalty = std::max(a.odd_penalty, b.odd_penalty),
      .overlap_penalty = std::max(a.overlap_penalty, b.overlap_penalty),
      .copy_penalty = std::max(a.copy_penalty, b.copy_penalty),
      .duplex_penalty = std::max(a.duplex_penalty, b.duplex_penalty),
      .reserved_bytes = std::max(a.reserved_bytes, b.reserved_bytes),
      .fragmentation = std::max(a.fragmentation, b.fragmentation)};
}

HostLink Weaker(const HostLink& a, const HostLink& b) {
  return {.bandwidth_bytes_per_s =
              std::min(a.bandwidth_bytes_per_s, b.bandwidth_bytes_per_s),
          .memory_bytes = std::min(a.memory_bytes, b.memory_bytes)};
}

// Keeps the operators of both lists with the slower times. Both lists are
// sorted by key.
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

std::optional<double> LargerOfBoth(std::optional<double> a,
                                   std::optional<double> b) {
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  return std::max(*a, *b);
}

std::vector<MeasuredLayer> SlowerOfBoth(absl::Span<const MeasuredLayer> a,
                                        absl::Span<const MeasuredLayer> b) {
  std::vector<MeasuredLayer> both;
  auto other = b.begin();
  for (const MeasuredLayer& layer : a) {
    while (other != b.end() && ComesBefore(*other, layer)) ++other;
    if (other == b.end() || ComesBefore(layer, *other) ||
        layer.collectives_included != other->collectives_included) {
      continue;
    }
    both.push_back(
        {.key = layer.key,
         .samples = layer.samples,
         .forward_s = std::max(layer.forward_s, other->forward_s),
         .backward_s = std::max(layer.backward_s, other->backward_s),
         .collectives_included = layer.collectives_included,
         .saved_bytes = LargerOfBoth(layer.saved_bytes, other->saved_bytes),
         .optimizer_s = LargerOfBoth(layer.optimizer_s, other->optimizer_s),
         .state_bytes = LargerOfBoth(layer.state_bytes, other->state_bytes)});
  }
  return both;
}

// Keeps the collectives of both lists with the slower times, at the sizes of
// `a`.
std::vector<MeasuredCollective> SlowerOfBoth(
    absl::Span<const MeasuredCollective> a,
    absl::Span<const MeasuredCollective> b) {
  std::vector<MeasuredCollective> both;
  for (const MeasuredCollective& table : a) {
    const MeasuredCollective* other =
        FindCollective(b, table.op, table.ranks, table.nodes);
    if (other == nullptr) continue;
    both.push_back(table);
    for (CollectivePoint& point : both.back().points) {
      point.seconds = std::max(point.seconds, SecondsOf(*other, point.bytes));
    }
  }
  return both;
}

// Equal lists stay shared.
template <typename T>
SharedList<T> Weaker(const SharedList<T>& a, const SharedList<T>& b) {
  return a == b ? a : SharedList<T>(SlowerOfBoth(a, b));
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
          .collective_library = a.collective_library,
          .host = Weaker(a.host, b.host),
          .efficiency = Weaker(a.efficiency, b.efficiency),
          .measured = Weaker(a.measured, b.measured),
          .measured_layers = Weaker(a.measured_layers, b.measured_layers),
          .collectives = Weaker(a.collectives, b.collectives)};
}

Link Weaker(const Link& a, const Link& b) {
  return {.bandwidth_bytes_per_s =
              std::min(a.bandwidth_bytes_per_s, b.bandwidth_bytes_per_s),
          .pair_bandwidth_bytes_per_s = std::min(a.pair_bandwidth_bytes_per_s,
                                                 b.pair_bandwidth_bytes_per_s),
          .latency_s = std::max(a.latency_s, b.latency_s)};
}

}  // namespace tangram
