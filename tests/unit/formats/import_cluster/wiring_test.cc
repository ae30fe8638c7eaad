#include "formats/import_cluster/wiring.h"

#include <vector>

#include "formats/config/device_catalogue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOk;
using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

GpuTopology Square(int beside, int across) {
  const std::vector<int> even = {0, beside, across, across};
  const std::vector<int> odd = {beside, 0, across, across};
  return {
      .num_gpus = 4,
      .nvlinks = {
          even, odd, {across, across, 0, beside}, {across, across, beside, 0}}};
}

TEST(WiringTest, TellsPcieBridgesAndMeshes) {
  EXPECT_EQ(WiringOf(Square(0, 0)), Wiring::kPcie);
  EXPECT_EQ(WiringOf(Square(4, 0)), Wiring::kBridges);
  EXPECT_EQ(WiringOf(Square(2, 1)), Wiring::kNvLink);
  EXPECT_EQ(WiringOf(FindDevice("T4")->intra_node), Wiring::kPcie);
  EXPECT_EQ(WiringOf(FindDevice("H100-NVL")->intra_node), Wiring::kBridges);
  EXPECT_EQ(WiringOf(FindDevice("A100-80")->intra_node), Wiring::kNvLink);
}

ClusterDraft OneGroup(const char* type) {
  DraftGroup group{.name = "g", .num_gpus = 4, .device = FindDevice(type)};
  group.fields = {{"gpu", type, ""}};
  return {.groups = {group}};
}

TEST(SetWiringTest, LeavesTheCatalogueWhereBothAgree) {
  ClusterDraft draft = OneGroup("A100-80");
  EXPECT_THAT(SetWiring({{"topo", "g", Square(12, 12)}}, draft), IsOk());
  EXPECT_TRUE(draft.groups[0].intra_node.empty());
  EXPECT_THAT(draft.notes, ElementsAre(HasSubstr("as the catalogue assumes")));
}

TEST(SetWiringTest, WorksOutWhatTheCatalogueDoesNotExpect) {
  ClusterDraft draft = OneGroup("A100-80");
  draft.groups[0].pcie_generation = 4;
  draft.groups[0].pcie_lanes = 8;
  EXPECT_THAT(SetWiring({{"topo", "", Square(4, 0)}}, draft), IsOk());
  const DraftFields& link = draft.groups[0].intra_node;
  // PCIe 4.0 has twice the 11 GB/s of PCIe 3.0 x16; half the lanes halve it.
  EXPECT_EQ(FindField(link, "bandwidth")->value, "11 GB/s");
  // 4 links · 25 GB/s · 0.84.
  EXPECT_EQ(FindField(link, "pair_bandwidth")->value, "84 GB/s");
  EXPECT_THAT(FindField(link, "bandwidth")->source, HasSubstr("assumed"));
}

TEST(SetWiringTest, AddsUpTheLinksOfAMesh) {
  ClusterDraft draft = OneGroup("T4");
  EXPECT_THAT(SetWiring({{"topo", "T4", Square(2, 1)}}, draft), IsOk());
  // 2 + 1 + 1 links of 21 GB/s; a pair has at least 1.
  EXPECT_EQ(FindField(draft.groups[0].intra_node, "bandwidth")->value,
            "84 GB/s");
  EXPECT_EQ(FindField(draft.groups[0].intra_node, "pair_bandwidth")->value,
            "21 GB/s");
}

TEST(SetWiringTest, TakesNoLinksFromOneGpuOfMore) {
  ClusterDraft draft = OneGroup("A100-80");
  const GpuTopology one = {.num_gpus = 1, .nvlinks = {{0}}};
  EXPECT_THAT(SetWiring({{"topo", "g", one}}, draft), IsOk());
  EXPECT_TRUE(draft.groups[0].intra_node.empty());
  EXPECT_THAT(draft.notes, ElementsAre(HasSubstr("shows 1 GPU")));
}

TEST(SetWiringTest, NamesTheGroupsThatThereAre) {
  ClusterDraft draft = OneGroup("T4");
  EXPECT_THAT(SetWiring({{"topo.txt", "nowhere", Square(2, 1)}}, draft),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("topo.txt: nowhere; expected nodes, a GPU "
                                 "type or one of the groups g")));
}

}  // namespace
}  // namespace tangram
