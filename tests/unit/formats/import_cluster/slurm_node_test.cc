#include "formats/import_cluster/slurm_node.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

TEST(WhyUnusableTest, TellsWhatTakesANodeOut) {
  struct Case {
    std::string state;
    std::string why;
  };
  const Case cases[] = {
      {"IDLE", ""},
      {"MIXED+PLANNED", ""},
      {"alloc", ""},
      {"idle~", ""},
      {"IDLE+CLOUD+POWERED_DOWN", ""},
      {"idle*", "not responding"},
      {"IDLE+NOT_RESPONDING", "not responding"},
      {"drng", "draining"},
      {"IDLE+DRAIN", "drain"},
      {"UNKNOWN+DRAIN+INVALID_REG", "unknown, drain, invalid registration"},
      {"down*", "down, not responding"},
      {"maint", "in maintenance"},
      {"", "no state; expected the whole output of scontrol show node"},
      {"UNKNOWN", "unknown state; in slurm.conf, expected scontrol show node"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(WhyUnusable(c.state), c.why) << c.state;
  }
}

TEST(NodeFromSlurmTest, CountsGpusInUse) {
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode node,
      NodeFromSlurm({.name = "n1",
                     .state = "MIXED",
                     .gres = "gpu:a100:8,gpu:t4:2",
                     .gres_used = "gpu:a100:3(IDX:0-2),gpu:t4:0(IDX:N/A)",
                     .reason = "none"}));
  ASSERT_EQ(node.gpus.size(), 2u);
  EXPECT_EQ(node.gpus[0].used, 3);
  EXPECT_EQ(node.gpus[1].used, 0);
  EXPECT_EQ(node.unusable, "");
}

TEST(NodeFromSlurmTest, TakesTheTypeOfUntypedGpusFromFeatures) {
  const auto name = [](const std::string& gres, const std::string& features) {
    const auto node = NodeFromSlurm(
        {.name = "n1", .state = "IDLE", .gres = gres, .features = features});
    EXPECT_TRUE(node.ok()) << node.status();
    return node->gpus.empty() ? "none" : node->gpus[0].name;
  };
  EXPECT_EQ(name("gpu:4", "ib,icelake,a100"), "a100");
  EXPECT_EQ(name("gpu:4", "GPU_SKU:V100_SXM2,GPU_MEM:32GB"), "V100_SXM2");
  EXPECT_EQ(name("gpu:8", "gpu_h100&nvme"), "h100");
  // A type of the resource itself holds, and two features tell nothing.
  EXPECT_EQ(name("gpu:t4:4", "a100"), "t4");
  EXPECT_EQ(name("gpu:4", "a100,v100"), "");
  EXPECT_EQ(name("gpu:4", "ib,nvme"), "");
  EXPECT_EQ(name("", "a100"), "none");
}

TEST(NodeFromSlurmTest, SaysTheAdministratorsReason) {
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode node,
      NodeFromSlurm({.name = "n1", .state = "DOWN", .reason = "gpu ecc"}));
  EXPECT_EQ(node.unusable, "down: gpu ecc");
}

}  // namespace
}  // namespace tangram
