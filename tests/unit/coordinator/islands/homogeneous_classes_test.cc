#include "coordinator/islands/homogeneous_classes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestCluster;
using ::tangram::testing::TestDevice;
using ::testing::ElementsAre;
using ::testing::Field;

// A cluster with one node in each group. Compute and memory are scaled from the
// test device.
Cluster ClusterOf(const std::vector<double>& compute,
                  const std::vector<double>& memory) {
  std::vector<testing::TestGroup> groups;
  for (size_t i = 0; i < compute.size(); ++i) {
    DeviceSpec device = TestDevice();
    device.peak_flops.fp16 = compute[i];
    device.memory_bytes = memory[i];
    groups.push_back({.name = "n", .num_nodes = 1, .device = device});
  }
  return TestCluster(groups);
}

std::vector<HomogeneousClass> Split(const Cluster& cluster,
                                    const std::vector<int>& nodes,
                                    const IslandTolerances& tolerances = {}) {
  return SplitIntoClasses(cluster, nodes, Precision::kFp16, tolerances);
}

auto NodesAre(const std::vector<int>& nodes) {
  return Field(&HomogeneousClass::nodes, nodes);
}

TEST(ComputeOfTest, ScalesThePeakByTheGemmFraction) {
  DeviceSpec device = TestDevice();
  device.peak_flops.bf16 = 200;
  device.efficiency.gemm_max_fraction = 0.7;

  EXPECT_DOUBLE_EQ(ComputeOf(device, Precision::kBf16), 140);  // 200 · 0.7
}

TEST(ComputeOfTest, UsesTheUnitsThatTheDeviceHas) {
  DeviceSpec device = TestDevice();
  device.peak_flops = {.fp32 = 15, .fp16 = 120};
  EXPECT_DOUBLE_EQ(ComputeOf(device, Precision::kFp16), 120);
  EXPECT_DOUBLE_EQ(ComputeOf(device, Precision::kBf16), 15);
}

TEST(SplitIntoClassesTest, SpreadAtTheToleranceStaysTogether) {
  // 1.25 is exact in binary, so max / min is exactly 1 + ε.
  const Cluster cluster = ClusterOf({100, 125, 100}, {16, 16, 16});

  EXPECT_THAT(Split(cluster, {0, 1, 2}, {.compute = 0.25}),
              ElementsAre(NodesAre({0, 1, 2})));
  EXPECT_THAT(Split(cluster, {0, 1, 2}, {.compute = 0.2499}),
              ElementsAre(NodesAre({0, 2}), NodesAre({1})));
}

TEST(SplitIntoClassesTest, SpreadIsTakenToTheSmallestOfThePart) {
  // 104/100 fits 1.05; 108/100 does not although 108/104 would.
  const Cluster cluster = ClusterOf({108, 100, 104}, {16, 16, 16});

  EXPECT_THAT(Split(cluster, {0, 1, 2}),
              ElementsAre(NodesAre({1, 2}), NodesAre({0})));
}

TEST(SplitIntoClassesTest, MemorySplitsWhatComputeLeftTogether) {
  const Cluster cluster = ClusterOf({100, 100, 50}, {16, 32, 16});

  const std::vector<HomogeneousClass> classes = Split(cluster, {0, 1, 2});

  EXPECT_THAT(classes,
              ElementsAre(NodesAre({2}), NodesAre({0}), NodesAre({1})));
  // Nodes 0 and 1 share the range of compute; memory separates them.
  EXPECT_EQ(classes[1].ranges[1], classes[2].ranges[1]);
  EXPECT_NE(classes[1].ranges[2], classes[2].ranges[2]);
}

TEST(SplitIntoClassesTest, DifferentGpusPerNodeAlwaysSplit) {
  Cluster cluster = ClusterOf({100, 100}, {16, 16});
  cluster.nodes[1].num_gpus = 8;

  EXPECT_THAT(
      Split(cluster, {0, 1}, {.compute = 9, .memory = 9, .intra_node = 9}),
      ElementsAre(NodesAre({0}), NodesAre({1})));
}

TEST(SplitIntoClassesTest, IntraNodeBandwidthSplits) {
  Cluster cluster = ClusterOf({100, 100, 100}, {16, 16, 16});
  cluster.nodes[1].intra_node.bandwidth_bytes_per_s *= 1.09;
  cluster.nodes[2].intra_node.bandwidth_bytes_per_s *= 1.11;

  EXPECT_THAT(Split(cluster, {0, 1, 2}),
              ElementsAre(NodesAre({0, 1}), NodesAre({2})));
}

TEST(SplitIntoClassesTest, KeepsTheOrderGiven) {
  const Cluster cluster = ClusterOf({100, 101, 102}, {16, 16, 16});

  EXPECT_THAT(Split(cluster, {2, 0, 1}), ElementsAre(NodesAre({2, 0, 1})));
}

TEST(SplitIntoClassesTest, NoNodesHaveNoClasses) {
  EXPECT_TRUE(Split(ClusterOf({}, {}), {}).empty());
}

}  // namespace
}  // namespace tangram
