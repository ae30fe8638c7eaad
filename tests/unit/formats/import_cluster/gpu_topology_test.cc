#include "formats/import_cluster/gpu_topology.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseGpuTopologyTest, ReadsTabsEscapesAndNics) {
  ASSERT_OK_AND_ASSIGN(
      const GpuTopology topology,
      ParseGpuTopology("\t\x1b[4mGPU0\tGPU1\tmlx5_0\tCPU Affinity\t\tGPU NUMA "
                       "ID\x1b[0m\n"
                       "GPU0\t X \tNV12\tPXB\t0-31\t\tN/A\n"
                       "GPU1\tNV12\t X \tSYS\t0-31\t\tN/A\n"
                       "mlx5_0\tPXB\tSYS\t X \t\t\t\n\nLegend:\n  X = Self\n"));
  EXPECT_EQ(topology.num_gpus, 2);
  EXPECT_EQ(topology.num_nics, 1);
  EXPECT_THAT(topology.nvlinks,
              ElementsAre(ElementsAre(0, 12), ElementsAre(12, 0)));
  EXPECT_TRUE(topology.AllPairsHaveNvLink());
  EXPECT_FALSE(topology.crosses_sockets);  // Cells of NICs do not count.
}

TEST(ParseGpuTopologyTest, RefusesWhatDoesNotFitTheHeader) {
  EXPECT_THAT(ParseGpuTopology("   GPU0 GPU1\nGPU0 X\nGPU1 SYS X\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("line 2: GPU0 has 1 cells; expected 2")));
  EXPECT_THAT(ParseGpuTopology("   GPU0 GPU1\nGPU0 X NVX\nGPU1 SYS X\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("line 2: GPU1 of GPU0: NVX; expected X")));
  EXPECT_THAT(ParseGpuTopology("   GPU0 GPU1\nGPU0 X SYS\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("1 rows under 2 GPUs")));
}

}  // namespace
}  // namespace tangram
