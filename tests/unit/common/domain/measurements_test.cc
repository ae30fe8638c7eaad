#include "common/domain/measurements.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

MeasuredCollective Table() {
  return {.op = CollectiveOp::kAllReduce,
          .ranks = 4,
          .points = {{1e6, 1e-3}, {4e6, 2e-3}, {16e6, 8e-3}}};
}

TEST(SecondsOfTest, IsTheMeasuredOneAtAPoint) {
  EXPECT_DOUBLE_EQ(SecondsOf(Table(), 1e6), 1e-3);
  EXPECT_DOUBLE_EQ(SecondsOf(Table(), 4e6), 2e-3);
  EXPECT_DOUBLE_EQ(SecondsOf(Table(), 16e6), 8e-3);
}

TEST(SecondsOfTest, IsLinearInLogarithmsBetweenPoints) {
  // Half way from 1e6 to 4e6 in log bytes: half way from 1e-3 to 2e-3.
  EXPECT_NEAR(SecondsOf(Table(), 2e6), 1e-3 * std::sqrt(2), 1e-12);
  EXPECT_NEAR(SecondsOf(Table(), 8e6), 4e-3, 1e-12);
}

TEST(SecondsOfTest, KeepsTheTimeBelowAndTheRateBeyond) {
  EXPECT_DOUBLE_EQ(SecondsOf(Table(), 10), 1e-3);
  EXPECT_DOUBLE_EQ(SecondsOf(Table(), 32e6), 16e-3);
}

TEST(FindCollectiveTest, NeedsOperationRanksAndNodes) {
  const std::vector<MeasuredCollective> tables = {Table()};
  EXPECT_EQ(FindCollective(tables, CollectiveOp::kAllReduce, 4, 1), &tables[0]);
  EXPECT_EQ(FindCollective(tables, CollectiveOp::kAllGather, 4, 1), nullptr);
  EXPECT_EQ(FindCollective(tables, CollectiveOp::kAllReduce, 2, 1), nullptr);
  EXPECT_EQ(FindCollective(tables, CollectiveOp::kAllReduce, 4, 2), nullptr);
}

}  // namespace
}  // namespace tangram
