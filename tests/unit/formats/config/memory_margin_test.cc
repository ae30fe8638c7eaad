#include "formats/config/memory_margin.h"

#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestCluster;
using ::tangram::testing::TestDevice;

TEST(MemoryMarginTest, IsKnownFromTheClusterAlone) {
  Cluster cluster = TestCluster({{.name = "a", .device = TestDevice("A")}});
  EXPECT_EQ(MemoryMarginOf(cluster), 0);
  const double real = cluster.nodes[0].device.memory_bytes;
  KeepMemoryFree(0.125, cluster);

  EXPECT_EQ(MemoryMarginOf(cluster), 0.125);
  EXPECT_EQ(cluster.nodes[0].device.memory_bytes / (1 - 0.125), real);
}

TEST(MemoryMarginTest, DoesNotTrustFiles) {
  Cluster cluster = TestCluster({{.name = "a"}});
  for (const char* source :
       {"--memory-margin", "--memory-margin 1", "--memory-margin -0.1",
        "--memory-margin nan", "--memory-margin 0.1x", "x"}) {
    cluster.assumptions = {{"memory of A", "1 GB of 2 GB", source}};
    EXPECT_EQ(MemoryMarginOf(cluster), 0) << source;
  }
}

}  // namespace
}  // namespace tangram
