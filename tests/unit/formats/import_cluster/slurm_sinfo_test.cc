#include "formats/import_cluster/slurm_sinfo.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseSinfoTableTest, JoinsThePartitionsOfANode) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<InventoryNode> nodes,
      ParseSinfoTable("NODELIST|PARTITION|STATE|GRES|REASON\n"
                      "a1|all*|idle|gpu:a100:8|none\n"
                      "a1|big|idle|gpu:a100:8|none\n"
                      "a2|all*|drain|gpu:a100:8|fan is broken\n"));
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_THAT(nodes[0].partitions, ElementsAre("all", "big"));
  EXPECT_EQ(nodes[1].unusable, "drain: fan is broken");
}

TEST(ParseSinfoTableTest, ReadsSetsOfNodes) {
  ASSERT_OK_AND_ASSIGN(const std::vector<InventoryNode> nodes,
                       ParseSinfoTable("NODELIST   GRES        STATE\n"
                                       "a[1-2],b1  gpu:t4:4    idle\n"));
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[2].name, "b1");
  EXPECT_EQ(nodes[2].gpus[0].count, 4);
}

// -O cuts columns: the used GPUs run into the state, which begins below its
// title.
TEST(ParseSinfoTableTest, ReadsColumnsThatTouch) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<InventoryNode> nodes,
      ParseSinfoTable(
          "Sat Nov 21 00:30:20 2026\n"
          "NODELIST GRES                GRES_USED       STATE  \n"
          "m1       gpu:a40:4,gpu:t4:4  gpu:a40:0(IDX:N/idle   \n"));
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].unusable, "");
  ASSERT_EQ(nodes[0].gpus.size(), 2u);
  EXPECT_EQ(nodes[0].gpus[0].used, 0);
}

TEST(ParseSinfoTableTest, ReadsOtherMarksBetweenColumns) {
  for (const char* text : {"HOSTNAMES;GRES;STATE\nn1;gpu:t4:4,gpu:a40:2;idle\n",
                           "NODELIST,GRES,STATE\nn1,gpu:t4:4,idle\n"}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<InventoryNode> nodes,
                         ParseSinfoTable(text));
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes[0].gpus[0].count, 4);
    EXPECT_EQ(nodes[0].unusable, "");
  }
  EXPECT_THAT(
      ParseSinfoTable("NODELIST,GRES,STATE\nn[1,3],gpu:t4:4,idle\n"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("line 2: 4 cells; expected 3, as the titles: sinfo")));
}

TEST(ParseSinfoTableTest, NeedsItsColumns) {
  EXPECT_THAT(
      ParseSinfoTable("NODELIST NODES PARTITION STATE\nn1 1 all idle\n"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("no column GRES; expected sinfo -N -o")));
  EXPECT_THAT(ParseSinfoTable("NODELIST|STATE|GRES\nn[1|idle|gpu:1\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("line 2: n[1; expected a list of nodes")));
}

TEST(ParseSlurmJsonTest, ReadsNodesOfOldAndNewReleases) {
  const std::string old_nodes = R"({"nodes": [
      {"name": "n1", "state": "idle", "state_flags": ["DRAIN"], "gres": "gpu:2",
       "gres_used": "gpu:0", "partitions": ["all"], "reason": "fan"}]})";
  const std::string new_nodes = R"({"nodes": [
      {"name": "n1", "state": ["IDLE", "DRAIN"], "gres": "gpu:2",
       "gres_used": "gpu:0", "partitions": ["all"], "reason": "fan"}]})";
  const std::string new_sets = R"({"sinfo": [
      {"node": {"state": ["IDLE", "DRAIN"]}, "nodes": {"nodes": ["n1"]},
       "gres": {"total": "gpu:2", "used": "gpu:0"},
       "partition": {"name": "all"}, "reason": {"description": ["fan"]}}]})";
  for (const std::string& text : {old_nodes, new_nodes, new_sets}) {
    SCOPED_TRACE(text);
    ASSERT_OK_AND_ASSIGN(const std::vector<InventoryNode> nodes,
                         ParseSlurmJson(text));
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes[0].name, "n1");
    EXPECT_EQ(nodes[0].unusable, "drain: fan");
    EXPECT_THAT(nodes[0].gpus, ElementsAre(InventoryGpus{.count = 2}));
    EXPECT_THAT(nodes[0].partitions, ElementsAre("all"));
  }
}

TEST(ParseSlurmJsonTest, NamesTheElementOfBadGpus) {
  EXPECT_THAT(
      ParseSlurmJson(
          R"({"nodes": [{"name": "a"}, {"name": "b", "gres": "gpu:a:b"}]})"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("nodes[1]: gpu:")));
  EXPECT_THAT(ParseSlurmJson("{\"nodes\": ["),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("JSON")));
}

}  // namespace
}  // namespace tangram
