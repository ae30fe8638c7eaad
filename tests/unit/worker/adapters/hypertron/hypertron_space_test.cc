#include "worker/adapters/hypertron/hypertron_space.h"

#include <set>

#include "absl/algorithm/container.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::testing::UnorderedElementsAre;

HypertronSpace SpaceOf(const ModelSpec& model, const IslandSpec& island,
                       int microbatch) {
  return HypertronSpace(
      island, SplitLimits(model.layers, microbatch, {.sequence_length = 512}),
      model.num_layers());
}

int PointAt(const HypertronSpace& space, int num_stages,
            const StageParallelism& p) {
  for (int i = 0; i < space.size(); ++i) {
    const StageParallelism& at = space.at(i).parallelism;
    if (space.at(i).layout.num_stages == num_stages &&
        at.tp_degree == p.tp_degree && at.tp_y_degree == p.tp_y_degree &&
        at.cp_degree == p.cp_degree && at.dp_degree == p.dp_degree &&
        at.ep_degree == p.ep_degree) {
      return i;
    }
  }
  return -1;
}

int GpusAt(const HypertronSpace& space, int point) {
  return space.at(point).layout.num_stages *
         space.at(point).parallelism.num_gpus();
}

// Returns all points reached from `start` by moves to neighbours.
std::set<int> ReachedFrom(int start, HypertronSpace& space) {
  std::set<int> reached = {start};
  std::vector<int> left = {start};
  while (!left.empty()) {
    const int point = left.back();
    left.pop_back();
    for (const int next : space.NeighboursOf(point)) {
      if (reached.insert(next).second) left.push_back(next);
    }
  }
  return reached;
}

TEST(HypertronSpaceTest, TwoGpusGoToAnyDegree) {
  HypertronSpace space = SpaceOf(TestModel(2), TestIsland(1, 2), 2);
  const int dp = PointAt(space, 1, {.dp_degree = 2});
  const int tp = PointAt(space, 1, {.tp_degree = 2});
  const int tp_y = PointAt(space, 1, {.tp_degree = 2, .tp_y_degree = 2});
  const int cp = PointAt(space, 1, {.cp_degree = 2});
  const int pp = PointAt(space, 2, {});

  EXPECT_EQ(space.size(), 5);
  EXPECT_THAT(space.NeighboursOf(dp), UnorderedElementsAre(tp, tp_y, cp, pp));
  EXPECT_THAT(space.NeighboursOf(pp), UnorderedElementsAre(tp, tp_y, cp, dp));
  EXPECT_TRUE(space.IsPlain(dp) && space.IsPlain(tp) && space.IsPlain(pp));
  EXPECT_FALSE(space.IsPlain(tp_y) || space.IsPlain(cp));
}

TEST(HypertronSpaceTest, ExpertParallelismIsAddedAndTakenAlone) {
  HypertronSpace space = SpaceOf(TestMoeModel(2), TestIsland(1, 2), 2);
  const int without = PointAt(space, 1, {.dp_degree = 2});
  const int with = PointAt(space, 1, {.dp_degree = 2, .ep_degree = 2});

  EXPECT_THAT(space.NeighboursOf(without), ::testing::Contains(with));
  EXPECT_THAT(space.NeighboursOf(with), ::testing::Contains(without));
  EXPECT_FALSE(space.IsPlain(with));
}

TEST(HypertronSpaceTest, EveryPointIsReachedFromEveryOther) {
  for (const ModelSpec& model : {TestModel(6, 2048), TestMoeModel(6, 2048)}) {
    for (const IslandSpec& island : {TestIsland(4, 8), TestIsland(3, 4)}) {
      HypertronSpace space = SpaceOf(model, island, 6);
      for (int point = 0; point < space.size(); ++point) {
        EXPECT_EQ(GpusAt(space, point), island.num_gpus());
        for (const int next : space.NeighboursOf(point)) {
          EXPECT_THAT(space.NeighboursOf(next), ::testing::Contains(point));
        }
      }
      EXPECT_EQ(ReachedFrom(0, space).size(),
                static_cast<size_t>(space.size()));
    }
  }
}

TEST(HypertronSpaceTest, DepthsHoldThePointsInOrder) {
  const HypertronSpace space = SpaceOf(TestModel(6), TestIsland(2, 4), 4);
  int begin = 0;
  for (const HypertronSpace::Range& depth : space.depths()) {
    EXPECT_EQ(depth.begin, begin);
    for (int point = depth.begin; point < depth.end; ++point) {
      EXPECT_EQ(space.at(point).layout, space.at(depth.begin).layout);
    }
    begin = depth.end;
  }
  EXPECT_EQ(begin, space.size());
  EXPECT_EQ(space.depths().size(), 4u);  // 1, 2, 4 and 8 stages.
}

}  // namespace
}  // namespace tangram
