#include "formats/import_cluster/import_cluster.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/mutations.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::ForEachMutation;
using ::tangram::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr char kNodes[] =
    "NodeName=a1 Gres=gpu:h100:8 GresUsed=gpu:h100:3(IDX:0-2) State=MIXED "
    "Partitions=all,big\n"
    "NodeName=a2 Gres=gpu:h100:8 State=IDLE Partitions=all,big\n"
    "NodeName=a10 Gres=gpu:h100:8 State=IDLE Partitions=all\n"
    "NodeName=t1 Gres=gpu:t4:4 State=IDLE Partitions=all\n"
    "NodeName=t2 Gres=gpu:t4:4 State=DOWN Partitions=all Reason=fan [a@b]\n"
    "NodeName=c1 Gres=(null) State=IDLE Partitions=all\n";
constexpr char kSwitches[] =
    "SwitchName=s1 Level=0 Nodes=a[1-2]\nSwitchName=s2 Level=0 Nodes=a10,t1\n";
// 10 us + bytes / 50 GB/s. Between two nodes of eight GPUs the bus gets
// 50 GB/s · 2 · 15/16.
constexpr char kNccl[] =
    "# Collective test starting: all_reduce_perf\n"
    "#  Rank  0 Group 0 Pid 1 on a1 device 0 [0000:16:00] NVIDIA H100 NVL\n"
    "#  Rank  1 Group 0 Pid 1 on a1 device 1 [0000:17:00] NVIDIA H100 NVL\n"
    "#  Rank  2 Group 0 Pid 1 on a2 device 0 [0000:16:00] NVIDIA H100 NVL\n"
    "#  Rank  3 Group 0 Pid 1 on a2 device 1 [0000:17:00] NVIDIA H100 NVL\n"
    "# size count type redop root time algbw busbw #wrong\n"
    " 1000000 1 float sum -1 30.0 33.3 50.0 0 30.0 33.3 50.0 0\n"
    " 2000000 1 float sum -1 50.0 40.0 60.0 0 50.0 40.0 60.0 0\n"
    " 4000000 1 float sum -1 90.0 44.4 66.7 0 90.0 44.4 66.7 0\n";

ClusterSource Nodes() { return {.name = "nodes.txt", .text = kNodes}; }

std::vector<std::string> NodeNames(const Cluster& cluster, int group) {
  std::vector<std::string> names;
  for (const Node& node : cluster.nodes) {
    if (node.group == group) names.push_back(node.name);
  }
  return names;
}

TEST(ImportClusterTest, GroupsEqualNodesInNaturalOrder) {
  ASSERT_OK_AND_ASSIGN(const ImportedCluster imported,
                       ImportCluster({Nodes()}, {.name = "mine"}));
  EXPECT_EQ(imported.cluster.name, "mine");
  EXPECT_THAT(imported.cluster.groups, ElementsAre("h100", "t4"));
  EXPECT_THAT(NodeNames(imported.cluster, 0), ElementsAre("a1", "a2", "a10"));
  EXPECT_EQ(imported.cluster.num_gpus(), 28);
  ASSERT_EQ(imported.skipped.size(), 2u);
  EXPECT_EQ(imported.skipped[0].why, "no GPUs");
  EXPECT_EQ(imported.skipped[1].why, "down: fan");
}

TEST(ImportClusterTest, WritesWhereEachValueIsFrom) {
  ASSERT_OK_AND_ASSIGN(const ImportedCluster imported,
                       ImportCluster({Nodes()}, {}));
  EXPECT_THAT(
      imported.yaml,
      AllOf(HasSubstr("gpu: H100  # nodes.txt: GPU h100\n"),
            HasSubstr("node_names: [a1, a2, a10]\n"),
            HasSubstr("gpus_per_node: 8  # nodes.txt\n"),
            HasSubstr("# assumed (catalogue: H100): "),
            HasSubstr("# assumed (slower inter_node of the two groups)"),
            HasSubstr("# left out: t2: down: fan\n"),
            HasSubstr("# GPU h100 is taken for H100; it could be H100-NVL")));
}

TEST(ImportClusterTest, SplitsGroupsBySwitchUnlessFlat) {
  const ClusterSource switches{.name = "topo", .text = kSwitches};
  ASSERT_OK_AND_ASSIGN(const ImportedCluster split,
                       ImportCluster({Nodes(), switches}, {}));
  EXPECT_THAT(split.cluster.groups, ElementsAre("h100-s1", "h100-s2", "t4"));
  ASSERT_OK_AND_ASSIGN(const ImportedCluster flat,
                       ImportCluster({Nodes(), switches}, {.flat = true}));
  EXPECT_THAT(flat.cluster.groups, ElementsAre("h100", "t4"));
}

