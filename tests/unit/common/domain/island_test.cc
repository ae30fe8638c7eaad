#include "common/domain/island.h"

#include <functional>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using Change = std::function<void(IslandSpec&)>;

std::vector<Change> DeviceChanges() {
  return {
      [](IslandSpec& i) { i.device.type = "OTHER"; },
      [](IslandSpec& i) { ++i.device.peak_flops.fp32; },
      [](IslandSpec& i) { ++i.device.peak_flops.fp16; },
      [](IslandSpec& i) { ++i.device.peak_flops.bf16; },
      [](IslandSpec& i) { ++i.device.peak_flops.fp8; },
      [](IslandSpec& i) { ++i.device.memory_bytes; },
      [](IslandSpec& i) { ++i.device.memory_bandwidth_bytes_per_s; },
      [](IslandSpec& i) { i.device.supports_flash_attention = false; },
      [](IslandSpec& i) {
        i.device.collective_library = CollectiveLibrary::kRccl;
      },
      [](IslandSpec& i) { ++i.device.host.bandwidth_bytes_per_s; },
      [](IslandSpec& i) { ++i.device.host.memory_bytes; },
      [](IslandSpec& i) { i.device.measured = {{.key = 1}}; },
      [](IslandSpec& i) { i.device.measured = {{.key = 2}}; },
      [](IslandSpec& i) { i.device.measured = {{.key = 1, .forward_s = 1}}; },
      [](IslandSpec& i) { i.device.measured = {{.key = 1, .backward_s = 1}}; },
  };
}

std::vector<Change> MeasurementChanges() {
  std::vector<Change> changes;
  for (const MeasuredLayer& layer :
       std::vector<MeasuredLayer>{{},
                                  {.key = 1},
                                  {.samples = 1},
                                  {.forward_s = 1},
                                  {.backward_s = 1},
                                  {.collectives_included = true},
                                  {.saved_bytes = 1},
                                  {.optimizer_s = 1},
                                  {.state_bytes = 0},
                                  {.state_bytes = 1}}) {
    changes.push_back(
        [layer](IslandSpec& i) { i.device.measured_layers = {layer}; });
  }
  for (const MeasuredCollective& table :
       std::vector<MeasuredCollective>{{},
                                       {.op = CollectiveOp::kAllGather},
                                       {.ranks = 1},
                                       {.nodes = 2},
                                       {.points = {{1, 0}}},
                                       {.points = {{0, 1}}}}) {
    changes.push_back(
        [table](IslandSpec& i) { i.device.collectives = {table}; });
  }
  return changes;
}

std::vector<Change> EfficiencyChanges() {
  return {
      [](IslandSpec& i) { ++i.device.efficiency.gemm_max_fraction; },
      [](IslandSpec& i) { ++i.device.efficiency.gemm_half_flops; },
      [](IslandSpec& i) { ++i.device.efficiency.attention_fraction; },
      [](IslandSpec& i) { ++i.device.efficiency.memory_fraction; },
      [](IslandSpec& i) { ++i.device.efficiency.kernel_launch_s; },
      [](IslandSpec& i) { ++i.device.efficiency.host_launch_s; },
      [](IslandSpec& i) { ++i.device.efficiency.unaligned_penalty; },
      [](IslandSpec& i) { ++i.device.efficiency.odd_penalty; },
      [](IslandSpec& i) { ++i.device.efficiency.overlap_penalty; },
      [](IslandSpec& i) { ++i.device.efficiency.copy_penalty; },
      [](IslandSpec& i) { ++i.device.efficiency.duplex_penalty; },
      [](IslandSpec& i) { ++i.device.efficiency.reserved_bytes; },
      [](IslandSpec& i) { ++i.device.efficiency.fragmentation; },
  };
}

std::vector<Change> WiringChanges() {
  return {
      [](IslandSpec& i) { ++i.num_nodes; },
      [](IslandSpec& i) { ++i.gpus_per_node; },
      [](IslandSpec& i) { ++i.intra_node.bandwidth_bytes_per_s; },
      [](IslandSpec& i) { ++i.intra_node.pair_bandwidth_bytes_per_s; },
      [](IslandSpec& i) { ++i.intra_node.latency_s; },
      [](IslandSpec& i) { ++i.inter_node.bandwidth_bytes_per_s; },
      [](IslandSpec& i) { ++i.inter_node.pair_bandwidth_bytes_per_s; },
      [](IslandSpec& i) { ++i.inter_node.latency_s; },
  };
}

std::vector<Change> LimitChanges() {
  return {
      [](IslandSpec& i) { ++i.limits.tp_degree; },
      [](IslandSpec& i) { ++i.limits.cp_degree; },
      [](IslandSpec& i) { ++i.limits.dp_degree; },
      [](IslandSpec& i) { ++i.limits.gpus_per_stage; },
      [](IslandSpec& i) { ++i.limits.max_stages; },
      [](IslandSpec& i) { i.limits.each_depth = true; },
      [](IslandSpec& i) { ++i.limits.ep_degree; },
      [](IslandSpec& i) { --i.limits.max_zero_stage; },
      [](IslandSpec& i) { i.limits.zero_stage = 0; },
      [](IslandSpec& i) { i.limits.zero_degree = 4; },
      [](IslandSpec& i) { i.limits.no_sequence_parallel = true; },
      [](IslandSpec& i) { i.limits.no_offload = true; },
      [](IslandSpec& i) { i.limits.residual_cuts = true; },
      [](IslandSpec& i) { i.limits.closed_recompute = true; },
      [](IslandSpec& i) { i.limits.recompute = LayerRecompute::kNone; },
  };
}

TEST(FingerprintOfIslandTest, ChangesWithEveryField) {
  const IslandSpec plain = testing::TestIsland(2, 3);
  // These stop compiling when a field is added. Add the field above as well.
  const auto& [device, nodes, gpus, intra, inter, limits] = plain;
  const auto& [tp, cp, dp, stage_gpus, stages, depth, ep, most_zero, zero,
               zero_degree, no_sp, no_offload, cuts, closed, recompute] =
      limits;
  const auto& [type, peak, memory, bandwidth, flash, library, host_link,
               efficiency, operators, layers, collectives] = device;
  const auto& [key, samples, forward, backward, included, saved, optimizer,
               state] = MeasuredLayer();
  const auto& [op, ranks, num_nodes, points] = MeasuredCollective();
  const auto& [gemm, half, attention, element, launch, host, unaligned, odd,
               overlap, copy, duplex, reserved, fragments] = efficiency;
  (void)gemm;
  (void)key;
  (void)tp;
  (void)op;

  std::set<Fingerprint> fingerprints = {FingerprintOf(plain)};
  size_t num_changes = 0;
  for (const auto& changes :
       {DeviceChanges(), MeasurementChanges(), EfficiencyChanges(),
        WiringChanges(), LimitChanges()}) {
    num_changes += changes.size();
    for (const Change& change : changes) {
      IslandSpec spec = plain;
      change(spec);
      fingerprints.insert(FingerprintOf(spec));
    }
  }
  EXPECT_EQ(fingerprints.size(), 1 + num_changes);
}

TEST(IslandSpecTest, AddsUpGpusAndMemory) {
  const IslandSpec spec = testing::TestIsland(2, 3);
  EXPECT_EQ(spec.num_gpus(), 6);
  EXPECT_EQ(spec.memory_bytes(), 6 * 16e9);
}

}  // namespace
}  // namespace tangram
