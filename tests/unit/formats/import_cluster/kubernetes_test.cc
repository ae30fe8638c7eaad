#include "formats/import_cluster/kubernetes.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string NodeJson(const std::string& labels, const std::string& spec,
                     const std::string& allocatable, bool ready = true) {
  return absl::StrCat(
      R"({"apiVersion": "v1", "kind": "List", "items": [{"kind": "Node",
          "metadata": {"name": "n1", "labels": {)",
      labels, "}}, \"spec\": {", spec, R"(}, "status": {"allocatable": {)",
      allocatable,
      R"(}, "conditions": [{"type": "DiskPressure", "status": "False"},
          {"type": "Ready", "status": ")",
      ready ? "True" : "Unknown", "\"}]}}]}");
}

InventoryNode Parse(const std::string& text) {
  const auto nodes = ParseKubernetesNodes(text);
  EXPECT_TRUE(nodes.ok() && nodes->size() == 1) << nodes.status();
  return nodes.ok() && !nodes->empty() ? nodes->front() : InventoryNode();
}

constexpr char kT4[] =
    R"("nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.memory": "15360",
       "topology.kubernetes.io/zone": "eu-1a")";
constexpr char kFour[] = R"("nvidia.com/gpu": "4")";

TEST(ParseKubernetesNodesTest, ReadsLabelsAndWhatCanBeAllocated) {
  const InventoryNode node = Parse(NodeJson(kT4, "", kFour));
  EXPECT_EQ(node.name, "n1");
  EXPECT_EQ(node.unusable, "");
  ASSERT_EQ(node.gpus.size(), 1u);
  EXPECT_EQ(node.gpus[0].name, "Tesla-T4");
  EXPECT_EQ(node.gpus[0].count, 4);
  EXPECT_DOUBLE_EQ(node.gpu_memory_bytes, 15360.0 * 1048576);
  EXPECT_EQ(node.network_block, "eu-1a");
}

TEST(ParseKubernetesNodesTest, TakesNodesWithoutConditionsAsReady) {
  const InventoryNode node = Parse(R"({"items": [{"metadata": {"name": "n1",
      "labels": {"nvidia.com/gpu.product": "Tesla-T4"}},
      "status": {"allocatable": {"nvidia.com/gpu": "4"}}}]})");
  EXPECT_EQ(node.unusable, "");
  EXPECT_EQ(node.gpus[0].count, 4);
}

TEST(ParseKubernetesNodesTest, PrefersTheNearestTopologyLabel) {
  const std::string leaf =
      absl::StrCat(kT4, R"(, "network.topology.nvidia.com/leaf": "leaf7")");
  EXPECT_EQ(Parse(NodeJson(leaf, "", kFour)).network_block, "leaf7");
}

TEST(ParseKubernetesNodesTest, SaysWhyANodeCannotBeUsed) {
  EXPECT_EQ(Parse(NodeJson(kT4, R"("unschedulable": true)", kFour)).unusable,
            "cordoned");
  EXPECT_EQ(Parse(NodeJson(kT4, "", kFour, /*ready=*/false)).unusable,
            "not ready");
  EXPECT_EQ(Parse(NodeJson("", "", R"("cpu": "8")")).unusable,
            "no GPU can be allocated");
  EXPECT_THAT(Parse(NodeJson(R"("nvidia.com/gpu.product": "Tesla-T4-SHARED",
                                "nvidia.com/gpu.replicas": "4")",
                             "", kFour))
                  .unusable,
              HasSubstr("pods share its GPUs (4 to a GPU)"));
  EXPECT_THAT(
      Parse(NodeJson(R"("nvidia.com/gpu.product": "NVIDIA-A100-MIG-3g.20gb")",
                     "", kFour))
          .unusable,
      HasSubstr("MIG"));
}

