#include "common/domain/runtime.h"

#include <vector>

#include "common/domain/model_slice.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestModel;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two layers between embedding and head.
class WhyNotRunnableTest : public ::testing::Test {
 protected:
  absl::string_view Why(const Runtime& runtime, const StagePlan& stage) const {
    return WhyNotRunnable(runtime, stage, slice_.runs);
  }

  const ModelSlice slice_ = MakeSlice({0, 4}, TestModel(2).layers);
  const StagePlan plain_ = {
      .begin = {0, 0}, .end = {4, 0}, .recompute = {{4, kRecomputeNone}}};
  // 10 operators a layer; the attention core is the third.
  const Runtime least_ = {.name = "least"};
};

TEST_F(WhyNotRunnableTest, PlainStagesRunAnywhere) {
  EXPECT_THAT(Why(least_, plain_), IsEmpty());
}

TEST_F(WhyNotRunnableTest, CutsInsideALayerNeedARuntimeForThem) {
  StagePlan stage = plain_;
  stage.end = {2, 4};

  EXPECT_THAT(Why(least_, stage), HasSubstr("inside a layer"));
  EXPECT_THAT(Why({.name = "cuts", .cuts = Runtime::Cuts::kOperators}, stage),
              IsEmpty());
  const Runtime residuals = {.name = "half layers",
                             .cuts = Runtime::Cuts::kResiduals};
  EXPECT_THAT(Why(residuals, stage), HasSubstr("inside attention or an MLP"));
  stage.end = {2, 5};  // Before the norm of the MLP.
  EXPECT_THAT(Why(residuals, stage), IsEmpty());
}

TEST_F(WhyNotRunnableTest, AttentionCoresAndWholeLayersAreRecomputedByAll) {
  StagePlan stage = plain_;
  stage.recompute = {{1, 0}, {1, 0b100}, {1, 0x3ff}, {1, 0}};
  EXPECT_THAT(Why(least_, stage), IsEmpty());

  stage.recompute = {{1, 0}, {1, 0b110}, {2, 0}};
  EXPECT_THAT(Why(least_, stage), HasSubstr("single operators"));
  EXPECT_THAT(
      Why({.name = "any", .recompute = Runtime::Recompute::kOperators}, stage),
      IsEmpty());
}

// 0b110 are the projections and the attention core, which uses all of them.
TEST_F(WhyNotRunnableTest, ClosedSegmentsHoldTheUsersOfWhatTheyMake) {
  const Runtime closed = {.name = "closed",
                          .recompute = Runtime::Recompute::kClosed};
  StagePlan stage = plain_;
  stage.recompute = {{1, 0}, {1, 0b110}, {1, 0x3ff}, {1, 0}};
  EXPECT_THAT(Why(closed, stage), IsEmpty());
  // The norm makes the residual, and the projections make the values.
  for (const OpMask open : {0b1, 0b10, 0b11, 0b100000}) {
    stage.recompute = {{1, 0}, {1, open}, {2, 0}};
    EXPECT_THAT(Why(closed, stage), HasSubstr("more than its output"));
  }
}

// An expert layer has more operators than a dense one.
TEST_F(WhyNotRunnableTest, AWholeLayerHasTheOperatorsOfItsOwnRun) {
  const LayerSpec dense = TestModel(1).layers[1];
  const LayerSpec moe = testing::TestMoeModel(1).layers[1];
  const OpMask of_dense = (OpMask{1} << OperatorsOf(dense).size()) - 1;
  const OpMask of_moe = (OpMask{1} << OperatorsOf(moe).size()) - 1;
  const ModelSlice slice = MakeSlice({0, 4}, {dense, moe, moe, dense});
  const auto why = [&](const std::vector<RecomputeRun>& recompute) {
    return WhyNotRunnable(
        least_, {.begin = {1, 0}, .end = {4, 0}, .recompute = recompute},
        slice.runs);
  };
  EXPECT_THAT(why({{2, of_moe}, {1, of_dense}}), IsEmpty());
  EXPECT_THAT(why({{1, of_dense}, {1, of_moe}, {1, of_dense}}),
              HasSubstr("single operators"));
  EXPECT_THAT(why({{3, of_moe}}), HasSubstr("single operators"));
}

