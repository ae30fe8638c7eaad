#include "coordinator/dispatch/canonical_bytes.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

template <typename Value>
std::string CanonicalOf(const Value& value) {
  std::string bytes;
  AppendCanonical(bytes, value);
  return bytes;
}

// Expects that `value` and all of `changes` to it give different bytes.
template <typename Value>
void ExpectAllDiffer(const Value& value,
                     const std::vector<std::function<void(Value&)>>& changes) {
  std::set<std::string> seen = {CanonicalOf(value)};
  for (size_t i = 0; i < changes.size(); ++i) {
    Value changed = value;
    changes[i](changed);
    EXPECT_TRUE(seen.insert(CanonicalOf(changed)).second) << "change " << i;
  }
}

TEST(CanonicalBytesTest, EveryFieldOfAnIslandCounts) {
  using Island = IslandSpec;
  ExpectAllDiffer<Island>(
      testing::TestIsland(2, 4),
      {[](Island& i) { i.device.type += "x"; },
       [](Island& i) { i.device.peak_flops.fp32 += 1; },
       [](Island& i) { i.device.peak_flops.fp16 += 2; },
       [](Island& i) { i.device.peak_flops.bf16 += 3; },
       [](Island& i) { i.device.peak_flops.fp8 += 4; },
       [](Island& i) { i.device.memory_bytes += 5; },
       [](Island& i) { i.device.memory_bandwidth_bytes_per_s += 6; },
       [](Island& i) { i.device.supports_flash_attention ^= true; },
       [](Island& i) {
         i.device.collective_library = CollectiveLibrary::kRccl;
       },
       [](Island& i) { i.device.host.bandwidth_bytes_per_s += 7; },
       [](Island& i) { i.device.host.memory_bytes += 8; },
       [](Island& i) { i.device.efficiency.gemm_max_fraction += 0.5; },
       [](Island& i) { i.device.efficiency.gemm_half_flops += 9; },
       [](Island& i) { i.device.efficiency.attention_fraction += 0.25; },
       [](Island& i) { i.device.efficiency.memory_fraction += 0.25; },
       [](Island& i) { i.device.efficiency.kernel_launch_s += 1; },
       [](Island& i) { i.device.efficiency.host_launch_s += 1; },
       [](Island& i) { i.device.efficiency.unaligned_penalty += 1; },
       [](Island& i) { i.device.efficiency.odd_penalty += 1; },
       [](Island& i) { i.device.efficiency.overlap_penalty += 1; },
       [](Island& i) { i.device.efficiency.copy_penalty += 1; },
       [](Island& i) { i.device.efficiency.duplex_penalty += 1; },
       [](Island& i) { i.device.efficiency.reserved_bytes += 1; },
       [](Island& i) { i.device.efficiency.fragmentation += 1; },
       [](Island& i) {
         i.device.measured = {{1, 2, 3}};
       },
       [](Island& i) {
         i.device.measured = {{1, 3, 2}};
       },
       [](Island& i) {
         i.device.measured = {{1, 2, 3}, {1, 2, 3}};
       },
       [](Island& i) { i.device.measured_layers = {{.key = 1}}; },
       [](Island& i) { i.device.measured_layers = {{.saved_bytes = 0}}; },
       [](Island& i) { i.device.measured_layers = {{.optimizer_s = 0}}; },
       [](Island& i) { i.device.measured_layers = {{.state_bytes = 0}}; },
       [](Island& i) { i.device.measured_layers = {{.samples = 1}}; },
       [](Island& i) {
         i.device.measured_layers = {{.collectives_included = true}};
       },
       [](Island& i) { i.device.collectives = {{.ranks = 2}}; },
       [](Island& i) { i.device.collectives = {{.nodes = 2}}; },
       [](Island& i) {
         i.device.collectives = {{.points = {{1, 2}}}};
       },
       [](Island& i) {
         i.device.collectives = {{.points = {{2, 1}}}};
       },
       [](Island& i) { i.num_nodes += 1; },
       [](Island& i) { i.gpus_per_node += 1; },
       [](Island& i) { i.intra_node.bandwidth_bytes_per_s += 1; },
       [](Island& i) { i.intra_node.pair_bandwidth_bytes_per_s += 1; },
       [](Island& i) { i.intra_node.latency_s += 1; },
       [](Island& i) { i.inter_node.bandwidth_bytes_per_s += 1; },
       [](Island& i) { i.inter_node.pair_bandwidth_bytes_per_s += 1; },
       [](Island& i) { i.inter_node.latency_s += 1; },
       [](Island& i) { i.limits.tp_degree = 2; },
       [](Island& i) { i.limits.cp_degree = 2; },
       [](Island& i) { i.limits.dp_degree = 2; },
       [](Island& i) { i.limits.gpus_per_stage = 2; },
       [](Island& i) { i.limits.max_stages = 2; },
       [](Island& i) { i.limits.each_depth = true; },
       [](Island& i) { i.limits.ep_degree = 2; },
       [](Island& i) { i.limits.max_zero_stage = 2; },
       [](Island& i) { i.limits.zero_stage = 0; },
       [](Island& i) { i.limits.zero_stage = 1; },
       [](Island& i) { i.limits.zero_degree = 4; },
       [](Island& i) { i.limits.no_sequence_parallel = true; },
       [](Island& i) { i.limits.no_offload = true; },
       [](Island& i) { i.limits.residual_cuts = true; },
       [](Island& i) { i.limits.closed_recompute = true; },
       [](Island& i) { i.limits.recompute = LayerRecompute::kNone; },
       [](Island& i) { i.limits.recompute = LayerRecompute::kWholeLayer; }});
}