// A device plugin offers more than there are if pods share them.
TEST(ParseKubernetesNodesTest, NamesTheDevicesThatNoPlanUses) {
  EXPECT_EQ(Parse(NodeJson("", "", R"("cpu": "8", "google.com/tpu": "4",
                                      "example.com/nic": "0")"))
                .unusable,
            "no GPU can be allocated; it has google.com/tpu");
}

TEST(ParseKubernetesNodesTest, PassesOverWhatIsNoNode) {
  EXPECT_THAT(
      ParseKubernetesNodes(R"({"apiVersion": "v1", "items": [7, [], {}]})"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no nodes")));
}

// As jq '.items' prints them.
TEST(ParseKubernetesNodesTest, ReadsNodesWithoutTheListAroundThem) {
  const InventoryNode node = Parse(R"([{"metadata": {"name": "n1"},
      "status": {"allocatable": {"nvidia.com/gpu": "4"}}}])");
  EXPECT_EQ(node.name, "n1");
  EXPECT_EQ(node.gpus[0].count, 4);
}

TEST(ParseKubernetesNodesTest, NodesThatOfferMoreThanTheyHaveAreShared) {
  const std::string two = absl::StrCat(kT4, R"(, "nvidia.com/gpu.count": "2")");
  EXPECT_EQ(Parse(NodeJson(two, "", kFour)).unusable,
            "pods share its GPUs (it offers 4 and has 2)");
  EXPECT_EQ(Parse(NodeJson(two, "", R"("nvidia.com/gpu": "2")")).unusable, "");
  EXPECT_EQ(Parse(NodeJson(R"("node.kubernetes.io/instance-type": "g5.xlarge")",
                           "", kFour))
                .unusable,
            "pods share its GPUs (it offers 4 and has 1)");
  EXPECT_EQ(Parse(R"({"items": [{"metadata": {"name": "n1",
      "labels": {"nvidia.com/gpu.product": "Tesla-T4"},
      "annotations": {"hami.io/node-nvidia-register": "GPU-1,10,15360"}},
      "status": {"allocatable": {"nvidia.com/gpu": "10"}}}]})")
                .unusable,
            "pods share its GPUs (HAMi)");
}

TEST(ParseKubernetesNodesTest, KnowsHowCloudsShareGpus) {
  const auto why = [](const std::string& labels) {
    return Parse(NodeJson(labels, "", R"("nvidia.com/gpu": "8")")).unusable;
  };
  EXPECT_EQ(why(R"("cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
                   "cloud.google.com/gke-max-shared-clients-per-gpu": "4")"),
            "pods share its GPUs (4 to a GPU)");
  EXPECT_EQ(why(R"("cloud.google.com/gke-gpu-sharing-strategy": "mps")"),
            "pods share its GPUs (mps)");
  EXPECT_EQ(why(R"("cloud.google.com/gke-gpu-partition-size": "1g.5gb")"),
            "its GPUs are cut into MIG slices (1g.5gb)");
  EXPECT_EQ(why(R"("karpenter.k8s.aws/instance-gpu-name": "t4",
                   "karpenter.k8s.aws/instance-gpu-count": "1")"),
            "pods share its GPUs (it offers 8 and has 1)");
}

TEST(ParseKubernetesNodesTest, PartitionsOfAmdAreNoWholeGpus) {
  const auto name = [](const std::string& partition) {
    return Parse(NodeJson(absl::StrCat(
                              R"("amd.com/gpu.product-name": "AMD_MI300X",
                                 "amd.com/compute-memory-partition": ")",
                              partition, "\""),
                          "", R"("amd.com/gpu": "64")"))
        .gpus[0]
        .name;
  };
  EXPECT_EQ(name("spx_nps1"), "AMD_MI300X");
  EXPECT_EQ(name("cpx_nps4"), "AMD_MI300X partition CPX_NPS4");
}

// More slices than GPUs are no sign of shared GPUs.
TEST(ParseKubernetesNodesTest, SlicesAreNotCountedAsSharedGpus) {
  const InventoryNode node =
      Parse(NodeJson(R"("nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB",
                        "nvidia.com/gpu.count": "1")",
                     "", R"("nvidia.com/mig-1g.5gb": "4")"));
  EXPECT_EQ(node.unusable, "");
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "MIG-1g.5gb", .count = 4}));
}

