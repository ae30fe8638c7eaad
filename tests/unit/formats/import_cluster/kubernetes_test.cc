#include "formats/import_cluster/kubernetes.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

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
  EXPECT_THAT(
      Parse(NodeJson(kT4, "", R"("nvidia.com/mig-1g.5gb": "7")")).unusable,
      HasSubstr("MIG"));
}

}  // namespace
}  // namespace tangram
