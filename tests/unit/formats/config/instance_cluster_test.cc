#include "formats/config/instance_cluster.h"

#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "formats/catalogue/instances.h"
#include "formats/config/device_catalogue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

TEST(InstanceClusterTest, HasAGroupForEachType) {
  ASSERT_OK_AND_ASSIGN(
      const Cluster cluster,
      InstanceCluster({{"p4d.24xlarge", 4}, {"p5.48xlarge", 2}}));
  EXPECT_THAT(cluster.groups, ElementsAre("p4d.24xlarge", "p5.48xlarge"));
  EXPECT_EQ(cluster.num_gpus(), 48);
  EXPECT_EQ(cluster.nodes[0].device.type, "A100-40");
  // 0.9 of 4 x 100 Gbit/s, and of one of them.
  EXPECT_DOUBLE_EQ(cluster.links[0][0].bandwidth_bytes_per_s, 45e9);
  EXPECT_DOUBLE_EQ(cluster.links[0][0].pair_bandwidth_bytes_per_s, 11.25e9);
  EXPECT_DOUBLE_EQ(cluster.links[1][1].bandwidth_bytes_per_s, 360e9);
  // The slower of both.
  EXPECT_DOUBLE_EQ(cluster.links[0][1].bandwidth_bytes_per_s, 45e9);
  EXPECT_THAT(
      cluster.assumptions,
      Contains(AllOf(
          Field(&Assumption::field, "groups[p4d.24xlarge].inter_node"),
          Field(&Assumption::source, "AWS p4d.24xlarge: 4 x 100 Gbit/s EFA"))));
}

TEST(InstanceClusterTest, AzuresNamesDoWithoutTheirPrefix) {
  ASSERT_OK_AND_ASSIGN(const Cluster cluster,
                       InstanceCluster({{"ND96asr_v4", 1}}));
  EXPECT_THAT(cluster.groups, ElementsAre("Standard_ND96asr_v4"));
}

TEST(InstanceClusterTest, IgnoresCase) {
  ASSERT_OK_AND_ASSIGN(const Cluster cluster,
                       InstanceCluster({{"standard_nd96isr_h100_v5", 1}}));
  EXPECT_EQ(cluster.nodes[0].device.type, "H100");
}

TEST(InstanceClusterTest, NamesTheNearestAndWhatIsMissing) {
  EXPECT_THAT(InstanceCluster({{"p4d.24xlarg", 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("p4d.24xlarg; expected"),
                             HasSubstr("p4d.24xlarge"))));
  EXPECT_THAT(InstanceCluster({{"p4d", 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("p4d; expected a type of cloud instance, "
                                 "such as p4d.24xlarge")));
  EXPECT_THAT(InstanceCluster({{"p5.48xlarge", 0}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("p5.48xlarge=0; expected a positive")));
  EXPECT_THAT(InstanceCluster({}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("at least one node group")));
}

// NVLink joins the 18 instances of a rack, and the network any more of them and
// those of other types.
TEST(InstanceClusterTest, RacksAreJoinedByNvlink) {
  ASSERT_OK_AND_ASSIGN(const Cluster racks,
                       InstanceCluster({{"p6e-gb200.36xlarge", 18},
                                        {"a4x-maxgpu-4g-metal", 2}}));
  EXPECT_EQ(racks.nodes[0].device.type, "GB200");
  EXPECT_DOUBLE_EQ(racks.links[0][0].bandwidth_bytes_per_s, 2880e9);
  EXPECT_DOUBLE_EQ(racks.links[1][1].bandwidth_bytes_per_s, 2880e9);
  // 0.9 of 8 x 400 Gbit/s, and of one of them.
  EXPECT_DOUBLE_EQ(racks.links[0][1].bandwidth_bytes_per_s, 360e9);
  EXPECT_DOUBLE_EQ(racks.links[0][1].pair_bandwidth_bytes_per_s, 45e9);
  ASSERT_OK_AND_ASSIGN(const Cluster more,
                       InstanceCluster({{"p6e-gb200.36xlarge", 19}}));
  EXPECT_DOUBLE_EQ(more.links[0][0].bandwidth_bytes_per_s, 360e9);
}

TEST(InstanceClusterTest, EveryInstanceIsNamedOnceAndIsReadOrRefused) {
  std::set<std::string> names;
  for (const CloudInstance& instance : CloudInstances()) {
    SCOPED_TRACE(std::string(instance.name));
    EXPECT_TRUE(names.insert(absl::AsciiStrToLower(instance.name)).second);
    const auto cluster = InstanceCluster({{std::string(instance.name), 2}});
    if (FindDevice(instance.gpu) == nullptr) {
      EXPECT_EQ(instance.gpu, "K80");
      EXPECT_THAT(cluster, StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("gpus_per_node: ")));
      continue;
    }
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    EXPECT_EQ(cluster->num_gpus(), 2 * instance.gpus);
  }
}

}  // namespace
}  // namespace tangram
