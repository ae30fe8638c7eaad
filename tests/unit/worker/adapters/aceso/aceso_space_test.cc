#include "worker/adapters/aceso/aceso_space.h"

#include "gmock/gmock.h"
#include "tests/unit/worker/adapters/aceso/aceso_query.h"

namespace tangram::aceso {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

DegreeSpace SpaceOf(const IslandSpec& island, int microbatch_size,
                    const ModelSlice& slice = BodySlice(1)) {
  return DegreeSpace(SliceLayout(slice), island, microbatch_size);
}

std::vector<std::pair<int, int>> ChoicesOf(const DegreeSpace& space) {
  std::vector<std::pair<int, int>> choices;
  for (const Degrees& degrees : space.choices()) {
    choices.emplace_back(degrees.tp_degree, degrees.dp_degree);
  }
  return choices;
}

ModelSlice SliceWithHeads(int num_heads, int num_kv_heads) {
  LayerSpec layer = testing::TestModel(1).layers[1];
  layer.num_heads = num_heads;
  layer.num_kv_heads = num_kv_heads;
  return MakeSlice({0, 1}, {&layer, 1});
}

TEST(DegreeSpaceTest, TensorParallelStaysInsideANode) {
  const DegreeSpace space = SpaceOf(testing::TestIsland(2, 2), 4);

  EXPECT_THAT(ChoicesOf(space),
              ElementsAre(std::pair(1, 1), std::pair(1, 2), std::pair(2, 1),
                          std::pair(1, 4), std::pair(2, 2)));
  EXPECT_THAT(space.stage_sizes(), ElementsAre(1, 2, 4));
}

TEST(DegreeSpaceTest, DataParallelDividesTheMicrobatch) {
  EXPECT_THAT(ChoicesOf(SpaceOf(testing::TestIsland(2, 2), 1)),
              ElementsAre(std::pair(1, 1), std::pair(2, 1)));
  // All 6 GPUs of 3 nodes: dp 3 with tp 2, but not dp 6 with tp 1.
  EXPECT_THAT(ChoicesOf(SpaceOf(testing::TestIsland(3, 2), 3)),
              ElementsAre(std::pair(1, 1), std::pair(2, 1), std::pair(2, 3)));
}

TEST(DegreeSpaceTest, TensorParallelSplitsHeads) {
  const IslandSpec island = testing::TestIsland(1, 4);

  EXPECT_THAT(ChoicesOf(SpaceOf(island, 1, SliceWithHeads(6, 6))),
              ElementsAre(std::pair(1, 1), std::pair(2, 1)));
  // Two ranks may hold the same key and value head.
  EXPECT_THAT(ChoicesOf(SpaceOf(island, 1, SliceWithHeads(8, 2))),
              ElementsAre(std::pair(1, 1), std::pair(2, 1), std::pair(4, 1)));
}

TEST(DegreeSpaceTest, StepsToTheNearestNeighbours) {
  const DegreeSpace space = SpaceOf(testing::TestIsland(2, 4), 8);
  const auto after = [&space](Degrees from, DegreeStep step) {
    const auto choices = space.choices();
    const auto it = std::find(choices.begin(), choices.end(), from);
    const int to = space.Step(static_cast<int>(it - choices.begin()), step);
    return to == kNoDegrees ? Degrees{0, 0} : space.at(to);
  };

  EXPECT_EQ(after({2, 2}, DegreeStep::kMoreTp), (Degrees{4, 2}));
  EXPECT_EQ(after({2, 2}, DegreeStep::kMoreDp), (Degrees{2, 4}));
  EXPECT_EQ(after({2, 2}, DegreeStep::kLessTp), (Degrees{1, 2}));
  EXPECT_EQ(after({2, 2}, DegreeStep::kLessDp), (Degrees{2, 1}));
  EXPECT_EQ(after({2, 2}, DegreeStep::kTpForDp), (Degrees{4, 1}));
  EXPECT_EQ(after({2, 2}, DegreeStep::kDpForTp), (Degrees{1, 4}));
  EXPECT_EQ(after({4, 2}, DegreeStep::kMoreTp), (Degrees{0, 0}));
}

TEST(DegreeSpaceTest, StagesKeepToTheNodes) {
  const DegreeSpace space = SpaceOf(testing::TestIsland(2, 4), 8);

  EXPECT_TRUE(space.IsPlaceable({4, 4}));
  EXPECT_TRUE(space.IsPlaceable({2, 1, 1, 4}));
  EXPECT_FALSE(space.IsPlaceable({2, 4}));  // Crosses the end of a node.
  EXPECT_FALSE(space.IsPlaceable({1, 8}));  // Not on whole nodes.
  EXPECT_FALSE(
      space.IsPlaceable({4, 4, 1}));  // Nine GPUs, but there are eight.
}

TEST(BalancedStageSizesTest, UsesUpTheIsland) {
  const IslandSpec island = testing::TestIsland(1, 8);
  const DegreeSpace space = SpaceOf(island, 8);

  EXPECT_THAT(BalancedStageSizes(space, island, 1), ElementsAre(8));
  EXPECT_THAT(BalancedStageSizes(space, island, 3), ElementsAre(4, 2, 2));
  EXPECT_THAT(BalancedStageSizes(space, island, 5), ElementsAre(2, 2, 2, 1, 1));
  EXPECT_THAT(BalancedStageSizes(space, island, 9), IsEmpty());
}

TEST(BalancedStageSizesTest, LeavesGpusThatNoDegreeCanUse) {
  const IslandSpec island = testing::TestIsland(2, 4);
  const DegreeSpace space = SpaceOf(island, /*microbatch_size=*/1);

  EXPECT_THAT(BalancedStageSizes(space, island, 1), ElementsAre(4));
  EXPECT_THAT(BalancedStageSizes(space, island, 2), ElementsAre(4, 4));
}

}  // namespace
}  // namespace tangram::aceso
