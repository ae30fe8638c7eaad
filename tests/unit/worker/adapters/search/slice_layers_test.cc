#include "worker/adapters/search/slice_layers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::testing::ElementsAre;

class SliceLayersTest : public ::testing::Test {
 protected:
  const LayerSpec dense_ = TestModel(1).layers[1];
  const LayerSpec moe_ = TestMoeModel(1).layers[1];
  const SliceLayers layers_ =
      SliceLayers(MakeSlice({0, 5}, {dense_, moe_, dense_, dense_, moe_}));
};

TEST_F(SliceLayersTest, KindsAreTheDifferentLayers) {
  EXPECT_EQ(layers_.size(), 5);
  EXPECT_THAT(layers_.kinds(), ElementsAre(dense_, moe_));
  EXPECT_EQ(layers_.kind_of(3), 0);
  EXPECT_EQ(layers_.at(4), moe_);
}

TEST_F(SliceLayersTest, SumsTheKindsOfALayerRange) {
  const LayerCost costs[] = {{.forward_s = 1}, {.forward_s = 10}};

  EXPECT_EQ(layers_.Sum(1, 4, costs).forward_s, 12);  // 10 + 2 · 1.
  EXPECT_EQ(layers_.Sum(2, 2, costs).forward_s, 0);
}

TEST_F(SliceLayersTest, KnowsEqualRanges) {
  EXPECT_TRUE(layers_.SameLayers(0, 3, 2));   // Dense, MoE.
  EXPECT_FALSE(layers_.SameLayers(0, 2, 2));  // Dense, dense.
}

TEST_F(SliceLayersTest, FindsTheFirstEqualRangeOfARun) {
  EXPECT_EQ(layers_.FirstLike(3, 4), 2);  // Dense, after a dense one.
  EXPECT_EQ(layers_.FirstLike(2, 4), 2);
  EXPECT_EQ(layers_.FirstLike(3, 5), 3);  // Dense, MoE.
}

}  // namespace
}  // namespace tangram
