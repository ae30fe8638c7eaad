#include "cli/print/print_islands.h"

#include <sstream>

#include "gmock/gmock.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestCluster;
using ::testing::HasSubstr;

class PrintIslandsTest : public ::testing::Test {
 protected:
  std::ostringstream out_;
  Console console_{.out = out_, .err = out_};
};

TEST_F(PrintIslandsTest, ShowsMemoryAndLinks) {
  const Cluster cluster = TestCluster({{.name = "a", .num_nodes = 2}});
  const Island island = {.name = "T4 x8",
                         .nodes = {0, 1},
                         .spec = tangram::testing::TestIsland(2, 4)};
  PrintIslandTable(cluster, {island}, {"stages 0-1"}, console_);

  EXPECT_THAT(out_.str(),
              HasSubstr("0  T4 x8   a-0, a-1  8 x 16.0 GB     100 GB/s      "
                        "10.0 GB/s  stages 0-1\n"));
}

TEST_F(PrintIslandsTest, GivesReasons) {
  PrintIslandReasons({Island{.id = 3, .name = "A", .reason = "slow links"}},
                     console_);

  EXPECT_EQ(out_.str(), "  3 A: slow links\n");
}

TEST_F(PrintIslandsTest, GathersAssumptionsByPartOfTheFile) {
  Cluster cluster;
  cluster.assumptions = {{"groups[0].memory", "16 GB", "catalogue: T4"},
                         {"groups[0].nodes.x", "1", "catalogue: T4"},
                         {"groups[1].memory", "32 GB", "catalogue: V"},
                         {"links", "slow", "default"}};
  PrintAssumptions(cluster, /*limit=*/2, console_);

  EXPECT_THAT(out_.str(),
              HasSubstr("  groups[0] (catalogue: T4): memory 16 GB, nodes.x 1\n"
                        "  groups[1] (catalogue: V): memory 32 GB\n"
                        "  ... and more for 1 part of the file"));
}

TEST_F(PrintIslandsTest, PrintsNothingWithoutAssumptions) {
  PrintAssumptions(Cluster(), /*limit=*/2, console_);

  EXPECT_EQ(out_.str(), "");
}

}  // namespace
}  // namespace tangram
