#include <string>
#include <vector>

#include "cli/validation/run_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/measured_runs.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using testing::GptRun;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;

struct NetworkText {
  const char* name;
  const char* text;
  double gbit_per_s;
  int num_links;
  bool rdma;
  bool omni_path;
};

class NetworkTextTest : public ::testing::TestWithParam<NetworkText> {};

TEST_P(NetworkTextTest, SaysWhatANodeHas) {
  const NetworkText& want = GetParam();
  const std::optional<NodeNetwork> network = ParseNodeNetwork(want.text);

  ASSERT_TRUE(network.has_value());
  EXPECT_DOUBLE_EQ(network->gbit_per_s, want.gbit_per_s);
  EXPECT_EQ(network->num_links, want.num_links);
  EXPECT_EQ(network->rdma, want.rdma);
  EXPECT_EQ(network->omni_path, want.omni_path);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, NetworkTextTest,
    ::testing::Values(
        NetworkText{"Links", "8x HDR InfiniBand 200 Gbps per node", 1600, 8,
                    true, false},
        NetworkText{"NamedRate", "8x HDR InfiniBand per node", 1600, 8, true,
                    false},
        NetworkText{"OmniPath", "4x Omni-Path links per node (100 Gbps each)",
                    400, 4, true, true},
        NetworkText{"Product",
                    "Omni-Path 4x100 Gbps nominal; measured 23-90 Gbps", 400, 4,
                    true, true},
        NetworkText{"Node", "800 Gbps per node", 800, 1, true, false},
        NetworkText{"EachGpu", "RoCE 400 Gbps per GPU", 3200, 8, true, false},
        NetworkText{"Ethernet", "10 Gbps (p3.8xlarge)", 10, 1, false, false},
        NetworkText{"Fraction", "2.5 gbit/s", 2.5, 1, false, false},
        NetworkText{"AfterAName", "V100 nodes: 25 Gb/s", 25, 1, false, false},
        NetworkText{"NoLinks", "0x InfiniBand 200 Gbps", 200, 1, true, false}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ParseNodeNetworkTest, IsEmptyWithoutARate) {
  EXPECT_THAT(ParseNodeNetwork(""), Eq(std::nullopt));
  EXPECT_THAT(ParseNodeNetwork("InfiniBand"), Eq(std::nullopt));
  EXPECT_THAT(ParseNodeNetwork("4x V100"), Eq(std::nullopt));
}

struct GpuName {
  const char* name;
  bool nvlink;
  const char* type;  // Type in the catalogue.
};

TEST(FindRunDeviceTest, ReadsNamesAsSourcesWriteThem) {
  for (const GpuName& gpu :
       {GpuName{"A100-80 SXM (Selene)", true, "A100-80"},
        GpuName{"A100-40 SXM4", true, "A100-40"},
        GpuName{"A100", false, "A100-80"},
        GpuName{"V100-32 SXM2", true, "V100-32"},
        GpuName{"V100-32 SXM3 (DGX-2)", true, "V100-32"},
        GpuName{"H100-80 SXM", true, "H100"}, GpuName{"A10G-24", false, "A10G"},
        GpuName{"GH-96", false, "GH200"}}) {
    SCOPED_TRACE(gpu.name);
    ASSERT_OK_AND_ASSIGN(const CatalogueDevice* device,
                         FindRunDevice(gpu.name, gpu.nvlink));
    EXPECT_EQ(device->device.type, gpu.type);
  }
}

TEST(FindRunDeviceTest, NvlinkTellsCardsOfOneNameApart) {
  ASSERT_OK_AND_ASSIGN(const CatalogueDevice* with,
                       FindRunDevice("V100-16", true));
  ASSERT_OK_AND_ASSIGN(const CatalogueDevice* without,
                       FindRunDevice("V100-16", false));

  EXPECT_EQ(with->device.type, "V100-16-SXM2");
  EXPECT_EQ(without->device.type, "V100-16");
}

TEST(FindRunDeviceTest, OthersCannotBeExpressed) {
  EXPECT_THAT(FindRunDevice("XPU-9 (lab)", true),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "gpu: XPU-9 (lab); not in the device catalogue"));
}