TEST(ParseKubernetesNodesTest, ReadsTheMemoryLabelOfAmd) {
  const InventoryNode node =
      Parse(NodeJson(R"("amd.com/gpu.product-name": "AMD_Instinct_MI355X_OAM",
                  "amd.com/gpu.vram": "144G")",
                     "", R"("amd.com/gpu": "16")"));
  EXPECT_DOUBLE_EQ(node.gpu_memory_bytes, 144.0 * 1024 * 1048576);
}

TEST(ParseKubernetesNodesTest, KeepsSlicesBesideWholeGpus) {
  const InventoryNode node = Parse(NodeJson(
      kT4, "", R"("nvidia.com/gpu": "2", "nvidia.com/mig-1g.5gb": "7")"));
  EXPECT_EQ(node.unusable, "");
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "Tesla-T4", .count = 2},
                          InventoryGpus{.name = "MIG-1g.5gb", .count = 7}));
}

// A cloud's label names the GPU, but the type of its machine tells which one.
TEST(ParseKubernetesNodesTest, ReadsTheLabelsOfClouds) {
  const struct {
    std::string labels;
    std::string name;
  } cases[] = {
      {R"("cloud.google.com/gke-accelerator": "nvidia-h100-80gb")",
       "nvidia-h100-80gb"},
      {R"("cloud.google.com/gke-accelerator": "nvidia-tesla-a100",
          "node.kubernetes.io/instance-type": "a2-ultragpu-8g")",
       "A100-80"},
      {R"("node.kubernetes.io/instance-type": "p4de.24xlarge")", "A100-80"},
      {R"("k8s.amazonaws.com/accelerator": "nvidia-tesla-v100",
          "beta.kubernetes.io/instance-type": "p3dn.24xlarge")",
       "V100-32"},
      {R"("karpenter.k8s.aws/instance-gpu-name": "l4")", "l4"},
      {R"("karpenter.azure.com/sku-gpu-name": "A100")", "A100"},
      {R"("kubernetes.azure.com/accelerator": "nvidia",
          "node.kubernetes.io/instance-type": "Standard_ND96isr_H100_v5")",
       "H100"},
      {R"("nvidia.com/gpu.product": "NVIDIA-L40S",
          "node.kubernetes.io/instance-type": "p5.48xlarge")",
       "NVIDIA-L40S"},
  };
  for (const auto& c : cases) {
    const InventoryNode node = Parse(NodeJson(c.labels, "", kFour));
    ASSERT_EQ(node.gpus.size(), 1u) << c.labels;
    EXPECT_EQ(node.gpus[0].name, c.name) << c.labels;
  }
  EXPECT_DOUBLE_EQ(
      Parse(NodeJson(R"("karpenter.k8s.aws/instance-gpu-name": "a100",
                        "karpenter.k8s.aws/instance-gpu-memory": "40960")",
                     "", kFour))
          .gpu_memory_bytes,
      40960.0 * 1048576);
}

TEST(ParseKubernetesNodesTest, ReadsTheDevicePluginsOfOtherVendors) {
  const InventoryNode amd =
      Parse(NodeJson(R"("amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM")",
                     "", R"("amd.com/gpu": "8")"));
  EXPECT_THAT(amd.gpus, ElementsAre(InventoryGpus{
                            .name = "AMD_Instinct_MI300X_OAM", .count = 8}));
  const InventoryNode intel =
      Parse(NodeJson(R"("gpu.intel.com/product": "Max_1550")", "",
                     R"("gpu.intel.com/i915": "4")"));
  EXPECT_THAT(intel.gpus,
              ElementsAre(InventoryGpus{.name = "Max_1550", .count = 4}));
}

