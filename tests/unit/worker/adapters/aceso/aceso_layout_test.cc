#include "worker/adapters/aceso/aceso_layout.h"

#include "gmock/gmock.h"
#include "tests/unit/worker/adapters/aceso/aceso_query.h"

namespace tangram::aceso {
namespace {

TEST(SliceLayoutTest, PutsTheOperatorsOfAllLayersInARow) {
  const SliceLayout layout(SliceOf(testing::TestModel(2), 0, 4));

  EXPECT_EQ(layout.num_ops(), 23);  // 1 + 10 + 10 + 2
  EXPECT_EQ(layout.num_layers(), 4);
  EXPECT_EQ(layout.num_kinds(), 3);
  EXPECT_EQ(layout.CutAt(0), (OperatorCut{0, 0}));
  EXPECT_EQ(layout.CutAt(6), (OperatorCut{1, 5}));
  EXPECT_EQ(layout.CutAt(21), (OperatorCut{3, 0}));
  EXPECT_EQ(layout.CutAt(23), (OperatorCut{4, 0}));
}

TEST(SliceLayoutTest, EqualLayersShareSlots) {
  const SliceLayout layout(SliceOf(testing::TestModel(2), 0, 4));

  EXPECT_EQ(layout.at(1 + 7).slot, layout.at(11 + 7).slot);
  EXPECT_NE(layout.at(1).slot, layout.at(2).slot);
  EXPECT_NE(layout.at(0).slot, layout.at(21).slot);
}

TEST(SliceLayoutTest, KnowsWhichKindsARangeOfLayersHas) {
  const SliceLayout layout(SliceOf(testing::TestModel(2), 0, 4));

  EXPECT_TRUE(layout.HasKind(0, 0, 1));  // Embedding.
  EXPECT_FALSE(layout.HasKind(0, 1, 4));
  EXPECT_TRUE(layout.HasKind(1, 0, 2));
  EXPECT_FALSE(layout.HasKind(2, 0, 3));  // Head.
  EXPECT_TRUE(layout.HasKind(2, 3, 4));
}

// One layer: residual cuts at 0, 5 and 10.
TEST(SliceLayoutTest, EveryStageHoldsAResidualCut) {
  const SliceLayout layout(BodySlice(1));

  EXPECT_EQ(layout.EarliestEnd(0), 1);
  EXPECT_EQ(layout.EarliestEnd(1), 5);
  EXPECT_EQ(layout.EarliestEnd(4), 5);
  EXPECT_EQ(layout.EarliestEnd(5), 6);
  EXPECT_EQ(layout.EarliestEnd(9), 10);
  EXPECT_EQ(layout.LatestBegin(10), 9);
  EXPECT_EQ(layout.LatestBegin(9), 5);
  EXPECT_EQ(layout.LatestBegin(5), 4);
  EXPECT_EQ(layout.LatestBegin(3), 0);
  EXPECT_EQ(layout.ResidualCutBefore(9), 5);
  // [0, 4), [4, 5), [5, 9), [9, 10)
  EXPECT_EQ(layout.max_stages(), 4);
}

// One layer of two halves, and a head.
TEST(SliceLayoutTest, StagesMayBeHalfLayersOnly) {
  const SliceLayout layout(SliceOf(testing::TestModel(1), 1, 3),
                           /*residual_cuts=*/true);

  EXPECT_EQ(layout.num_ops(), 3);
  EXPECT_EQ(layout.CutAt(1), (OperatorCut{0, 5}));
  EXPECT_EQ(layout.CutAt(2), (OperatorCut{1, 0}));
  EXPECT_EQ(layout.CutAt(3), (OperatorCut{2, 0}));
  EXPECT_EQ(layout.EarliestEnd(0), 1);
  EXPECT_EQ(layout.LatestBegin(3), 2);
  EXPECT_EQ(layout.max_stages(), 3);
}

}  // namespace
}  // namespace tangram::aceso
