#include "common/domain/island.h"

namespace tangram {
namespace {

void AddLink(const Link& link, Fingerprinter& fp) {
  fp.Add(link.bandwidth_bytes_per_s)
      .Add(link.pair_bandwidth_bytes_per_s)
      .Add(link.latency_s);
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
      .Add(e.gemm_max_fraction)
      .Add(e.gemm_half_flops)
      .Add(e.attention_fraction)
      .Add(e.memory_fraction)
      .Add(e.kernel_launch_s)
      .Add(e.reserved_bytes)
      .Add(e.fragmentation);
  for (const MeasuredOperator& op : device.measured) {
    fp.Add(op.key).Add(op.forward_s).Add(op.backward_s);
  }
}

}  // namespace

Fingerprint FingerprintOf(const IslandSpec& spec) {
  Fingerprinter fp;
  AddDevice(spec.device, fp);
  fp.Add(spec.num_nodes).Add(spec.gpus_per_node);
  AddLink(spec.intra_node, fp);
  AddLink(spec.inter_node, fp);
  return fp.Finish();
}

}  // namespace tangram
