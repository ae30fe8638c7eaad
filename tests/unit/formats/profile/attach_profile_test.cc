#include "formats/profile/attach_profile.h"

#include "common/cost/measured_layer.h"
#include "common/cost/operator_cost.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TrainingOptions Fp32() {
  return {.sequence_length = 128,
          .precision = Precision::kFp32,
          .flash_attention = false};
}

Profile OneLayer() {
  Profile profile = {.device = "TEST", .models = {testing::TestModel(1)}};
  profile.entries = {{.layer = 1,
                      .precision = Precision::kFp32,
                      .sequence_length = 128,
                      .parallelism = {.tp_degree = 2},
                      .collectives_included = true,
                      .points = {{1, 2, 3, 4.0}, {2, 5, 6, 7.0}},
                      .optimizer_s = 8,
                      .state_bytes = 9}};
  return profile;
}

TEST(AttachProfileTest, GivesLayersTheirKeys) {
  DeviceSpec device;
  AttachProfile(OneLayer(), device);
  const Fingerprint key =
      LayerMeasurementKey(testing::TestModel(1).layers[1], {.tp_degree = 2},
                          Fp32(), /*flash_attention=*/false);
  EXPECT_THAT(device.measured_layers,
              ElementsAre(MeasuredLayer{.key = key,
                                        .samples = 1,
                                        .forward_s = 2,
                                        .backward_s = 3,
                                        .collectives_included = true,
                                        .saved_bytes = 4,
                                        .optimizer_s = 8,
                                        .state_bytes = 9},
                          MeasuredLayer{.key = key,
                                        .samples = 2,
                                        .forward_s = 5,
                                        .backward_s = 6,
                                        .collectives_included = true,
                                        .saved_bytes = 7,
                                        .optimizer_s = 8,
                                        .state_bytes = 9}));
}

TEST(AttachProfileTest, GivesOperatorsTheirKeys) {
  Profile profile = OneLayer();
  profile.entries[0].op = OpKind::kMlpUp;
  DeviceSpec device;
  AttachProfile(profile, device);
  ASSERT_THAT(device.measured, SizeIs(2));
  EXPECT_THAT(device.measured_layers, SizeIs(0));
  const Fingerprint key =
      MeasurementKey(testing::TestModel(1).layers[1], OpKind::kMlpUp,
                     {.tp_degree = 2}, 2, Fp32());
  EXPECT_THAT(device.measured,
              ::testing::Contains(MeasuredOperator{key, 5, 6}));
  EXPECT_LT(device.measured[0].key, device.measured[1].key);
}

TEST(AttachProfileTest, ReplacesALayerThatWasMeasuredBefore) {
  DeviceSpec device;
  AttachProfile(OneLayer(), device);
  Profile again = OneLayer();
  again.entries[0].points = {{4, 1, 1, std::nullopt}};
  AttachProfile(again, device);
  ASSERT_THAT(device.measured_layers, SizeIs(1));
  EXPECT_EQ(device.measured_layers[0].samples, 4);
}

TEST(AttachProfileTest, SortsCollectivesAndKeepsTheLatest) {
  DeviceSpec device;
  AttachProfile({.collectives = {{.ranks = 4, .points = {{1, 1}}},
                                 {.ranks = 2, .points = {{1, 1}}}}},
                device);
  AttachProfile(
      {.collectives = {{.ranks = 4, .points = {{1, 5}}}}, .context_bytes = 3e8},
      device);
  EXPECT_THAT(device.collectives,
              ElementsAre(MeasuredCollective{.ranks = 2, .points = {{1, 1}}},
                          MeasuredCollective{.ranks = 4, .points = {{1, 5}}}));
  EXPECT_EQ(device.efficiency.reserved_bytes, 3e8);
}

TEST(AttachProfileTest, FitsCollectivesToTheNode) {
  Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 1, .device = testing::TestDevice("TEST")}});
  cluster.nodes[0].intra_node = {.bandwidth_bytes_per_s = 10e9,
                                 .pair_bandwidth_bytes_per_s = 12e9};
  ASSERT_EQ(cluster.nodes[0].num_gpus, 4);
  // On two ranks half of 1e6 bytes go to a GPU. This equals three quarters of
  // 2/3e6 bytes on four ranks, which take 2/3 s.
  Profile profile = OneLayer();
  profile.collectives = {{.ranks = 2, .points = {{1e6, 0.1}}},
                         {.ranks = 4, .points = {{1e3, 1e-3}, {1e6, 1}}}};
  AttachProfile(profile, cluster);
  EXPECT_NEAR(cluster.nodes[0].device.collectives[0].points[0].seconds, 2 / 3.,
              1e-9);
}

TEST(AttachProfileTest, GoesToDevicesOfItsType) {
  Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .device = testing::TestDevice("TEST")},
       {.name = "b", .device = testing::TestDevice("OTHER")}});
  EXPECT_EQ(AttachProfile(OneLayer(), cluster), 2);
  EXPECT_THAT(cluster.nodes[0].device.measured_layers, SizeIs(2));
  EXPECT_THAT(cluster.nodes[1].device.measured_layers, SizeIs(2));
  EXPECT_THAT(cluster.nodes[2].device.measured_layers, SizeIs(0));
}

TEST(AttachLinksTest, WiresTheNodesOfItsType) {
  const Cluster before =
      testing::TestCluster({{.name = "a", .device = testing::TestDevice("A")},
                            {.name = "b", .device = testing::TestDevice("B")}});
  const Link inside = {1e9, 2e9, 3e-6};
  const Link to_other = {4e9, 5e9, 6e-6};
  const Profile profile = {
      .device = "A",
      .links = {{.link = inside}, {.to = "B", .link = to_other}}};

  Cluster cluster = before;
  AttachLinks(profile, LinkScope::kInsideNodes, cluster);
  EXPECT_EQ(cluster.nodes[0].intra_node, inside);
  EXPECT_EQ(cluster.nodes[1].intra_node, before.nodes[1].intra_node);
  EXPECT_EQ(cluster.links, before.links);

  cluster = before;
  AttachLinks(profile, LinkScope::kBetweenNodes, cluster);
  EXPECT_EQ(cluster.nodes[0].intra_node, before.nodes[0].intra_node);
  EXPECT_EQ(cluster.links[0][1], to_other);
  EXPECT_EQ(cluster.links[0][0], before.links[0][0]);
  EXPECT_EQ(cluster.links[1], before.links[1]);
}

TEST(AttachLinksTest, AttachingTheProfileLeavesThemAlone) {
  const Profile profile = {.device = "TEST",
                           .links = {{.link = {1e9, 2e9, 3e-6}}}};
  Cluster cluster =
      testing::TestCluster({{.name = "a", .device = testing::TestDevice()}});
  const Link before = cluster.nodes[0].intra_node;
  AttachProfile(profile, cluster);
  EXPECT_EQ(cluster.nodes[0].intra_node, before);
}

}  // namespace
}  // namespace tangram