TEST_F(WhyNotRunnableTest, DegreesAndShardingHaveLimits) {
  StagePlan stage = plain_;
  stage.parallelism = {.tp_degree = 2, .sequence_parallel = true};
  EXPECT_THAT(Why(least_, stage), HasSubstr("sequence"));
  stage.parallelism = {.cp_degree = 2};
  EXPECT_THAT(Why(least_, stage), HasSubstr("context"));
  stage.parallelism = {.dp_degree = 2, .ep_degree = 2};
  EXPECT_THAT(Why(least_, stage), HasSubstr("expert"));
  stage.parallelism.fsep = true;
  EXPECT_THAT(Why({.name = "ep", .expert_parallel = true}, stage),
              HasSubstr("sharded experts"));
  stage.parallelism = {.dp_degree = 2, .zero_stage = 2};
  EXPECT_THAT(Why({.name = "zero 1", .max_zero_stage = 1}, stage),
              HasSubstr("ZeRO"));
  EXPECT_THAT(Why({.name = "zero 2", .max_zero_stage = 2}, stage), IsEmpty());
  stage.parallelism = {.dp_degree = 4, .zero_stage = 2, .zero_degree = 2};
  EXPECT_THAT(Why({.name = "zero 2", .max_zero_stage = 2}, stage),
              HasSubstr("a part of the data-parallel ranks"));
  const Runtime parts = {
      .name = "parts", .max_zero_stage = 2, .zero_degrees = true};
  EXPECT_THAT(Why(parts, stage), IsEmpty());
}

TEST_F(WhyNotRunnableTest, NoneSplitsTensorsInTwoDimensions) {
  StagePlan stage = plain_;
  stage.parallelism = {.tp_degree = 4, .tp_y_degree = 2};
  EXPECT_THAT(Why({.name = "all else",
                   .cuts = Runtime::Cuts::kOperators,
                   .recompute = Runtime::Recompute::kOperators,
                   .sequence_parallel = true,
                   .context_parallel = true,
                   .expert_parallel = true,
                   .sharded_experts = true,
                   .max_zero_stage = 3,
                   .offload = true},
                  stage),
              HasSubstr("two dimensions"));
}

TEST_F(WhyNotRunnableTest, OffloadNeedsARuntimeForIt) {
  StagePlan stage = plain_;
  stage.offload = {.optimizer = 0.5};

  EXPECT_THAT(Why(least_, stage), HasSubstr("host memory"));
  EXPECT_THAT(Why({.name = "offload", .offload = true}, stage), IsEmpty());
}

TEST(WhyNotScheduledTest, NamesTheScheduleThatItDoesNotRun) {
  const Runtime plain = {.name = "plain"};
  const Runtime chunks = {.name = "chunks", .interleaved = true};
  PipelinePlan plan;
  EXPECT_EQ(WhyNotScheduled(plain, plan), "");
  plan.schedule = PipelineSchedule::kGpipe;
  EXPECT_EQ(WhyNotScheduled(plain, plan), "the schedule gpipe");
  EXPECT_EQ(WhyNotScheduled({.name = "all first", .gpipe = true}, plan), "");
  plan.schedule = PipelineSchedule::kInterleaved;
  EXPECT_EQ(WhyNotScheduled(plain, plan), "the schedule interleaved");
  EXPECT_EQ(WhyNotScheduled(chunks, plan), "");
  plan.schedule = PipelineSchedule::kZeroBubbleH1;
  EXPECT_EQ(WhyNotScheduled(chunks, plan), "the schedule zb-h1");
  plan.schedule = PipelineSchedule::kOneFOneB;
  plan.warm_up_passes = {3, 1};
  EXPECT_EQ(WhyNotScheduled(chunks, plan), "a number of warm-up passes");
}

TEST(CoversTest, TheWiderRuntimeCoversTheNarrower) {
  const Runtime narrow = {.name = "narrow", .max_zero_stage = 1};
  const Runtime wide = {
      .name = "wide", .expert_parallel = true, .max_zero_stage = 2};

  EXPECT_TRUE(Covers(wide, narrow));
  EXPECT_FALSE(Covers(narrow, wide));
  EXPECT_TRUE(Covers(wide, wide));
  const Runtime parts = {
      .name = "parts", .max_zero_stage = 1, .zero_degrees = true};
  EXPECT_TRUE(Covers(parts, narrow));
  EXPECT_FALSE(Covers(wide, parts));
}

}  // namespace
}  // namespace tangram
