#include "common/domain/island.h"

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace tangram {
namespace {

void AddLink(const Link& link, Fingerprinter& fp) {
  fp.Add(link.bandwidth_bytes_per_s)
      .Add(link.pair_bandwidth_bytes_per_s)
      .Add(link.latency_s);
}

void AddOptional(std::optional<double> value, Fingerprinter& fp) {
  fp.Add(value.has_value()).Add(value.value_or(0));
}

void AddMeasuredLayers(absl::Span<const MeasuredLayer> layers,
                       Fingerprinter& fp) {
  fp.Add(static_cast<int64_t>(layers.size()));
  for (const MeasuredLayer& layer : layers) {
    fp.Add(layer.key)
        .Add(layer.samples)
        .Add(layer.forward_s)
        .Add(layer.backward_s)
        .Add(layer.collectives_included);
    AddOptional(layer.saved_bytes, fp);
    AddOptional(layer.optimizer_s, fp);
    AddOptional(layer.state_bytes, fp);
  }
}

void AddCollectives(absl::Span<const MeasuredCollective> tables,
                    Fingerprinter& fp) {
  fp.Add(static_cast<int64_t>(tables.size()));
  for (const MeasuredCollective& table : tables) {
    fp.Add(static_cast<int>(table.op))
        .Add(table.ranks)
        .Add(table.nodes)
        .Add(static_cast<int64_t>(table.points.size()));
    for (const CollectivePoint& point : table.points) {
      fp.Add(point.bytes).Add(point.seconds);
    }
  }
}

void AddDevice(const DeviceSpec& device, Fingerprinter& fp) {
  const DeviceEfficiency& e = device.efficiency;
  fp.Add(device.type)
      .Add(device.peak_flops.fp32)
      .Add(device.peak_flops.fp16)
      .Add(device.peak_flops.bf16)
      .Add(device.peak_flops.fp8)
      .Add(device.memory_bytes)
      .Add(device.memory_bandwidth_bytes_per_s)
      .Add(device.supports_flash_attention)
      .Add(static_cast<int>(device.collective_library))
      .Add(device.host.bandwidth_bytes_per_s)
      .Add(device.host.memory_bytes)
      .Add(e.gemm_max_fraction)
      .Add(e.gemm_half_flops)
      .Add(e.attention_fraction)
      .Add(e.memory_fraction)
      .Add(e.kernel_launch_s)
      .Add(e.host_launch_s)
      .Add(e.unaligned_penalty)
      .Add(e.odd_penalty)
      .Add(e.overlap_penalty)
      .Add(e.copy_penalty)
      .Add(e.duplex_penalty)
      .Add(e.reserved_bytes)
      .Add(e.fragmentation);
  for (const MeasuredOperator& op : device.measured) {
    fp.Add(op.key).Add(op.forward_s).Add(op.backward_s);
  }
  AddMeasuredLayers(device.measured_layers, fp);
  AddCollectives(device.collectives, fp);
}

}  // namespace

Fingerprint FingerprintOf(const IslandSpec& spec) {
  Fingerprinter fp;
  AddDevice(spec.device, fp);
  fp.Add(spec.num_nodes).Add(spec.gpus_per_node);
  AddLink(spec.intra_node, fp);
  AddLink(spec.inter_node, fp);
  // Adds nothing without limits, so fingerprints of stored answers stay valid.
  if (!spec.limits.none()) fp.Add(FingerprintOf(spec.limits));
  return fp.Finish();
}

}  // namespace tangram
