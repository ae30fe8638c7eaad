// Inventories of public clusters and their contents; model configurations of
// public checkpoints and their published sizes.

#include <string>
#include <utility>
#include <vector>

#include "formats/config/config_field.h"
#include "formats/config/hf_config.h"
#include "formats/config/model_file.h"
#include "formats/config/model_yaml.h"
#include "formats/import_cluster/gres.h"
#include "formats/import_cluster/hostlist.h"
#include "formats/import_cluster/import_cluster.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/parity/reference_data.h"
#include "tests/testing/mutations.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::ForEachMutation;
using ::tangram::testing::IsOkAndHolds;
using ::tangram::testing::kNoReferenceData;
using ::tangram::testing::ReadReferenceData;
using ::tangram::testing::ReadReferenceText;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

TEST(ImportFixturesTest, ExpandsHostlistsAsScontrolDoes) {
  const auto vectors = ReadReferenceData("imports/hostlist_vectors.json");
  if (!vectors) GTEST_SKIP() << kNoReferenceData;
  for (const auto& c : (*vectors)["cases"]) {
    EXPECT_THAT(ExpandHostlist(c["in"].get<std::string>()),
                IsOkAndHolds(c["out"].get<std::vector<std::string>>()));
  }
}

TEST(ImportFixturesTest, ReadsGenericResources) {
  const auto vectors = ReadReferenceData("imports/gres_vectors.json");
  if (!vectors) GTEST_SKIP() << kNoReferenceData;
  for (const auto& c : (*vectors)["cases"]) {
    std::vector<InventoryGpus> expected;
    for (const auto& gpu : c["gpus"]) {
      expected.push_back(
          {.name = gpu[0].is_null() ? "" : gpu[0].get<std::string>(),
           .count = gpu[1].get<int>()});
    }
    EXPECT_THAT(ParseGres(c["gres"].get<std::string>()),
                IsOkAndHolds(expected));
  }
}

struct Inventory {
  ImportedCluster imported;
  int num_gpus = 0;
  std::vector<std::string> skipped;
};

Inventory Import(const std::vector<std::string>& files,
                 ClusterImportOptions options = {}) {
  std::vector<ClusterSource> sources;
  for (const std::string& file : files) {
    sources.push_back({.name = file, .text = *ReadReferenceText(file)});
  }
  Inventory inventory;
  auto imported = ImportCluster(sources, options);
  EXPECT_TRUE(imported.ok()) << imported.status();
  if (!imported.ok()) return inventory;
  inventory.imported = *std::move(imported);
  inventory.num_gpus = inventory.imported.cluster.num_gpus();
  for (const SkippedNode& node : inventory.imported.skipped) {
    inventory.skipped.push_back(node.name + ": " + node.why);
  }
  return inventory;
}

bool HasData() {
  return ReadReferenceText("slurm/idle.sinfo.json").has_value();
}

// Nine nodes: 2 x 8 A100, 2 x 4 V100, 4 x 2 T4, and one with 4 RTX-4090 and 4
// RTX-3090, of which the RTX-4090 are used.
TEST(ImportFixturesTest, FindsTheSameIdleClusterInEveryFormat) {
  if (!HasData()) GTEST_SKIP() << kNoReferenceData;
  for (const std::string file :
       {"slurm/idle.scontrol_show_nodes.txt",
        "slurm/idle.scontrol_show_nodes_oneline.txt",
        "slurm/idle.sinfo_N_pipe.txt", "slurm/idle.sinfo.json",
        "slurm/alloc.sinfo_N_pipe.txt", "slurm/alloc.sinfo_O_gresused.txt",
        "slurm/alloc_srun_3nodes.scontrol_show_nodes_detail_oneline.txt"}) {
    SCOPED_TRACE(file);
    const Inventory found = Import({file});
    EXPECT_EQ(found.num_gpus, 16 + 8 + 8 + 4);
    EXPECT_THAT(found.skipped, IsEmpty());
    EXPECT_THAT(found.imported.notes,
                Contains(HasSubstr("mix-1: its 4 RTX-3090 stay unused")));
  }
}

