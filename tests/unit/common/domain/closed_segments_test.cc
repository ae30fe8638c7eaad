#include "common/domain/closed_segments.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

// Operators 0 to 4 are attention with norm and residual, 5 to 9 the MLP.
TEST(CloseSegmentsTest, AddsTheUsersOfTensorsThatSkipOperators) {
  const LayerSpec layer = testing::TestModel(1).layers[1];
  const struct {
    OpMask mask;
    OpMask closed;
  } cases[] = {
      {0b0000000000, 0b0000000000},
      {0b0000000100, 0b0000000100},  // The attention core.
      {0b0010000000, 0b0010000000},  // The activation.
      {0b0000000010, 0b0000000110},  // Values.
      {0b0000000001, 0b0000011111},  // A residual.
      {0b0000100010, 0b1111100110},  // Both kinds.
      {0b1111111111, 0b1111111111},  // The whole layer.
      {0b0000000010 | kDropOutputs, 0b0000000110 | kDropOutputs},
  };
  for (const auto& [mask, closed] : cases) {
    EXPECT_EQ(CloseSegments(layer, mask), closed) << mask;
    EXPECT_EQ(CloseSegments(layer, closed), closed) << mask;
  }
}

TEST(CloseSegmentsTest, LeavesEmbeddingAndHead) {
  EXPECT_EQ(CloseSegments(testing::TestModel(1).layers.front(), 1), 1u);
}

}  // namespace
}  // namespace tangram
