#include "common/sim/guesses.h"

#include "gmock/gmock.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestCluster;
using ::tangram::testing::TestDevice;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> NamesOf(const std::vector<Guess>& guesses) {
  std::vector<std::string> names;
  for (const Guess& guess : guesses) names.push_back(guess.name);
  return names;
}

// Groups a, b and c of two nodes of two GPUs each.
Cluster ThreeGroups() {
  return TestCluster({{.name = "a",
                       .num_nodes = 2,
                       .gpus_per_node = 2,
                       .device = TestDevice("A")},
                      {.name = "b",
                       .num_nodes = 2,
                       .gpus_per_node = 2,
                       .device = TestDevice("B")},
                      {.name = "c",
                       .num_nodes = 2,
                       .gpus_per_node = 2,
                       .device = TestDevice("B")}});
}

// Both GPUs of node 0 (a), one each of nodes 2 and 3 (b).
const std::vector<GpuId> kUsed = {{0, 0}, {0, 1}, {2, 0}, {3, 0}};

TEST(GuessesOfTest, WithoutAssumptionsNothingIsGuessed) {
  EXPECT_THAT(GuessesOf(ThreeGroups(), Precision::kFp16, kUsed), IsEmpty());
}

TEST(GuessesOfTest, HasWhatThePlanDependsOn) {
  Cluster cluster = ThreeGroups();
  for (const char* group : {"groups[a]", "nodes[b]", "groups[c]"}) {
    for (const char* field : {".intra_node", ".inter_node", ".efficiency",
                              ".memory_bandwidth", ".memory"}) {
      cluster.assumptions.push_back(
          {std::string(group) + field, "1", "catalogue: X"});
    }
  }
  cluster.assumptions.push_back({"links[b to a]", "1", "slower"});
  cluster.assumptions.push_back({"links[a to c]", "1", "slower"});

  // One node of a is used, no two GPUs of a node of b, and nothing of c.
  EXPECT_THAT(
      NamesOf(GuessesOf(cluster, Precision::kFp16, kUsed)),
      ElementsAre("link a to b", "between nodes of b", "inside nodes of a",
                  "compute of A", "memory rate of A", "compute of B",
                  "memory rate of B"));
}

TEST(GuessesOfTest, ScalesTheRateInBothDirections) {
  Cluster cluster = ThreeGroups();
  cluster.assumptions = {{"links[a to b]", "1", "slower"}};
  const std::vector<Guess> guesses =
      GuessesOf(cluster, Precision::kFp16, kUsed);
  ASSERT_EQ(guesses.size(), 1U);
  EXPECT_EQ(guesses[0].value, "1.00 GB/s");
  EXPECT_TRUE(guesses[0].between_groups);

  guesses[0].scale(0.5, cluster);
  EXPECT_EQ(cluster.links[0][1].bandwidth_bytes_per_s, 0.5e9);
  EXPECT_EQ(cluster.links[1][0].pair_bandwidth_bytes_per_s, 0.5e9);
  EXPECT_EQ(cluster.links[0][2].bandwidth_bytes_per_s, 1e9);
}

TEST(GuessesOfTest, ManyPairsOfGroupsAreOneGuess) {
  std::vector<tangram::testing::TestGroup> groups;
  std::vector<GpuId> used;
  for (int i = 0; i < 8; ++i) {
    groups.push_back({.name = std::string(1, static_cast<char>('a' + i))});
    used.push_back({i, 0});
  }
  Cluster cluster = TestCluster(groups);
  cluster.assumptions = {{"links", "56 pairs of groups", "slower"}};

  // 8 · 7 / 2
  EXPECT_THAT(NamesOf(GuessesOf(cluster, Precision::kFp16, used)),
              ElementsAre("links of 28 pairs of groups"));
}

TEST(EffectsOfTest, LinksBetweenGroupsGoFirstThenTheGreatestEffects) {
  Cluster cluster = ThreeGroups();
  cluster.assumptions = {{"groups[a].inter_node", "1", "x"},
                         {"groups[b].inter_node", "1", "x"},
                         {"links[a to b]", "1", "x"}};
  const std::vector<GpuId> used = {{0, 0}, {1, 0}, {2, 0}, {3, 0}};
  // Transfers of 1 GB from a to b, 10 GB in a and 50 GB in b, on links of 1, 10
  // and 10 GB/s: 1 s + 1 s + 5 s, and 1 s of compute.
  const auto judge = [](const Cluster& c) -> absl::StatusOr<double> {
    return 1e9 / c.links[0][1].bandwidth_bytes_per_s +
           10e9 / c.links[0][0].bandwidth_bytes_per_s +
           50e9 / c.links[1][1].bandwidth_bytes_per_s + 1;
  };
  const std::vector<GuessEffect> effects =
      EffectsOf(GuessesOf(cluster, Precision::kFp16, used), cluster, 8, judge);

  ASSERT_EQ(effects.size(), 3U);
  EXPECT_EQ(effects[0].guess.name, "link a to b");
  EXPECT_EQ(effects[1].guess.name, "between nodes of b");
  EXPECT_EQ(effects[2].guess.name, "between nodes of a");
  // 1 s becomes 1.25 s or 0.833 s.
  EXPECT_THAT(effects[0].if_less, DoubleNear(0.25 / 8, 1e-9));
  EXPECT_THAT(effects[0].if_more, DoubleNear(-1.0 / 6 / 8, 1e-9));
  EXPECT_THAT(effects[1].size(), DoubleNear(1.25 / 8, 1e-9));
}

TEST(EffectsOfTest, LeavesOutWhatCannotBeJudged) {
  Cluster cluster = ThreeGroups();
  cluster.assumptions = {{"links[a to b]", "1", "x"}};
  const auto judge = [](const Cluster&) -> absl::StatusOr<double> {
    return absl::InvalidArgumentError("no");
  };
  EXPECT_THAT(
      EffectsOf(GuessesOf(cluster, Precision::kFp16, kUsed), cluster, 1, judge),
      IsEmpty());
}

}  // namespace
}  // namespace tangram