// Devices as the drivers of dynamic resource allocation publish them:
// attributes under "basic" before v1, beside the name since.
std::string SliceJson(const std::string& devices) {
  return absl::StrCat(
      R"({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
          "metadata": {"name": "n1-gpu"}, "spec": {"driver": "gpu.nvidia.com",
          "nodeName": "n1", "devices": [)",
      devices, "]}}");
}

TEST(ParseKubernetesNodesTest, ReadsResourceSlices) {
  constexpr char kAttributes[] =
      R"("attributes": {"type": {"string": "gpu"},
         "productName": {"string": "NVIDIA A100-SXM4-80GB"}},
         "capacity": {"memory": {"value": "81920Mi"}})";
  constexpr char kSlice[] =
      R"({"name": "gpu-0-mig-9", "attributes": {"type": {"string": "mig"},
          "profile": {"string": "1g.10gb"},
          "productName": {"string": "NVIDIA A100-SXM4-80GB"}}})";
  const InventoryNode node = Parse(SliceJson(
      absl::StrCat(R"({"name": "gpu-0", "basic": {)", kAttributes, "}}, ",
                   R"({"name": "gpu-1", )", kAttributes, "}, ", kSlice)));
  EXPECT_EQ(node.name, "n1");
  EXPECT_THAT(
      node.gpus,
      ElementsAre(InventoryGpus{.name = "NVIDIA A100-SXM4-80GB", .count = 2},
                  InventoryGpus{.name = "MIG-1g.10gb", .count = 1}));
  EXPECT_DOUBLE_EQ(node.gpu_memory_bytes, 81920.0 * 1048576);
}

TEST(ParseKubernetesNodesTest, NamesTheDriversWhoseSlicesAreRead) {
  EXPECT_THAT(
      ParseKubernetesNodes(R"({"apiVersion": "v1", "kind": "ResourceSlice",
                               "spec": {"driver": "gpu.example.com"}})"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("no nodes; expected kubectl get nodes -o json, or -o "
                         "yaml, or resource slices of gpu.nvidia.com, ")));
}

TEST(ParseKubernetesNodesTest, APartitionIsNoWholeGpu) {
  const InventoryNode node = Parse(SliceJson(
      R"({"name": "gpu-32-160", "basic": {"attributes": {
            "type": {"string": "amdgpu-partition"},
            "partitionProfile": {"string": "dpx_nps1"},
            "productName": {"string": "AMD_Instinct_MI300X_OAM"}},
          "capacity": {"memory": {"value": "98296Mi"}}}})"));
  EXPECT_THAT(
      node.gpus,
      ElementsAre(InventoryGpus{
          .name = "AMD_Instinct_MI300X_OAM partition dpx_nps1", .count = 1}));
}

TEST(ParseKubernetesNodesTest, ReadsYaml) {
  ASSERT_OK_AND_ASSIGN(const std::vector<InventoryNode> nodes,
                       ParseKubernetesNodes(R"(apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata:
    labels:
      nvidia.com/gpu.memory: "15360"
      nvidia.com/gpu.product: Tesla-T4
    name: n1
  status:
    allocatable:
      nvidia.com/gpu: "4"
    conditions:
    - status: "True"
      type: Ready
- apiVersion: v1
  kind: Node
  metadata:
    name: n2
  spec:
    unschedulable: true
kind: List
)"));
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].unusable, "");
  EXPECT_THAT(nodes[0].gpus,
              ElementsAre(InventoryGpus{.name = "Tesla-T4", .count = 4}));
  EXPECT_DOUBLE_EQ(nodes[0].gpu_memory_bytes, 15360.0 * 1048576);
  EXPECT_EQ(nodes[1].unusable, "cordoned");
}

TEST(ParseKubernetesNodesTest, JoinsANodeWithItsResourceSlices) {
  const std::string nodes = NodeJson("", "", R"("cpu": "8")");
  const std::string slice = SliceJson(
      R"({"name": "gpu-0", "attributes": {"productName":
          {"string": "NVIDIA L4"}}})");
  const InventoryNode node =
      Parse(absl::StrCat(nodes.substr(0, nodes.size() - 2), ", ", slice, "]}"));
  EXPECT_EQ(node.unusable, "");
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "NVIDIA L4", .count = 1}));
}

}  // namespace
}  // namespace tangram
