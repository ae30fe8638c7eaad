#include "common/domain/recompute_masks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::testing::ElementsAre;

TEST(MaskOfTest, CoversTheAttentionCoreOrTheWholeLayer) {
  const LayerSpec dense = TestModel(1).layers[1];
  const LayerSpec moe = TestMoeModel(1).layers[1];
  const LayerSpec head = TestModel(1).layers[2];

  EXPECT_EQ(MaskOf(dense, LayerRecompute::kNone), 0);
  EXPECT_EQ(MaskOf(dense, LayerRecompute::kAttentionCore), 0b100);
  EXPECT_EQ(MaskOf(dense, LayerRecompute::kWholeLayer), 0x3ff);  // 10 ops.
  EXPECT_EQ(MaskOf(moe, LayerRecompute::kWholeLayer), 0x1fff);   // 13 ops.
  EXPECT_EQ(MaskOf(head, LayerRecompute::kWholeLayer), 0);
}

TEST(AppendMaskTest, EqualNeighboursShareARun) {
  std::vector<RecomputeRun> runs;
  for (const OpMask mask : {1, 1, 0, 1}) AppendMask(mask, runs);

  EXPECT_THAT(runs, ElementsAre(RecomputeRun{2, 1}, RecomputeRun{1, 0},
                                RecomputeRun{1, 1}));
}

}  // namespace
}  // namespace tangram