TEST(ImportFixturesTest, LeavesOutWhatIsDownDrainedOrInvalid) {
  if (!HasData()) GTEST_SKIP() << kNoReferenceData;
  for (const std::string file :
       {"slurm/down_drain.scontrol_show_nodes_oneline.txt",
        "slurm/down_drain.sinfo_N_pipe.txt"}) {
    const Inventory found = Import({file});
    EXPECT_EQ(found.num_gpus, 36 - 4);
    EXPECT_THAT(found.skipped,
                ElementsAre("t4-2: down: gpu ecc", "t4-3: drain: maint"));
  }
  for (const std::string file :
       {"slurm/inval_v100_gres_missing.scontrol_show_nodes_oneline.txt",
        "slurm/inval_v100_gres_missing.sinfo_N_pipe.txt"}) {
    const Inventory found = Import({file});
    EXPECT_EQ(found.num_gpus, 36 - 8);
    EXPECT_THAT(found.skipped,
                ElementsAre(AllOf(HasSubstr("v100-1: "),
                                  HasSubstr("invalid registration")),
                            HasSubstr("v100-2: ")));
  }
}

TEST(ImportFixturesTest, KeepsWhatIsFree) {
  if (!HasData()) GTEST_SKIP() << kNoReferenceData;
  for (const std::string file :
       {"slurm/alloc_srun_3nodes.scontrol_show_nodes_detail_oneline.txt",
        "slurm/alloc.sinfo_O_gresused.txt"}) {
    // Two GPUs of a100-1, v100-1 and t4-1 are in use.
    const Inventory found = Import({file}, {.free_gpus_only = true});
    EXPECT_EQ(found.num_gpus, 36 - 6);
    EXPECT_THAT(found.skipped, ElementsAre("t4-1: all its GPUs are in use"));
  }
}

TEST(ImportFixturesTest, GroupsBySwitch) {
  if (!HasData()) GTEST_SKIP() << kNoReferenceData;
  const Inventory found =
      Import({"slurm/idle.sinfo.json", "slurm/scontrol_show_topology.txt"});
  EXPECT_THAT(found.imported.cluster.groups,
              UnorderedElementsAre("a100-80", "rtx-4090", "t4", "v100-32"));
  EXPECT_THAT(found.imported.yaml, HasSubstr("# under leaf-ib200"));
}

TEST(ImportFixturesTest, ReadsKubernetesNodes) {
  if (!HasData()) GTEST_SKIP() << kNoReferenceData;
  const Inventory found = Import({"imports/kube_nodes.json"});
  EXPECT_THAT(found.imported.cluster.groups,
              ElementsAre("a100-40", "t4", "v100-16-sxm2"));
  EXPECT_EQ(found.num_gpus, 7 + 8 + 16);  // One A100 cannot be allocated.
  EXPECT_THAT(found.skipped,
              UnorderedElementsAre(
                  "cordoned-0: cordoned", "dead-0: not ready",
                  "shared-0: pods share its GPUs (4 to a GPU)",
                  StartsWith("mig-0: its GPUs are cut into MIG slices ("),
                  "cpu-0: no GPU can be allocated"));
}

TEST(ImportFixturesTest, ReadsTopologies) {
  if (!HasData()) GTEST_SKIP() << kNoReferenceData;
  const auto import = [](const std::string& file, const std::string& scope) {
    return ImportCluster(
        {{.name = "nodes",
          .text = *ReadReferenceText("slurm/idle.sinfo_N_pipe.txt")},
         {.name = "topo", .scope = scope, .text = *ReadReferenceText(file)}},
        {});
  };
  ASSERT_OK_AND_ASSIGN(const ImportedCluster bridged,
                       import("imports/topo_ansi_tabs.txt", "v100-[1-2]"));
  EXPECT_THAT(
      bridged.notes,
      Contains(HasSubstr("NVLink between pairs of GPUs alone, unlike")));
  ASSERT_OK_AND_ASSIGN(const ImportedCluster plain,
                       import("imports/topo_spaces_nonic.txt", "t4"));
  EXPECT_THAT(plain.notes,
              Contains(HasSubstr("no NVLink, as the catalogue assumes")));
}

