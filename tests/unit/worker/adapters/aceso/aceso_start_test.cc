#include "worker/adapters/aceso/aceso_start.h"

#include "gmock/gmock.h"
#include "tests/unit/worker/adapters/aceso/aceso_query.h"

namespace tangram::aceso {
namespace {

TEST(StartConfigurationTest, UsesAllGpusAndCoversTheSlice) {
  Query query(BodySlice(8), testing::TestIsland(1, 8), Options(8));

  const auto start = StartConfiguration(query.tables, 3);

  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->num_stages(), 3);
  EXPECT_EQ(start->stages.front().shape.begin, 0);
  EXPECT_EQ(start->stages.back().shape.end, 80);
  EXPECT_EQ(start->stages.back().first_gpu +
                query.space.num_gpus(start->stages.back().shape.degrees),
            8);
}

TEST(StartConfigurationTest, IsEmptyWhereTheSliceOrTheIslandIsTooSmall) {
  Query small_slice(BodySlice(1), testing::TestIsland(1, 8), Options(8));
  EXPECT_TRUE(StartConfiguration(small_slice.tables, 4).has_value());
  EXPECT_FALSE(StartConfiguration(small_slice.tables, 5).has_value());

  Query small_island(BodySlice(8), testing::TestIsland(1, 2), Options(8));
  EXPECT_FALSE(StartConfiguration(small_island.tables, 3).has_value());
}

// All-reduces at 1 GB/s cost more than replicas' gradients once an iteration.
TEST(StartConfigurationTest, ChoosesTheDegreesThatSuitTheLink) {
  IslandSpec island = testing::TestIsland(1, 4);
  island.intra_node.bandwidth_bytes_per_s = 1e9;
  island.intra_node.pair_bandwidth_bytes_per_s = 1e9;
  Query query(BodySlice(4), island, Options(8));

  const auto start = StartConfiguration(query.tables, 1);

  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(query.space.at(start->stages[0].shape.degrees), (Degrees{1, 4}));
}

}  // namespace
}  // namespace tangram::aceso