// Makes a stage with that many GPUs of the row's type.
RunStage StageOf(int num_gpus) {
  return {.plan = {.parallelism = {.dp_degree = num_gpus}}};
}

TEST(PlaceRunTest, RanksFillNodesInOrder) {
  MeasuredRun run = GptRun();
  run.gpus_per_node = 4;
  ASSERT_OK_AND_ASSIGN(const PlacedRun placed,
                       PlaceRun(run, {StageOf(2), StageOf(4)}));

  EXPECT_THAT(placed.gpus, ElementsAre(ElementsAre(GpuId{0, 0}, GpuId{0, 1}),
                                       ElementsAre(GpuId{0, 2}, GpuId{0, 3},
                                                   GpuId{1, 0}, GpuId{1, 1})));
  ASSERT_THAT(placed.cluster.nodes, SizeIs(2));
  EXPECT_EQ(placed.cluster.nodes[1].num_gpus, 4);
  EXPECT_EQ(placed.cluster.nodes[1].device.type, "A100-80");
}

TEST(PlaceRunTest, NodesAreTheCataloguesWhereTheRowDoesNotSay) {
  MeasuredRun run = GptRun();
  run.num_gpus = 9;
  run.gpus_per_node = 0;
  ASSERT_OK_AND_ASSIGN(const CatalogueDevice* device,
                       FindRunDevice("A100-80", false));
  ASSERT_OK_AND_ASSIGN(const PlacedRun placed, PlaceRun(run, {StageOf(9)}));

  ASSERT_THAT(placed.cluster.nodes, SizeIs(2));
  EXPECT_EQ(placed.cluster.nodes[0].num_gpus, device->gpus_per_node);
  EXPECT_EQ(placed.cluster.nodes[0].intra_node, device->intra_node);
  EXPECT_EQ(placed.cluster.LinkBetween(0, 1), device->inter_node);
}

TEST(PlaceRunTest, RdmaDeliversFourFifthsOverAllItsLinks) {
  MeasuredRun run = GptRun();
  run.num_gpus = 16;
  run.inter_link = "8x HDR InfiniBand 200 Gbps per node";
  ASSERT_OK_AND_ASSIGN(const PlacedRun placed, PlaceRun(run, {StageOf(16)}));

  // 0.8 · 8 · 200 Gbit/s / 8 bit = 160 GB/s; one link has an eighth of it.
  const Link& link = placed.cluster.LinkBetween(0, 1);
  EXPECT_DOUBLE_EQ(link.bandwidth_bytes_per_s, 160e9);
  EXPECT_DOUBLE_EQ(link.pair_bandwidth_bytes_per_s, 20e9);
  EXPECT_DOUBLE_EQ(link.latency_s, 20e-6);
}

TEST(PlaceRunTest, EthernetAndOmniPathDeliverLess) {
  MeasuredRun run = GptRun();
  run.num_gpus = 16;
  run.inter_link = "10 Gbps";
  ASSERT_OK_AND_ASSIGN(const PlacedRun ethernet, PlaceRun(run, {StageOf(16)}));
  run.inter_link = "4x Omni-Path links per node (100 Gbps each)";
  ASSERT_OK_AND_ASSIGN(const PlacedRun omni_path, PlaceRun(run, {StageOf(16)}));

  // 10 / 8 = 1.25 GB/s and a copy at 16 GB/s; 0.165 · 4 · 100 / 8 = 8.25 GB/s.
  const Link& slow = ethernet.cluster.LinkBetween(0, 1);
  EXPECT_DOUBLE_EQ(slow.bandwidth_bytes_per_s, 1e9 / (1 / 1.25 + 1.0 / 16));
  EXPECT_DOUBLE_EQ(slow.latency_s, 50e-6);
  const Link& fast = omni_path.cluster.LinkBetween(0, 1);
  EXPECT_DOUBLE_EQ(fast.bandwidth_bytes_per_s, 8.25e9);
  EXPECT_DOUBLE_EQ(fast.pair_bandwidth_bytes_per_s, 2.0625e9);
  EXPECT_DOUBLE_EQ(fast.latency_s, 20e-6);
}

