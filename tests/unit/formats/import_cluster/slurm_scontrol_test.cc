#include "formats/import_cluster/slurm_scontrol.h"

#include <string>
#include <vector>

#include "formats/import_cluster/inventory_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kOneLine[] =
    "NodeName=h1 Arch=x86_64 Gres=gpu:h100:8(S:0-1) GresUsed=gpu:h100:2(IDX:0) "
    "OS=Linux 6.1 #1 SMP State=MIXED Partitions=all,gpu Weight=1 \n"
    "NodeName=h2 Gres=(null) State=DOWN Partitions=all "
    "Reason=cable out Gres=gpu:x:1 [root@2026-01-02T03:04:05]\n";

TEST(ParseScontrolNodesTest, ReadsOneLineANode) {
  ASSERT_OK_AND_ASSIGN(const std::vector<InventoryNode> nodes,
                       ParseScontrolNodes(kOneLine));
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].name, "h1");
  EXPECT_THAT(nodes[0].gpus, ElementsAre(InventoryGpus{
                                 .name = "h100", .count = 8, .used = 2}));
  EXPECT_THAT(nodes[0].partitions, ElementsAre("all", "gpu"));
  EXPECT_EQ(nodes[1].unusable, "down: cable out Gres=gpu:x:1");
  EXPECT_TRUE(nodes[1].gpus.empty());
}

TEST(ParseScontrolNodesTest, ReadsOneParagraphANode) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<InventoryNode> nodes,
      ParseScontrolNodes("NodeName=n1 Arch=x86_64\n   Gres=gpu:t4:4\n"
                         "   State=IDLE ThreadsPerCore=1\n\n"
                         "NodeName=n2 Arch=x86_64\r\n   Gres=gpu:t4:2\r\n"
                         "   State=IDLE+DRAIN\r\n   Reason=maint [a@b]\r\n"));
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_THAT(nodes[0].gpus,
              ElementsAre(InventoryGpus{.name = "t4", .count = 4}));
  EXPECT_EQ(nodes[1].unusable, "drain: maint");
}

TEST(ParseScontrolNodesTest, ReadsTrackableResourcesOfARecordWithoutGres) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<InventoryNode> nodes,
      ParseScontrolNodes(
          "NodeName=n1 State=IDLE CfgTRES=cpu=48,mem=1M,gres/gpu=6,"
          "gres/gpu:b200=4,gres/gpu:b200_2g.45gb=2\n"
          "NodeName=n2 State=IDLE CfgTRES=cpu=48,gres/gpu=4\n"
          "NodeName=n3 State=IDLE Gres=(null) CfgTRES=cpu=48\n"));
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_THAT(nodes[0].gpus,
              ElementsAre(InventoryGpus{.name = "b200", .count = 4},
                          InventoryGpus{.name = "b200_2g.45gb", .count = 2}));
  EXPECT_THAT(nodes[1].gpus, ElementsAre(InventoryGpus{.count = 4}));
  EXPECT_TRUE(nodes[2].gpus.empty());
}

// Comments and partitions are no parts of the node above them.
TEST(ParseScontrolNodesTest, ReadsLinesOfSlurmConf) {
  constexpr char kText[] =
      "/etc/slurm.conf:NodeName=n1 CPUs=8\n"
      "#NodeName=n0 Gres=gpu:t4:8\n"
      "PartitionName=all Nodes=ALL State=UP\n"
      "/etc/slurm.conf:NodeName=n2 Gres=gpu:t4:2 State=UNKNOWN\n";
  EXPECT_EQ(DetectFormat(kText), InventoryFormat::kScontrolNodes);
  ASSERT_OK_AND_ASSIGN(const std::vector<InventoryNode> nodes,
                       ParseScontrolNodes(kText));
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_TRUE(nodes[0].gpus.empty());
  EXPECT_THAT(nodes[0].unusable, HasSubstr("no state"));
  EXPECT_EQ(nodes[1].name, "n2");
  EXPECT_THAT(nodes[1].unusable, HasSubstr("unknown state; in slurm.conf"));
}

TEST(ParseScontrolNodesTest, NamesTheLineOfBadGpus) {
  EXPECT_THAT(ParseScontrolNodes("\nNodeName=n Gres=gpu:t4:x State=IDLE"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("line 2: Gres: gpu:t4:x; expected")));
}

TEST(ParseScontrolTopologyTest, KeepsTheLeaves) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<NetworkBlock> blocks,
      ParseScontrolTopology(
          "SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
          "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[1-2] Switches=leaf0\n"
          "BlockName=b1 BlockIndex=0 Nodes=m1 BlockSize=1\n"));
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].name, "leaf0");
  EXPECT_THAT(blocks[0].nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(blocks[1].name, "b1");
}

}  // namespace
}  // namespace tangram
