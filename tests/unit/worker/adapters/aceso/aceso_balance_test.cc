#include "worker/adapters/aceso/aceso_balance.h"

#include <algorithm>
#include <limits>

#include "gmock/gmock.h"
#include "tests/unit/worker/adapters/aceso/aceso_query.h"

namespace tangram::aceso {
namespace {

constexpr double kNoPartition = std::numeric_limits<double>::infinity();

double SlowestSeconds(const Configuration& configuration) {
  double slowest = 0;
  for (const ConfiguredStage& stage : configuration.stages) {
    slowest = std::max(slowest, stage.time_s());
  }
  return slowest;
}

TEST(BalanceCutsTest, SharesEqualLayersEqually) {
  IslandSpec island = testing::TestIsland(1, 4);
  island.intra_node.pair_bandwidth_bytes_per_s = 1e15;  // Sends are free.
  Query query(BodySlice(8), island, Options(4));
  Configuration configuration = query.Configure({10, 20, 30, 80}, {0, 0, 0, 0});

  EXPECT_TRUE(BalanceCuts(query.tables, 0, 3, configuration));

  // 80 operators, two layers each.
  EXPECT_EQ(configuration.stages[0].shape.end, 20);
  EXPECT_EQ(configuration.stages[1].shape.end, 40);
  EXPECT_EQ(configuration.stages[2].shape.end, 60);
  EXPECT_FALSE(BalanceCuts(query.tables, 0, 3, configuration));
}

TEST(BalanceCutsTest, LeavesOtherStagesAlone) {
  Query query(BodySlice(8), testing::TestIsland(1, 4), Options(4));
  Configuration configuration = query.Configure({10, 20, 30, 80}, {0, 0, 0, 0});

  BalanceCuts(query.tables, 0, 2, configuration);

  EXPECT_EQ(configuration.stages[2].shape.end, 30);
  EXPECT_EQ(configuration.stages[3].shape.begin, 30);
}

TEST(BalanceCutsTest, GivesOperatorsInProportionToSpeed) {
  IslandSpec island = testing::TestIsland(1, 4);
  island.intra_node.pair_bandwidth_bytes_per_s = 1e15;
  Query query(BodySlice(8), island, Options(4));
  Configuration configuration =
      query.Configure({40, 80}, {query.DegreesOf(1, 1), query.DegreesOf(1, 2)});

  BalanceCuts(query.tables, 0, 1, configuration);

  // Two GPUs take two thirds: 80 / 3 = 26.7, within an operator or two.
  EXPECT_NEAR(configuration.stages[0].shape.end, 26.7, 2);
}

// Cuts inside a layer send more than residual cuts.
TEST(BalanceCutsTest, CutsAtTheResidualWhereTheLinkIsSlow) {
  IslandSpec island = testing::TestIsland(2, 1);
  island.inter_node = {.bandwidth_bytes_per_s = 1e8,
                       .pair_bandwidth_bytes_per_s = 1e8};
  Query query(BodySlice(5), island, Options(4));
  Configuration configuration = query.Configure({3, 50}, {0, 0});

  BalanceCuts(query.tables, 0, 1, configuration);

  const int cut = configuration.stages[0].shape.end;
  EXPECT_EQ(query.layout.ResidualCutBefore(cut), cut);
}

// The first of two stages holds two microbatches. If even cuts would make it
// recompute, it gets less work than the second.
TEST(BalanceCutsTest, CountsRecomputationAsTime) {
  Query ample(BodySlice(8), testing::TestIsland(1, 2), Options(8));
  const Configuration even = ample.Configure({40, 80}, {0, 0});
  IslandSpec island = ample.island;
  island.device.memory_bytes = even.stages[0].figures.peak_bytes * 0.8;
  Query tight(ample.slice, island, ample.options);
  Configuration configuration = tight.Configure({40, 80}, {0, 0});
  ASSERT_GT(configuration.stages[0].figures.recompute_s, 0);
  const double before_s = SlowestSeconds(configuration);

  BalanceCuts(tight.tables, 0, 1, configuration);

  EXPECT_EQ(configuration.bytes_short, 0);
  EXPECT_LT(configuration.stages[0].shape.end, 40);
  EXPECT_LT(SlowestSeconds(configuration), before_s);
}

TEST(BalanceCutsTest, FindsCutsThatFit) {
  Query ample(BodySlice(8), testing::TestIsland(1, 2), Options(8));
  IslandSpec island = ample.island;
  // 16 bytes for each of 12 · 1,024² + 2 · 1,024 parameters of 6 layers.
  island.device.memory_bytes = 16 * 6 * (12.0 * 1024 * 1024 + 2 * 1024);
  Query tight(ample.slice, island, ample.options);
  Configuration configuration = tight.Configure({5, 80}, {0, 0});
  ASSERT_GT(configuration.bytes_short, 0);

  EXPECT_TRUE(BalanceCuts(tight.tables, 0, 1, configuration));

  EXPECT_EQ(configuration.bytes_short, 0);
}

TEST(BalanceCutsTest, ComesAsCloseAsItCanWhereNothingFits) {
  IslandSpec island = testing::TestIsland(1, 2);
  island.device.memory_bytes = 1e6;
  Query query(BodySlice(8), island, Options(8));
  Configuration configuration = query.Configure({5, 80}, {0, 0});
  const double before = configuration.bytes_short;

  EXPECT_TRUE(BalanceCuts(query.tables, 0, 1, configuration));

  EXPECT_GT(configuration.bytes_short, 0);
  EXPECT_LT(configuration.bytes_short, 0.7 * before);
}

// Compared with every cut between two stages and every pair of cuts between
// three.
TEST(BalanceCutsTest, IsAboutAsGoodAsEveryCut) {
  int compared = 0;
  int close = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Query query = RandomQuery(seed, /*max_layers=*/3, /*max_gpus=*/4);
    if (query.island.num_gpus() < 4) continue;
    const int end = query.layout.num_ops();
    double best = kNoPartition;
    for (int a = 1; a < end; ++a) {
      for (int b = query.layout.EarliestEnd(a);
           b <= query.layout.LatestBegin(end); ++b) {
        const Configuration tried = query.Configure({a, b, end}, {0, 0, 0});
        if (tried.bytes_short > 0) continue;
        best = std::min(best, SlowestSeconds(tried));
      }
    }
    const int half = query.layout.LatestBegin(end);
    Configuration configuration =
        query.Configure({query.layout.LatestBegin(half), half, end}, {0, 0, 0});

    BalanceCuts(query.tables, 0, 2, configuration);

    EXPECT_EQ(configuration.bytes_short == 0, best < kNoPartition);
    if (best == kNoPartition) continue;
    ++compared;
    close += SlowestSeconds(configuration) <= best * 1.02;
  }
  EXPECT_GT(compared, 10);
  EXPECT_GE(close, compared * 9 / 10);
}

}  // namespace
}  // namespace tangram::aceso