TEST(PlaceRunTest, EachTypeHasNodesAndLinksOfItsOwn) {
  MeasuredRun run = GptRun();
  run.gpu = "V100-16+T4";
  run.gpus_per_node = 4;
  run.intra_link = "V100 node: NVLink (170 Gbps); T4 node: PCIe (50 Gbps)";
  run.inter_link = "V100 nodes 10 Gbps (p3.8xlarge), T4 node 50 Gbps";
  RunStage mixed = StageOf(4);
  mixed.ranks = {{"V100-16", 1}, {"T4", 2}, {"V100-16", 1}};
  ASSERT_OK_AND_ASSIGN(const PlacedRun placed, PlaceRun(run, {mixed}));

  EXPECT_THAT(placed.gpus, ElementsAre(ElementsAre(GpuId{0, 0}, GpuId{1, 0},
                                                   GpuId{1, 1}, GpuId{0, 1})));
  const Cluster& cluster = placed.cluster;
  ASSERT_THAT(cluster.nodes, SizeIs(2));
  EXPECT_EQ(cluster.nodes[0].device.type, "V100-16-SXM2");
  EXPECT_EQ(cluster.nodes[1].device.type, "T4");
  // TCP delivers less than 10 and 50 Gbit/s; the slower one counts between.
  const double slow = 1e9 / (1 / 1.25 + 1.0 / 16);
  const double fast = 1e9 / (1 / 6.25 + 1.0 / 16);
  EXPECT_DOUBLE_EQ(cluster.links[0][0].bandwidth_bytes_per_s, slow);
  EXPECT_DOUBLE_EQ(cluster.links[1][1].bandwidth_bytes_per_s, fast);
  EXPECT_DOUBLE_EQ(cluster.links[0][1].bandwidth_bytes_per_s, slow);
  EXPECT_DOUBLE_EQ(cluster.links[1][0].bandwidth_bytes_per_s, slow);
}

TEST(PlaceRunTest, ARateBeyondPcieIsNvlink) {
  MeasuredRun run = GptRun();
  run.gpu = "V100-16";
  for (const auto& [text, type] :
       {std::pair("170 Gbps in a config", "V100-16-SXM2"),
        std::pair("V100 node: 170 Gbps", "V100-16-SXM2"),
        std::pair("50 Gbps", "V100-16"), std::pair("", "V100-16")}) {
    SCOPED_TRACE(text);
    run.intra_link = text;
    ASSERT_OK_AND_ASSIGN(const PlacedRun placed, PlaceRun(run, {StageOf(1)}));
    EXPECT_EQ(placed.cluster.nodes[0].device.type, type);
  }
}

TEST(PlaceRunTest, NoMoreGpusAreUsedThanThereWere) {
  EXPECT_THAT(PlaceRun(GptRun(), {StageOf(4), StageOf(5)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "num_gpus: 8; the plan uses at least 9"));
  RunStage huge;
  huge.plan.parallelism = {.tp_degree = 1 << 20, .dp_degree = 1 << 20};
  EXPECT_THAT(PlaceRun(GptRun(), {huge}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "num_gpus: 8; the plan uses at least 1099511627776"));
}

TEST(PlaceRunTest, UnknownTypesCannotBeExpressed) {
  RunStage stage = StageOf(1);
  stage.ranks = {{"XPU-9", 1}};
  EXPECT_THAT(PlaceRun(GptRun(), {stage}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("XPU-9")));
}

}  // namespace
}  // namespace tangram
