#include "cli/print/print_islands.h"

#include <set>
#include <sstream>
#include <vector>

#include "formats/config/memory_margin.h"
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
  PrintIslandTable(cluster, {island},
                   {.what = "stage", .used = {std::set<int>{0, 1}}}, console_);

  EXPECT_THAT(out_.str(), HasSubstr("0  T4 x8   a-0..1  8 x 16.0 GB   100 GB/s"
                                    "  10.0 GB/s  stages 0-1\n"));
}

TEST_F(PrintIslandsTest, ShowsRealAndUsableMemory) {
  Cluster cluster = TestCluster({{.name = "a"}});
  KeepMemoryFree(0.2, cluster);
  Island island = {.name = "T4 x4",
                   .nodes = {0},
                   .spec = tangram::testing::TestIsland(1, 4)};
  island.spec.device.memory_bytes *= 0.8;
  PrintIslandTable(cluster, {island}, {}, console_);

  EXPECT_THAT(out_.str(),
              HasSubstr("a-0    4 x 16.0 GB  12.8 GB   100 GB/s\n"));
}

TEST_F(PrintIslandsTest, EqualIslandsShareARow) {
  const Cluster cluster = TestCluster({{.name = "a", .num_nodes = 4}});
  std::vector<Island> islands;
  for (int i = 0; i < 4; ++i) {
    islands.push_back({.id = i,
                       .name = "T4 x4",
                       .nodes = {i},
                       .spec = tangram::testing::TestIsland(1, 4)});
  }
  // Island 2 is left out, so it is apart from the others.
  PrintIslandTable(cluster, islands,
                   {.what = "stage",
                    .used = {std::set<int>{0}, std::set<int>{1},
                             std::set<int>{}, std::set<int>{2}}},
                   console_);

  EXPECT_THAT(out_.str(), HasSubstr("0-1,3  3 times T4 x4  a-0..3"));
  EXPECT_THAT(out_.str(), HasSubstr("stages 0-2\n"));
  EXPECT_THAT(out_.str(), HasSubstr("    2  T4 x4          a-2"));
  EXPECT_THAT(out_.str(), HasSubstr("left out\n"));
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
