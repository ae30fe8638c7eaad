#include "common/domain/weaker.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

TEST(WeakerTest, TakesTheWeakerOfEachFieldOfTwoDevices) {
  const DeviceSpec fast_but_small = {
      .type = "A",
      .peak_flops = {.fp32 = 2, .fp16 = 4, .bf16 = 0, .fp8 = 8},
      .memory_bytes = 16,
      .memory_bandwidth_bytes_per_s = 900,
      .supports_flash_attention = false,
      .host = {.bandwidth_bytes_per_s = 5, .memory_bytes = 64},
      .efficiency = {.gemm_max_fraction = 0.5,
                     .gemm_half_flops = 10,
                     .attention_fraction = 0.7,
                     .memory_fraction = 0.6,
                     .kernel_launch_s = 1,
                     .host_launch_s = 7,
                     .unaligned_penalty = 0.2,
                     .odd_penalty = 2,
                     .overlap_penalty = 0.3,
                     .copy_penalty = 0.4,
                     .duplex_penalty = 0.1,
                     .reserved_bytes = 4,
                     .fragmentation = 0.1}};
  const DeviceSpec slow_but_large = {
      .type = "B",
      .peak_flops = {.fp32 = 1, .fp16 = 5, .bf16 = 5, .fp8 = 9},
      .memory_bytes = 24,
      .memory_bandwidth_bytes_per_s = 300,
      .supports_flash_attention = true,
      .host = {.bandwidth_bytes_per_s = 6, .memory_bytes = 32},
      .efficiency = {.gemm_max_fraction = 0.6,
                     .gemm_half_flops = 20,
                     .attention_fraction = 0.5,
                     .memory_fraction = 0.8,
                     .kernel_launch_s = 2,
                     .host_launch_s = 6,
                     .unaligned_penalty = 0.3,
                     .odd_penalty = 1,
                     .overlap_penalty = 0.1,
                     .copy_penalty = 0.3,
                     .duplex_penalty = 0.2,
                     .reserved_bytes = 3,
                     .fragmentation = 0.05}};
  EXPECT_EQ(
      Weaker(fast_but_small, slow_but_large),
      (DeviceSpec{.type = "A",
                  .peak_flops = {.fp32 = 1, .fp16 = 4, .bf16 = 0, .fp8 = 8},
                  .memory_bytes = 16,
                  .memory_bandwidth_bytes_per_s = 300,
                  .supports_flash_attention = false,
                  .host = {.bandwidth_bytes_per_s = 5, .memory_bytes = 32},
                  .efficiency = {.gemm_max_fraction = 0.5,
                                 .gemm_half_flops = 20,
                                 .attention_fraction = 0.5,
                                 .memory_fraction = 0.6,
                                 .kernel_launch_s = 2,
                                 .host_launch_s = 7,
                                 .unaligned_penalty = 0.3,
                                 .odd_penalty = 2,
                                 .overlap_penalty = 0.3,
                                 .copy_penalty = 0.4,
                                 .duplex_penalty = 0.2,
                                 .reserved_bytes = 4,
                                 .fragmentation = 0.1}}));
}

TEST(WeakerTest, KeepsTheSlowerOfLayersThatBothDevicesHave) {
  const DeviceSpec a = {
      .measured_layers = {{.key = 1, .samples = 1},
                          {.key = 1, .samples = 2, .forward_s = 3},
                          {.key = 2, .samples = 4, .saved_bytes = 5},
                          {.key = 3, .samples = 1}}};
  const DeviceSpec b = {
      .measured_layers = {
          {.key = 1, .samples = 2, .forward_s = 1, .backward_s = 7},
          {.key = 2, .samples = 4, .saved_bytes = 6, .state_bytes = 1},
          {.key = 3, .samples = 1, .collectives_included = true}}};
  EXPECT_THAT(Weaker(a, b).measured_layers,
              ElementsAre(
                  MeasuredLayer{
                      .key = 1, .samples = 2, .forward_s = 3, .backward_s = 7},
                  MeasuredLayer{.key = 2, .samples = 4, .saved_bytes = 6}));
}

TEST(WeakerTest, KeepsTheSlowerOfCollectivesThatBothDevicesHave) {
  const DeviceSpec a = {
      .collectives = {{.ranks = 2, .points = {{1, 4}, {4, 5}}},
                      {.ranks = 4, .points = {{1, 1}}}}};
  const DeviceSpec b = {.collectives = {{.ranks = 2, .points = {{2, 3}}}}};
  // At 4 bytes the second device takes 3 · 4/2.
  EXPECT_THAT(
      Weaker(a, b).collectives,
      ElementsAre(MeasuredCollective{.ranks = 2, .points = {{1, 4}, {4, 6}}}));
}

TEST(WeakerTest, KeepsMeasurementsThatBothDevicesHave) {
  const DeviceSpec a = {.measured = {{1, 5, 5}, {3, 1, 9}, {4, 2, 2}}};
  const DeviceSpec b = {.measured = {{2, 7, 7}, {3, 2, 8}, {5, 1, 1}}};
  EXPECT_THAT(Weaker(a, b).measured, ElementsAre(MeasuredOperator{3, 2, 9}));
}

TEST(WeakerTest, TakesTheSlowerOfEachFieldOfTwoLinks) {
  const Link near = {10, 20, 1e-6};
  const Link far = {5, 30, 5e-6};
  EXPECT_EQ(Weaker(near, far), (Link{5, 20, 5e-6}));
}

}  // namespace
}  // namespace tangram
