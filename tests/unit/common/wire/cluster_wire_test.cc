#include "common/wire/cluster_wire.h"

#include <functional>
#include <limits>

#include "common/domain/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/cluster.pb.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/wire/every_field.h"
#include "tests/unit/common/wire/random_values.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::RandomValues;
using testing::StatusIs;
using testing::TestCluster;
using testing::TestDevice;

void ExpectEqual(const Cluster& a, const Cluster& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.groups, b.groups);
  EXPECT_EQ(a.links, b.links);
  EXPECT_EQ(a.assumptions, b.assumptions);
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    EXPECT_EQ(a.nodes[i].name, b.nodes[i].name);
    EXPECT_EQ(a.nodes[i].group, b.nodes[i].group);
    EXPECT_EQ(a.nodes[i].num_gpus, b.nodes[i].num_gpus);
    EXPECT_EQ(a.nodes[i].device, b.nodes[i].device);
    EXPECT_EQ(a.nodes[i].intra_node, b.nodes[i].intra_node);
  }
}

TEST(ClusterWireTest, ClustersSurviveTheRoundTrip) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Cluster cluster = RandomValues(seed).Cluster();
    ASSERT_OK_AND_ASSIGN(const Cluster decoded, FromProto(ToProto(cluster)));
    ExpectEqual(cluster, decoded);
  }
}

TEST(ClusterWireTest, NoFieldIsLost) {
  EXPECT_THAT(
      testing::LostFields<v1::Cluster>(
          [](uint32_t seed) {
            return ToProto(testing::RandomValues(seed).Cluster());
          },
          [](const v1::Cluster& message) -> absl::StatusOr<v1::Cluster> {
            auto decoded = FromProto(message);
            if (!decoded.ok()) return decoded.status();
            return ToProto(*decoded);
          }),
      ::testing::IsEmpty());
}

TEST(ClusterWireTest, NoFieldOfAnIslandIsLost) {
  EXPECT_THAT(
      testing::LostFields<v1::IslandSpec>(
          [](uint32_t seed) {
            return ToProto(testing::RandomValues(seed).Island());
          },
          [](const v1::IslandSpec& message) -> absl::StatusOr<v1::IslandSpec> {
            auto decoded = FromProto(message);
            if (!decoded.ok()) return decoded.status();
            return ToProto(*decoded);
          }),
      ::testing::IsEmpty());
}

// Planners may count a node of the cluster as several nodes of an island.
TEST(ClusterWireTest, AnIslandMayHaveMoreNodesThanACluster) {
  IslandSpec spec = RandomValues(1).Island();
  spec.num_nodes = 2 * kMaxNodes;
  spec.gpus_per_node = 2;
  EXPECT_THAT(FromProto(ToProto(spec)), testing::IsOkAndHolds(spec));
  spec.num_nodes = kMaxGpus;
  EXPECT_THAT(FromProto(ToProto(spec)), Not(testing::IsOk()));
}

TEST(ClusterWireTest, IslandsSurviveTheRoundTrip) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    RandomValues random(seed);
    const IslandSpec spec = random.Island();
    EXPECT_THAT(FromProto(ToProto(spec)), testing::IsOkAndHolds(spec));

    const Cluster cluster = random.Cluster();
    const Island island{.id = 3,
                        .name = random.Name("island"),
                        .nodes = {static_cast<int>(cluster.nodes.size()) - 1},
                        .spec = spec,
                        .reason = random.Name("reason")};
    ASSERT_OK_AND_ASSIGN(const Island decoded,
                         FromProto(ToProto(island, cluster), cluster));
    EXPECT_EQ(decoded.id, island.id);
    EXPECT_EQ(decoded.name, island.name);
    EXPECT_EQ(decoded.nodes, island.nodes);
    EXPECT_EQ(decoded.spec, island.spec);
    EXPECT_EQ(decoded.reason, island.reason);
  }
}

TEST(ClusterWireTest, IdenticalNodesAreWrittenOnce) {
  const Cluster cluster =
      TestCluster({{"a", 100, 8, TestDevice("A")}, {"b", 50, 4, TestDevice()}});
  const v1::Cluster message = ToProto(cluster);
  EXPECT_EQ(message.nodes_size(), 2);
  EXPECT_EQ(message.devices_size(), 2);
  EXPECT_EQ(message.link_types_size(), 2);  // Inside and between the groups.
}

struct BadCluster {
  std::string name;
  std::function<void(v1::Cluster&)> damage;
  std::string error;
};

class BadClusterTest : public ::testing::TestWithParam<BadCluster> {};

TEST_P(BadClusterTest, IsRefusedByFieldPath) {
  v1::Cluster message = ToProto(
      TestCluster({{"a", 2, 4, TestDevice()}, {"b", 2, 4, TestDevice("B")}}));
  GetParam().damage(message);
  EXPECT_THAT(FromProto(message), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr(GetParam().error)));
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

