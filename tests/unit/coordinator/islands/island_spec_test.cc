#include "coordinator/islands/island_spec.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestCluster;
using ::tangram::testing::TestDevice;
using ::testing::ElementsAre;

TEST(WeakestSpecTest, TakesEveryFieldFromItsWeakestNode) {
  DeviceSpec a = TestDevice("A");
  DeviceSpec b = TestDevice("B");
  a.peak_flops.fp16 = 104;
  b.peak_flops.fp16 = 100;
  a.memory_bytes = 15;
  b.memory_bytes = 16;
  b.supports_flash_attention = false;
  a.efficiency.reserved_bytes = 7;
  b.efficiency.attention_fraction = 0.5;
  const Cluster cluster =
      TestCluster({{.name = "b", .device = b}, {.name = "a", .device = a}});

  const IslandSpec spec = WeakestSpec(cluster, {0, 1});

  EXPECT_EQ(spec.device.type, "A/B");
  EXPECT_EQ(spec.device.peak_flops.fp16, 100);
  EXPECT_EQ(spec.device.memory_bytes, 15);
  EXPECT_FALSE(spec.device.supports_flash_attention);
  EXPECT_EQ(spec.device.efficiency.reserved_bytes, 7);
  EXPECT_EQ(spec.device.efficiency.attention_fraction, 0.5);
}

TEST(WeakestSpecTest, KeepsTheDeviceOfEqualNodes) {
  const Cluster cluster =
      TestCluster({{.name = "a", .num_nodes = 3, .device = TestDevice()}});

  const IslandSpec spec = WeakestSpec(cluster, {0, 1, 2});

  EXPECT_EQ(spec.device, TestDevice());
  EXPECT_EQ(spec.num_nodes, 3);
  EXPECT_EQ(spec.gpus_per_node, 4);
}

TEST(WeakestSpecTest, KeepsMeasurementsThatAllHaveAtTheirSlowest) {
  DeviceSpec a = TestDevice();
  DeviceSpec b = TestDevice();
  a.measured = {{.key = 1, .forward_s = 1, .backward_s = 4},
                {.key = 3, .forward_s = 3, .backward_s = 3}};
  b.measured = {{.key = 1, .forward_s = 2, .backward_s = 3},
                {.key = 2, .forward_s = 9, .backward_s = 9}};
  const Cluster cluster =
      TestCluster({{.name = "a", .device = a}, {.name = "b", .device = b}});

  EXPECT_THAT(
      WeakestSpec(cluster, {0, 1}).device.measured,
      ElementsAre(MeasuredOperator{.key = 1, .forward_s = 2, .backward_s = 4}));
}

TEST(WeakestSpecTest, InterNodeIsTheSlowestLinkInEitherDirection) {
  Cluster cluster = TestCluster({{.name = "a", .device = TestDevice()},
                                 {.name = "b", .device = TestDevice()},
                                 {.name = "c", .device = TestDevice()}});
  cluster.links[0][1] = {.bandwidth_bytes_per_s = 8,
                         .pair_bandwidth_bytes_per_s = 4,
                         .latency_s = 2};
  cluster.links[1][0] = {.bandwidth_bytes_per_s = 6,
                         .pair_bandwidth_bytes_per_s = 5,
                         .latency_s = 1};
  cluster.links[0][2].bandwidth_bytes_per_s = 1;  // Leaves the island.

  EXPECT_EQ(WeakestSpec(cluster, {0, 1}).inter_node,
            (Link{.bandwidth_bytes_per_s = 6,
                  .pair_bandwidth_bytes_per_s = 4,
                  .latency_s = 2}));
}

TEST(WeakestSpecTest, OneNodeHasNoInterNodeLink) {
  const Cluster cluster =
      TestCluster({{.name = "a", .num_nodes = 2, .device = TestDevice()}});

  EXPECT_EQ(WeakestSpec(cluster, {1}).inter_node, Link());
}

}  // namespace
}  // namespace tangram
