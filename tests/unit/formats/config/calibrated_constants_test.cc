#include "formats/config/calibrated_constants.h"

#include <fstream>
#include <string>

#include "formats/config/memory_margin.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::kBadInput;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TestCluster;
using testing::TestDevice;

TEST(ConstantsTest, AreWrittenAndReadBack) {
  const Calibration constants = {
      {"A100-80", Constant::kGemmMaxFraction, 0.875},
      {"A100-80", Constant::kInterNodeLatency, 2},
      {"T4", Constant::kHostLaunch, 1.25},
      {"T4", Constant::kHostLaunch, 3}};  // The first counts.
  ASSERT_OK_AND_ASSIGN(const Calibration read,
                       ParseConstants(FormatConstants(constants), "c.yaml"));

  ASSERT_THAT(read, SizeIs(3));
  EXPECT_EQ(read[0].device, "A100-80");
  EXPECT_EQ(read[0].constant, Constant::kGemmMaxFraction);
  EXPECT_EQ(read[0].factor, 0.875);
  EXPECT_EQ(read[1].constant, Constant::kInterNodeLatency);
  EXPECT_EQ(read[2].device, "T4");
  EXPECT_EQ(read[2].factor, 1.25);
}

TEST(ConstantsTest, BadFilesAreNamed) {
  EXPECT_THAT(ParseConstants("constants: []", "c.yaml"),
              StatusIs(kBadInput, HasSubstr("tangram_constants: missing")));
  EXPECT_THAT(ParseConstants("tangram_constants: 2\nconstants: []", "c.yaml"),
              StatusIs(kBadInput, HasSubstr("c.yaml: tangram_constants: 2")));
  const std::string start = "tangram_constants: 1\nconstants:\n  - ";
  EXPECT_THAT(ParseConstants(start + "{gpu: T4, gemm_max_fraction: 0}", "c"),
              StatusIs(kBadInput, HasSubstr("gemm_max_fraction: 0")));
  EXPECT_THAT(ParseConstants(start + "{gpu: T4, speed: 1}", "c"),
              StatusIs(kBadInput, HasSubstr("speed")));
  EXPECT_THAT(ParseConstants(start + "{gpu: T4}\n  - {gpu: T4}", "c"),
              StatusIs(kBadInput, HasSubstr("constants[1].gpu: T4")));
}

TEST(ConstantsTest, AFileCorrectsTheGpusOfItsTypes) {
  const std::string path = ::testing::TempDir() + "/constants.yaml";
  std::ofstream(path)
      << ("tangram_constants: 1\nconstants:\n"
          "  - {gpu: A, gemm_max_fraction: 0.5, attention_fraction: 1000}\n");
  Cluster cluster =
      TestCluster({{"a", 1, 4, TestDevice("A")}, {"b", 1, 4, TestDevice("B")}});
  const DeviceEfficiency before = cluster.nodes[0].device.efficiency;
  ASSERT_THAT(ApplyConstantsFile(path, cluster), IsOk());

  const DeviceEfficiency& after = cluster.nodes[0].device.efficiency;
  EXPECT_EQ(after.gemm_max_fraction, before.gemm_max_fraction / 2);
  EXPECT_EQ(after.attention_fraction, 1);  // No more than the datasheet's.
  EXPECT_EQ(cluster.nodes[1].device.efficiency.gemm_max_fraction,
            before.gemm_max_fraction);
  EXPECT_EQ(cluster.assumptions.back().field, "constants of A");

  Cluster other = TestCluster({{"b", 1, 4, TestDevice("B")}});
  EXPECT_THAT(ApplyConstantsFile(path, other),
              StatusIs(kBadInput, HasSubstr("expected one of B")));
}

TEST(MemoryMarginTest, IsTakenOffEachGpu) {
  Cluster cluster = TestCluster({{"a", 2, 4, TestDevice("A")}});
  const double bytes = cluster.nodes[0].device.memory_bytes;
  const size_t assumptions = cluster.assumptions.size();
  KeepMemoryFree(0, cluster);
  EXPECT_EQ(cluster.nodes[1].device.memory_bytes, bytes);
  EXPECT_THAT(cluster.assumptions, SizeIs(assumptions));

  KeepMemoryFree(0.25, cluster);
  EXPECT_EQ(cluster.nodes[0].device.memory_bytes, 0.75 * bytes);
  EXPECT_EQ(cluster.nodes[1].device.memory_bytes, 0.75 * bytes);
  EXPECT_THAT(cluster.assumptions, SizeIs(assumptions + 1));
  EXPECT_EQ(cluster.assumptions.back().source, "--memory-margin 0.25");
}

}  // namespace
}  // namespace tangram