INSTANTIATE_TEST_SUITE_P(
    ClusterWireTest, BadClusterTest,
    ::testing::Values(
        BadCluster{"NoNodes", [](auto& m) { m.clear_nodes(); },
                   "nodes: 0; expected a positive integer"},
        BadCluster{"NoGpus",
                   [](auto& m) { m.mutable_nodes(1)->set_num_gpus(0); },
                   "nodes[1].num_gpus: 0; expected a positive integer"},
        BadCluster{
            "TooManyGpus",
            [](auto& m) { m.mutable_nodes(0)->set_num_gpus(1 << 20); },
            "nodes[0].num_gpus: 1048576; expected an integer of at most"},
        BadCluster{"UnknownGroup",
                   [](auto& m) { m.mutable_nodes(0)->set_group(2); },
                   "nodes[0].group: 2; expected an index below 2"},
        BadCluster{"UnknownDevice",
                   [](auto& m) { m.mutable_nodes(0)->set_device(-1); },
                   "nodes[0].device: -1; expected an index below 2"},
        BadCluster{"SameNameTwice",
                   [](auto& m) { m.mutable_nodes(1)->set_names(1, "a-0"); },
                   "nodes[1].names: \"a-0\"; expected names that are unique"},
        BadCluster{"NanBandwidth",
                   [](auto& m) {
                     m.mutable_link_types(1)->set_bandwidth_bytes_per_s(kNan);
                   },
                   "link_types[1].bandwidth_bytes_per_s: nan"},
        BadCluster{"NegativeLatency",
                   [](auto& m) { m.mutable_link_types(0)->set_latency_s(-1); },
                   "link_types[0].latency_s: -1; expected a number"},
        BadCluster{"SilentLink",
                   [](auto& m) {
                     m.mutable_link_types(1)->set_bandwidth_bytes_per_s(0);
                   },
                   "links[0][1].bandwidth_bytes_per_s: 0; expected a number"},
        BadCluster{"MissingRow",
                   [](auto& m) { m.mutable_links()->RemoveLast(); },
                   "links: 1 rows; expected one for each of 2 groups"},
        BadCluster{"ShortRow",
                   [](auto& m) {
                     m.mutable_links(1)->mutable_link_types()->RemoveLast();
                   },
                   "links[1].link_types: 1 links"},
        BadCluster{"UnknownLink",
                   [](auto& m) { m.mutable_links(1)->set_link_types(0, 9); },
                   "links[1].link_types: 9; expected an index below 2"},
        BadCluster{"NoMemory",
                   [](auto& m) { m.mutable_devices(0)->set_memory_bytes(0); },
                   "devices[0].memory_bytes: 0; expected a number from 1 to"},
        BadCluster{
            "SlowestPair",
            [](auto& m) {
              m.mutable_link_types(1)->set_pair_bandwidth_bytes_per_s(5e-324);
            },
            "pair_bandwidth_bytes_per_s: 4.9406564584124654e-324; expected"},
        BadCluster{
            "EndlessLatency",
            [](auto& m) { m.mutable_link_types(1)->set_latency_s(1e308); },
            "link_types[1].latency_s: 1e+308; expected a number from 0 "
            "to 1000"},
        BadCluster{"TinyPeak",
                   [](auto& m) {
                     m.mutable_devices(0)->mutable_peak_flops()->set_fp16(
                         5e-324);
                   },
                   "devices[0].peak_flops.fp16: "},
        BadCluster{
            "FasterThanThePeak",
            [](auto& m) {
              m.mutable_devices(0)->mutable_efficiency()->set_gemm_max_fraction(
                  3);
            },
            "devices[0].efficiency.gemm_max_fraction: 3; expected a "
            "number from 0.001 to 1"},
        BadCluster{"AttentionBeyondOne",
                   [](auto& m) {
                     m.mutable_devices(0)
                         ->mutable_efficiency()
                         ->set_attention_fraction(100);
                   },
                   "devices[0].efficiency.attention_fraction: 100; expected"},
        BadCluster{
            "EndlessLaunch",
            [](auto& m) {
              m.mutable_devices(0)->mutable_efficiency()->set_host_launch_s(
                  1e308);
            },
            "devices[0].efficiency.host_launch_s: "},
        BadCluster{
            "AllFragments",
            [](auto& m) {
              m.mutable_devices(0)->mutable_efficiency()->set_fragmentation(
                  1e308);
            },
            "devices[0].efficiency.fragmentation: "},
        BadCluster{"NoFlops",
                   [](auto& m) { m.mutable_devices(0)->clear_peak_flops(); },
                   "devices[0].peak_flops: all 0; expected a positive one"},
        BadCluster{"NoEfficiency",
                   [](auto& m) { m.mutable_devices(1)->clear_efficiency(); },
                   "devices[1].efficiency.gemm_max_fraction: 0"}),
    [](const auto& test) { return test.param.name; });

TEST(ClusterWireTest, AnIslandOfUnknownNodesIsRefused) {
  const Cluster cluster = TestCluster({{"a", 2, 4, TestDevice()}});
  v1::Island message = ToProto(
      Island{.nodes = {0, 1}, .spec = testing::TestIsland(2, 4)}, cluster);
  message.set_nodes(1, "elsewhere");
  EXPECT_THAT(FromProto(message, cluster),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("nodes: 2 names; expected")));
}

}  // namespace
}  // namespace tangram