TEST(ImportFixturesTest, FitsMeasuredLinks) {
  if (!HasData()) GTEST_SKIP() << kNoReferenceData;
  const auto import = [](const std::string& file, const std::string& scope) {
    return ImportCluster(
        {{.name = "nodes",
          .text = *ReadReferenceText("imports/kube_nodes.json")},
         {.name = file, .scope = scope, .text = *ReadReferenceText(file)}},
        {});
  };
  // 20 us and 30 us for a MiB: 1.5 · 2^20 / 30 us; four hops.
  ASSERT_OK_AND_ASSIGN(const ImportedCluster fitted,
                       import("imports/nccl_2_18_allreduce.txt", ""));
  const Link& v100 = fitted.cluster.nodes.back().intra_node;
  EXPECT_NEAR(v100.bandwidth_bytes_per_s, 52.43e9, 1e7);
  EXPECT_NEAR(v100.latency_s, 5e-6, 1e-8);
  // 3.12 GB/s between one T4 and another.
  ASSERT_OK_AND_ASSIGN(const ImportedCluster pair,
                       import("imports/nccl_old_mpi_prefixed.txt", "t4"));
  EXPECT_NEAR(pair.cluster.links[1][1].pair_bandwidth_bytes_per_s, 3.12e9, 1e7);
  // There are neither ranks nor a collective; 68.66 / 39.24 is the all-reduce
  // of eight.
  ASSERT_OK_AND_ASSIGN(const ImportedCluster large,
                       import("imports/nccl_out_of_place_only.txt", "a100-40"));
  EXPECT_NEAR(large.cluster.nodes[0].intra_node.bandwidth_bytes_per_s, 68.66e9,
              1e8);
}

TEST(ImportFixturesTest, SurvivesAThousandMutations) {
  if (!HasData()) GTEST_SKIP() << kNoReferenceData;
  const std::vector<std::string> files = {
      "slurm/idle.scontrol_show_nodes.txt",
      "slurm/alloc_srun_3nodes.scontrol_show_nodes_detail_oneline.txt",
      "slurm/idle.sinfo_N_pipe.txt",
      "slurm/alloc.sinfo_O_gresused.txt",
      "slurm/sinfo_N_long.txt",
      "slurm/idle.sinfo.json",
      "slurm/scontrol_show_topology.txt",
      "imports/kube_nodes.json",
      "imports/topo_ansi_tabs.txt",
      "imports/topo_spaces_nonic.txt",
      "imports/nccl_2_18_allreduce.txt",
      "imports/nccl_old_mpi_prefixed.txt",
      "imports/nccl_out_of_place_only.txt"};
  const ClusterSource base{.name = "base",
                           .text = "NodeName=t1 Gres=gpu:t4:4 State=IDLE\n"};
  int read = 0;
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    ForEachMutation(*ReadReferenceText(file), 80, [&](const std::string& text) {
      const ClusterSource damaged{.name = file, .scope = "t1", .text = text};
      read += ImportCluster({base, damaged}, {}).ok() ? 1 : 0;
    });
  }
  EXPECT_GT(read, 200);
  EXPECT_LT(read, 1040);
}

TEST(ImportFixturesTest, CountsTheParametersOfPublicModels) {
  const auto data = ReadReferenceData("imports/hf_configs.json");
  if (!data) GTEST_SKIP() << kNoReferenceData;
  ASSERT_EQ((*data)["models"].size(), 16u);
  for (const auto& [name, entry] : (*data)["models"].items()) {
    SCOPED_TRACE(name);
    const std::string text = entry["config"].dump();
    ASSERT_OK_AND_ASSIGN(const ConfigValue value, ParseConfigText(text, name));
    ASSERT_OK_AND_ASSIGN(const HfModel hf,
                         ReadHfModel(ConfigField(value, name), name));
    const ModelSpec& model = hf.model;
    double total = ParameterCount(model);
    for (const UnplannedPart& part : hf.unplanned) total += part.parameters;
    EXPECT_DOUBLE_EQ(total, entry["total"].get<double>());

    ASSERT_OK_AND_ASSIGN(const std::string yaml, ModelToYaml(model));
    ASSERT_OK_AND_ASSIGN(const ModelSpec read, ParseModel(yaml, name));
    EXPECT_EQ(read.layers, model.layers);
  }
}

}  // namespace
}  // namespace tangram