TEST(ImportClusterTest, KeepsOnlyWhatIsAskedFor) {
  ASSERT_OK_AND_ASSIGN(const ImportedCluster nodes,
                       ImportCluster({Nodes()}, {.nodes = "a[1-2]"}));
  EXPECT_EQ(nodes.cluster.num_gpus(), 16);
  EXPECT_THAT(nodes.skipped, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const ImportedCluster partition,
                       ImportCluster({Nodes()}, {.partitions = {"big"}}));
  EXPECT_EQ(partition.cluster.num_gpus(), 16);
  ASSERT_OK_AND_ASSIGN(
      const ImportedCluster free,
      ImportCluster({Nodes()}, {.nodes = "a[1-2]", .free_gpus_only = true}));
  EXPECT_EQ(free.cluster.num_gpus(), 13);  // 8 - 3 and 8.
  EXPECT_THAT(ImportCluster({Nodes()}, {.nodes = "a1,zz"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--nodes: zz; expected a node")));
}

TEST(ImportClusterTest, TakesMeasuredLinksByTheirHosts) {
  const ClusterSource nccl{.name = "nccl.txt", .text = kNccl};
  ASSERT_OK_AND_ASSIGN(const ImportedCluster imported,
                       ImportCluster({Nodes(), nccl}, {}));
  EXPECT_THAT(imported.cluster.groups, ElementsAre("h100-nvl", "t4"));
  const Link& link = imported.cluster.links[0][0];
  // t = 10 us + bytes / 50 GB/s. The bus factor of four ranks is 1.5, and two
  // sweeps of depth 2 are 4 hops.
  EXPECT_NEAR(link.bandwidth_bytes_per_s, 75e9, 1e7);
  EXPECT_NEAR(link.latency_s, 2.5e-6, 1e-9);
  EXPECT_DOUBLE_EQ(link.pair_bandwidth_bytes_per_s, 9e9);
  EXPECT_THAT(imported.yaml,
              HasSubstr("bandwidth: 75 GB/s  # measured, nccl.txt: all_reduce "
                        "over 4 GPUs of 2 nodes, 3 sizes\n"));
  EXPECT_THAT(
      imported.yaml,
      HasSubstr("pair_bandwidth: 9 GB/s  # assumed: catalogue: H100-NVL"));
}

TEST(ImportClusterTest, TakesMeasuredLinksBetweenGroups) {
  const ClusterSource nccl{
      .name = "nccl.txt", .scope = "a[1-2]:T4", .text = kNccl};
  ASSERT_OK_AND_ASSIGN(const ImportedCluster imported,
                       ImportCluster({Nodes(), nccl}, {}));
  EXPECT_NEAR(imported.cluster.links[0][1].bandwidth_bytes_per_s, 75e9, 1e7);
  EXPECT_NEAR(imported.cluster.links[1][0].bandwidth_bytes_per_s, 75e9, 1e7);
}

TEST(ImportClusterTest, PutsTheUsersFileFirst) {
  const ClusterSource nccl{.name = "nccl.txt", .text = kNccl};
  const OwnCluster own{.name = "own.yaml",
                       .text = R"(name: ours
groups:
  - name: h100-nvl
    inter_node: {bandwidth: 90 GB/s}
  - {gpu: T4, host: {bandwidth: 7 GB/s, memory: 64 GB}}
  - {name: extra, gpu: L4, nodes: 2}
links:
  - {from: H100-NVL, to: t4, bandwidth: 20 Gbit/s, pair_bandwidth: 10 Gbit/s}
)",
                       .folder = "/home/me"};
  ASSERT_OK_AND_ASSIGN(const ImportedCluster imported,
                       ImportCluster({Nodes(), nccl}, {.own = own}));
  const Cluster& cluster = imported.cluster;
  EXPECT_EQ(cluster.name, "ours");
  EXPECT_THAT(cluster.groups, ElementsAre("h100-nvl", "t4", "extra"));
  EXPECT_DOUBLE_EQ(cluster.links[0][0].bandwidth_bytes_per_s, 90e9);
  EXPECT_NEAR(cluster.links[0][0].latency_s, 2.5e-6, 1e-9);  // Measured.
  EXPECT_DOUBLE_EQ(cluster.links[0][1].bandwidth_bytes_per_s, 2.5e9);
  EXPECT_DOUBLE_EQ(cluster.nodes[3].device.host.bandwidth_bytes_per_s, 7e9);
  EXPECT_THAT(imported.yaml, HasSubstr("bandwidth: \"90 GB/s\"  # own.yaml\n"));
}

TEST(ImportClusterTest, FindsProfilesBesideTheUsersFile) {
  const OwnCluster own{.name = "own.yaml",
                       .text = "groups: [{gpu: T4, profile: [p.json]}]",
                       .folder = "/no/such"};
  EXPECT_THAT(ImportCluster({Nodes()}, {.own = own}),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("/no/such/p.json: no such file")));
}

TEST(ImportClusterTest, RefusesAnOwnGroupThatIsAboutNothing) {
  const OwnCluster own{.name = "own.yaml",
                       .text = "groups: [{name: h200, host: {}}]"};
  EXPECT_THAT(ImportCluster({Nodes()}, {.own = own}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("own.yaml: groups[0]: h200; expected one of "
                                 "the groups h100, t4")));
}

TEST(ImportClusterTest, APartDoesWithoutWhatFilesSayOfTheRest) {
  const ClusterSource nccl{.name = "nccl.txt", .text = kNccl};
  const OwnCluster own{.name = "own.yaml", .text = R"(groups:
  - {gpu: T4, inter_node: {bandwidth: 1 GB/s}}
  - {gpu: H100-NVL, inter_node: {bandwidth: 90 GB/s}}
links:
  - {from: h100-nvl, to: T4, bandwidth: 20 Gbit/s}
)"};
  ASSERT_OK_AND_ASSIGN(
      const ImportedCluster imported,
      ImportCluster({Nodes(), nccl}, {.nodes = "a10", .own = own}));
  EXPECT_THAT(imported.cluster.groups, ElementsAre("h100-nvl"));
  EXPECT_DOUBLE_EQ(imported.cluster.links[0][0].bandwidth_bytes_per_s, 90e9);
  EXPECT_THAT(
      imported.notes,
      IsSupersetOf({"own.yaml: groups[0] is not used: no node of T4 was chosen",
                    "own.yaml: links[0] is not used: no node of T4 was chosen",
                    "nccl.txt is not used: none of its nodes was chosen"}));
}

TEST(ImportClusterTest, NotesNodesWithFarMoreGpusThanUsual) {
  const auto notes = [](int count) {
    std::string rows = "name\n";
    for (int i = 0; i < count; ++i) rows += "AMD Instinct MI300X\n";
    const auto imported = ImportCluster(
        {{.name = "n1.csv", .scope = "n1", .text = rows}}, {.name = "c"});
    EXPECT_TRUE(imported.ok()) << imported.status();
    return imported->notes;
  };
  EXPECT_THAT(notes(64), ElementsAre(HasSubstr(
                             "n1 has 64 MI300X, and nodes of its kind 8: they "
                             "may be parts of GPUs")));
  EXPECT_THAT(notes(16), ElementsAre());
}

TEST(ImportClusterTest, TakesTypesThatAreTold) {
  const ClusterSource nodes{.name = "n",
                            .text =
                                "NodeName=n1 Gres=gpu:4 State=IDLE\n"
                                "NodeName=n2 Gres=gpu:weird:4 State=IDLE\n"
                                "NodeName=n3 Gres=gpu:odd:4 State=IDLE\n"};
  ASSERT_OK_AND_ASSIGN(
      const ImportedCluster imported,
      ImportCluster({nodes},
                    {.gpu_types = {{"n[1]", "T4"}, {"Weird", "A10"}}}));
  EXPECT_THAT(imported.cluster.groups, ElementsAre("t4", "a10"));
  ASSERT_EQ(imported.skipped.size(), 1u);
  EXPECT_THAT(imported.skipped[0].why,
              HasSubstr("GPU odd is not in the catalogue"));
}

TEST(ImportClusterTest, OptionsThatFitNothingAreErrors) {
  const auto expect = [](const ClusterImportOptions& options,
                         const std::string& partitions,
                         const std::string& message) {
    const ClusterSource nodes{
        .name = "n",
        .text = absl::StrCat("NodeName=n1 Gres=gpu:t4:4 State=IDLE", partitions,
                             "\n")};
    EXPECT_THAT(ImportCluster({nodes}, options),
                StatusIs(absl::StatusCode::kInvalidArgument, message));
  };
  expect({.gpu_types = {{"t4", "A1000-80"}}}, "",
         "--gpu: t4=A1000-80; expected a type of tangram devices, or of the "
         "file of --cluster; did you mean A100-80?");
  expect({.partitions = {"dev", "nix"}}, " Partitions=all,dev",
         "--partition: nix; expected one of all, dev");
  expect({.partitions = {"nix"}}, "",
         "--partition: nix; expected an inventory that names partitions: "
         "scontrol show node");
}

TEST(ImportClusterTest, PlansMixedNodesWithTheStrongerGpus) {
  const ClusterSource nodes{
      .name = "n", .text = "NodeName=m1 Gres=gpu:t4:2,gpu:l4:4 State=IDLE\n"};
  ASSERT_OK_AND_ASSIGN(const ImportedCluster imported,
                       ImportCluster({nodes}, {}));
  EXPECT_THAT(imported.cluster.groups, ElementsAre("l4"));
  EXPECT_THAT(imported.notes, ElementsAre(HasSubstr("its 2 T4 stay unused")));
}

TEST(ImportClusterTest, NotesGpusThatNobodyKnows) {
  const ClusterSource nodes{
      .name = "n", .text = "NodeName=m1 Gres=gpu:q9:2,gpu:l4:4 State=IDLE\n"};
  ASSERT_OK_AND_ASSIGN(const ImportedCluster imported,
                       ImportCluster({nodes}, {}));
  EXPECT_THAT(imported.notes, ElementsAre(HasSubstr("its 2 q9 stay unused")));
}

TEST(ImportClusterTest, PartsOfGpusAreNotWholeOnes) {
  const ClusterSource nodes{
      .name = "n", .text = R"({"items": [{"metadata": {"name": "m1", "labels": {
          "amd.com/gpu.product-name": "AMD_Instinct_MI355X_OAM",
          "amd.com/gpu.vram": "144G"}},
          "status": {"allocatable": {"amd.com/gpu": "16"}}}]})"};
  EXPECT_THAT(ImportCluster({nodes}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has 155 GB of the 309 GB of a MI355X")));
}

TEST(ImportClusterTest, JoinsWhatDriversSay) {
  const ClusterSource driver{
      .name = "smi.xml",
      .scope = "a[1-2],x1",
      .text =
          "<nvidia_smi_log><gpu><product_name>NVIDIA H100 PCIe"
          "</product_name><fb_memory_usage><total>81559 MiB</total>"
          "</fb_memory_usage></gpu></nvidia_smi_log>"};
  ASSERT_OK_AND_ASSIGN(const ImportedCluster imported,
                       ImportCluster({Nodes(), driver}, {}));
  // Slurm calls the GPUs of a10 by the same name. Only the driver knows x1.
  EXPECT_THAT(imported.cluster.groups,
              ElementsAre("h100-pcie", "t4", "h100-pcie-x1"));
  EXPECT_THAT(imported.notes,
              ElementsAre("GPU h100 is NVIDIA H100 PCIe, as smi.xml says"));
  EXPECT_EQ(imported.cluster.nodes[0].num_gpus, 8);
  EXPECT_THAT(imported.yaml, HasSubstr("memory: 81559 MiB  # nodes.txt, smi"));
}

TEST(ImportClusterTest, SaysWhyNothingIsLeft) {
  const ClusterSource down{.name = "n",
                           .text = "NodeName=n1 Gres=gpu:t4:4 State=DOWN\n"};
  EXPECT_THAT(ImportCluster({down}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "no node with GPUs that can be used; n1: down"));
  const ClusterSource unknown{.name = "some.txt", .text = "hello"};
  EXPECT_THAT(ImportCluster({{.name = "none.txt", .text = "\n"}}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("none.txt: empty; expected an inventory")));
  EXPECT_THAT(ImportCluster({unknown}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("some.txt: of no known format")));
}

TEST(ImportClusterTest, KeepsHostileTextOutOfTheFile) {
  const ClusterSource nodes{.name = "a\nb: c",
                            .text =
                                "NodeName=n1 Gres=gpu:t4:4 State=IDLE\n"
                                "NodeName=n2]}#\x01 Gres=gpu:t4:4 State=IDLE\n"
                                "NodeName=n3 Gres=gpu:t4:4 State=D\"\x7fOWN\n"};
  ASSERT_OK_AND_ASSIGN(const ImportedCluster imported,
                       ImportCluster({nodes}, {.name = "x # y: \"z\""}));
  EXPECT_EQ(imported.cluster.name, "x # y: \"z\"");
  EXPECT_EQ(imported.cluster.num_gpus(), 4);
  EXPECT_THAT(imported.yaml, Not(HasSubstr("\nb: c")));
  EXPECT_THAT(ImportCluster({nodes}, {.name = "x\n# y"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected a text without control")));
}

TEST(ImportClusterTest, SurvivesDamagedInput) {
  const std::vector<ClusterSource> sources = {
      Nodes(),
      {.name = "topo", .text = kSwitches},
      {.name = "nccl", .text = kNccl}};
  int read = 0;
  for (const ClusterSource& source : sources) {
    ForEachMutation(source.text, 300, [&](const std::string& text) {
      ClusterSource damaged = source;
      damaged.text = text;
      read += ImportCluster({Nodes(), damaged}, {}).ok() ? 1 : 0;
    });
  }
  EXPECT_GT(read, 100);
  EXPECT_LT(read, 900);
}

}  // namespace
}  // namespace tangram
