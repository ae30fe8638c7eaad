#include "worker/adapters/aceso/aceso_policy.h"

#include "gmock/gmock.h"
#include "tests/unit/worker/adapters/aceso/aceso_query.h"

namespace tangram::aceso {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST(StagesByBottleneckTest, SlowestFirst) {
  Query query(BodySlice(6), testing::TestIsland(1, 4), Options(4));

  const Configuration configuration =
      query.Configure({10, 40, 60}, {0, 0, 0});  // 1, 3 and 2 layers.

  EXPECT_THAT(StagesByBottleneck(configuration), ElementsAre(1, 2, 0));
}

TEST(StagesByBottleneckTest, LargestFirstWhereMemoryLacks) {
  IslandSpec island = testing::TestIsland(1, 4);
  island.device.memory_bytes = 1e6;
  Query query(BodySlice(6), island, Options(4));

  // Two GPUs make the first stage's 2.5 layers faster than the second's 2, but
  // each holds all of them.
  const Configuration configuration =
      query.Configure({25, 45, 60}, {query.DegreesOf(1, 2), 0, 0});

  ASSERT_LT(configuration.stages[0].time_s(), configuration.stages[1].time_s());
  EXPECT_THAT(StagesByBottleneck(configuration), ElementsAre(0, 1, 2));
}

TEST(PrimitiveGroupsTest, OnlyMemorySaversWhereMemoryLacks) {
  IslandSpec island = testing::TestIsland(1, 4);
  island.device.memory_bytes = 1e6;
  Query query(BodySlice(6), island, Options(4));
  const Configuration configuration = query.Configure({30, 60}, {0, 0});

  EXPECT_THAT(PrimitiveGroups(query.tables, configuration, 0),
              ElementsAre(UnorderedElementsAre(
                  Primitive::kMoveOperators, Primitive::kMoreDp,
                  Primitive::kMoreTp, Primitive::kTpForDp)));
}

TEST(PrimitiveGroupsTest, SavesTimeFirstWhereWorkIsUneven) {
  Query query(BodySlice(6), testing::TestIsland(1, 4), Options(4));
  // Single GPUs lose nothing to parallelism.
  const Configuration configuration = query.Configure({50, 60}, {0, 0});

  EXPECT_THAT(PrimitiveGroups(query.tables, configuration, 0)[0],
              UnorderedElementsAre(Primitive::kMoveOperators,
                                   Primitive::kMoreDp, Primitive::kMoreTp));
}

// Equal work, but the first stage alone loses time to tensor parallelism.
TEST(PrimitiveGroupsTest, SavesCommunicationFirstWhereItIsTheBottlenecks) {
  IslandSpec island = testing::TestIsland(1, 4);
  island.intra_node.bandwidth_bytes_per_s = 1e9;
  island.intra_node.pair_bandwidth_bytes_per_s = 1e9;
  Query query(BodySlice(6), island, Options(4));
  const Configuration configuration =
      query.Configure({30, 60}, {query.DegreesOf(2, 1), query.DegreesOf(1, 2)});

  EXPECT_THAT(PrimitiveGroups(query.tables, configuration, 0)[0],
              ::testing::Contains(Primitive::kDpForTp));
}

TEST(PrimitiveGroupsTest, EveryPrimitiveComesOnce) {
  Query query(BodySlice(6), testing::TestIsland(1, 4), Options(4));
  const Configuration configuration = query.Configure({20, 60}, {0, 0});

  std::vector<Primitive> all;
  for (const auto& group : PrimitiveGroups(query.tables, configuration, 1)) {
    all.insert(all.end(), group.begin(), group.end());
  }

  EXPECT_THAT(
      all, UnorderedElementsAre(Primitive::kMoveOperators, Primitive::kMoreTp,
                                Primitive::kMoreDp, Primitive::kLessTp,
                                Primitive::kLessDp, Primitive::kTpForDp,
                                Primitive::kDpForTp));
}

}  // namespace
}  // namespace tangram::aceso
