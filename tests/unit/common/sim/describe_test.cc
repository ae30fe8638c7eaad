#include "common/sim/describe.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

TEST(DescribeGpusTest, CountsByTypeInOrderOfAppearance) {
  const Cluster cluster = testing::TestCluster(
      {{.name = "a", .device = testing::TestDevice("V100")},
       {.name = "b", .device = testing::TestDevice("T4")}});
  EXPECT_EQ(DescribeGpus(cluster, {{0, 0}, {0, 1}}), "2 x V100");
  EXPECT_EQ(DescribeGpus(cluster, {{1, 0}, {0, 1}, {1, 2}}),
            "2 x T4 + 1 x V100");
}

TEST(DescribeMissingUnitsTest, NamesEachTypeOfGpuOnce) {
  DeviceSpec v100 = testing::TestDevice("V100");
  v100.peak_flops = {.fp32 = 15e12, .fp16 = 125e12};
  const Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .device = v100},
       {.name = "b", .device = testing::TestDevice("A100")}});
  const std::vector<PlacedStage> stages = {{.gpus = {{0, 0}, {1, 0}}},
                                           {.gpus = {{2, 0}}}};
  EXPECT_THAT(
      DescribeMissingUnits(cluster, Precision::kBf16, stages),
      ::testing::ElementsAre("V100 has no bf16 units: timed at its fp32 rate"));
  EXPECT_THAT(DescribeMissingUnits(cluster, Precision::kFp16, stages),
              ::testing::IsEmpty());
}

TEST(DescribeParallelismTest, LeavesOutDegreesOfOne) {
  EXPECT_EQ(DescribeParallelism({}), "1 GPU");
  EXPECT_EQ(DescribeParallelism({.tp_degree = 2, .dp_degree = 4}),
            "tp 2, dp 4");
  EXPECT_EQ(DescribeParallelism({.cp_degree = 2, .ep_degree = 2}),
            "cp 2, ep 2");
  EXPECT_EQ(DescribeParallelism({.tp_degree = 8, .tp_y_degree = 2}), "tp 4x2");
}

TEST(DescribeOffloadTest, NamesWhatIsOffloadedWithItsShare) {
  EXPECT_EQ(DescribeOffload({.weights = 0.375, .optimizer = 1}),
            "weights 37.5 %, optimizer state 100 %");
  EXPECT_EQ(DescribeOffload({}), "");
}

TEST(DescribeSwitchesTest, NamesWhatIsNotAsUsual) {
  EXPECT_THAT(DescribeSwitches({}), ::testing::IsEmpty());
  EXPECT_THAT(DescribeSwitches({.dropout = false, .bf16_moments = true}),
              ::testing::ElementsAre("no dropout", "16-bit moments"));
}

TEST(DescribeTest, FormatsQuantitiesForPeople) {
  EXPECT_EQ(Seconds(1.254), "1.25 s");
  EXPECT_EQ(Seconds(0.01254), "12.5 ms");
  EXPECT_EQ(Seconds(0.0001254), "125 us");
  EXPECT_EQ(GigaBytes(15.754e9), "15.75 GB");
}

}  // namespace
}  // namespace tangram