TEST(CanonicalBytesTest, EveryFieldOfTrainingCounts) {
  using Training = TrainingOptions;
  ExpectAllDiffer<Training>(Training(),
                            {[](Training& t) { t.global_batch_size += 1; },
                             [](Training& t) { t.sequence_length += 1; },
                             [](Training& t) { t.precision = Precision::kFp8; },
                             [](Training& t) { t.optimizer = Optimizer::kSgd; },
                             [](Training& t) { t.flash_attention ^= true; },
                             [](Training& t) { t.dropout ^= true; },
                             [](Training& t) { t.fp32_gradients ^= true; },
                             [](Training& t) { t.overlap_grad_reduce ^= true; },
                             [](Training& t) { t.blocking_transfers ^= true; },
                             [](Training& t) { t.buffered_sends ^= true; },
                             [](Training& t) { t.gradient_copy ^= true; },
                             [](Training& t) { t.bf16_moments ^= true; },
                             [](Training& t) { t.fused_loss ^= true; }});
}

TEST(CanonicalBytesTest, ModelsDifferByNameAndLayers) {
  using Model = ModelSpec;
  ExpectAllDiffer<Model>(
      testing::TestModel(3),
      {[](Model& m) { m.name += "x"; }, [](Model& m) { m.layers.pop_back(); },
       [](Model& m) { std::swap(m.layers[0], m.layers[1]); },
       [](Model& m) { m.layers[1].qk_norm ^= true; },
       [](Model& m) { m.layers[2].qk_norm ^= true; },
       [](Model& m) { m.layers[1].hidden_size += 1; },
       [](Model& m) { m.layers[1].num_heads += 1; }});
}

// Stored answers are found by these bytes.
TEST(CanonicalBytesTest, OnlyExpertsOfAnotherWidthAddToThoseOfALayer) {
  ModelSpec model = testing::TestMoeModel(3);
  const std::string plain = CanonicalOf(model);
  for (int l = 1; l <= 3; ++l) model.layers[l].expert_latent_size = 7;
  const std::string latent = CanonicalOf(model);
  // A mark that is no kind, and the width, before the one run of such layers.
  const std::string added("\xff\xff\xff\xff\x07\0\0\0", 8);
  const size_t at = latent.find(added);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(std::string(latent).erase(at, 8), plain);
  model.layers[2].expert_latent_size = 8;
  EXPECT_NE(CanonicalOf(model), latent);
}

TEST(CanonicalBytesTest, TheLayersOfAModelAreKeptAsRuns) {
  // One more equal layer changes a count.
  EXPECT_EQ(CanonicalOf(testing::TestModel(3)).size(),
            CanonicalOf(testing::TestModel(30)).size());
}

}  // namespace
}  // namespace tangram
