#include "common/domain/mixed_stage.h"

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "common/domain/limits.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/stage_part.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::MixedOn;
using testing::NodeGpus;
using testing::StageOn;
using testing::StatusIs;

TEST(RouteMicrobatchesTest, TakesGroupsAtEvenDistances) {
  EXPECT_THAT(RouteMicrobatches({2, 2}), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(RouteMicrobatches({1, 3}), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(RouteMicrobatches({4, 1, 1}), ElementsAre(0, 0, 1, 2, 0, 0));
}

TEST(RouteMicrobatchesPropertyTest, GroupsTakeTheirShareOfEveryStretch) {
  std::mt19937 generator(17);
  for (int i = 0; i < 500; ++i) {
    SCOPED_TRACE(i);
    std::vector<int> shares(2);
    for (int& share : shares) share = 1 + static_cast<int>(generator() % 30);
    const int total = shares[0] + shares[1];
    const std::vector<int> route = RouteMicrobatches(shares);
    ASSERT_EQ(std::count(route.begin(), route.end(), 0), shares[0]);
    ASSERT_EQ(static_cast<int>(route.size()), total);
    // Group g takes at most ⌈w · share_g / total⌉ of any w microbatches in
    // sequence, so it holds no more when w are in flight.
    for (int w = 1; w <= total; ++w) {
      for (int first = 0; first + w <= total; ++first) {
        for (int g = 0; g < 2; ++g) {
          const auto begin = route.begin() + first;
          const int most = (w * shares[g] + total - 1) / total;
          ASSERT_LE(std::count(begin, begin + w, g), most);
        }
      }
    }
  }
}

// Three groups on two nodes share eight microbatches of four samples; then a
// stage of equal replicas.
struct MixedInputs {
  ModelSpec model = testing::TestModel(4);
  Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .device = testing::TestDevice()}});
  TrainingOptions training = testing::TestTraining(32);
  PipelinePlan plan = {
      .pipeline_microbatch_size = 4,
      .stages = {
          MixedOn(0, 3,
                  {.sharing = StageSharing::kRouted,
                   .groups = {{.parallelism = {.tp_degree = 2}, .share = 5},
                              {.parallelism = {.dp_degree = 2}, .share = 2},
                              {.share = 1}}},
                  {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}}),
          StageOn(3, 6, {.tp_degree = 2}, NodeGpus(1, 2, 1))}};

  MixedReplicas& mixed() { return plan.stages[0].mixed; }
  absl::Status Validate() const {
    return ValidatePlan(model, cluster, training, plan);
  }
};

TEST(ValidateMixedStagesTest, AcceptsBothKindsOfSharing) {
  MixedInputs in;
  EXPECT_THAT(in.Validate(), IsOk());
  in.mixed().sharing = StageSharing::kLockStep;
  in.mixed().groups[0].share = 1;
  EXPECT_THAT(in.Validate(), IsOk());
  in.plan.schedule = PipelineSchedule::kGpipe;
  EXPECT_THAT(in.Validate(), IsOk());
}

struct SpoiledMix {
  std::function<void(MixedInputs&)> spoil;
  std::string error;
};

TEST(ValidateMixedStagesTest, NamesTheFieldTheValueAndWhatWasExpected) {
  const SpoiledMix cases[] = {
      {[](MixedInputs& in) { in.mixed().groups.resize(1); },
       "stages[0].mixed.groups: 1; expected at least two, or no mixed"},
      {[](MixedInputs& in) { in.mixed().groups.resize(257); },
       "stages[0].mixed.groups: 257; expected at most 256"},
      {[](MixedInputs& in) { in.mixed().groups[1].share = 0; },
       "stages[0].mixed.groups[1].share: 0; expected a positive integer"},
      {[](MixedInputs& in) { in.mixed().groups[1].share = 3; },
       "stages[0].mixed.groups.share: a sum of 9; expected the number of "
       "microbatches, 8"},
      {[](MixedInputs& in) { in.mixed().sharing = StageSharing::kLockStep; },
       "stages[0].mixed.groups.share: a sum of 8; expected the pipeline "
       "microbatch size, 4"},
      {[](MixedInputs& in) {
         in.mixed().sharing = StageSharing::kLockStep;
         in.mixed().groups[0].share = 2;
         in.mixed().groups[1].share = 1;
       },
       "stages[0].mixed.groups[1].parallelism.dp_degree: 2; expected a divisor "
       "of the pipeline microbatch, 1"},
      {[](MixedInputs& in) { in.mixed().groups[0].parallelism.tp_degree = 3; },
       "stages[0].mixed.groups[0].parallelism.tp_degree: 3; expected a divisor "
       "of the number of heads, 16"},
      {[](MixedInputs& in) { in.mixed().groups[2].parallelism.dp_degree = 4; },
       "stages[0].mixed.groups[2].parallelism.dp_degree: 4; expected a "
       "positive integer, at most the 1 GPUs"},
      {[](MixedInputs& in) {
         in.mixed().groups[0].parallelism.tp_degree = 1 << 30;
       },
       "stages[0].mixed.groups[0].parallelism.tp_degree: 1073741824;"},
      {[](MixedInputs& in) { in.mixed().groups[1].parallelism.dp_degree = 1; },
       "stages[0].gpus: 5 GPUs; expected 4, as all groups together"},
      {[](MixedInputs& in) {
         in.plan.stages[0].plan.parallelism.tp_degree = 2;
       },
       "stages[0].plan.parallelism: given; expected that of one GPU"},
      {[](MixedInputs& in) { in.plan.stages[0].plan.recompute.clear(); },
       "stages[0].plan.recompute: 0 layers; expected 3"},
      {[](MixedInputs& in) {
         in.plan.stages[0].gpus[4] = {1, 1};
       },
       "GPU 1 of node a-1, which stages[0] uses"},
      {[](MixedInputs& in) {
         in.plan.schedule = PipelineSchedule::kZeroBubbleH1;
       },
       "schedule: zb-h1; expected 1f1b or gpipe, as some stages have replicas "
       "that differ"},
      {[](MixedInputs& in) { in.training.blocking_transfers = true; },
       "stages.mixed.sharing: routed; expected lock-step in all stages, as "
       "training.blocking_transfers is set"},
      {[](MixedInputs& in) {
         in.training.global_batch_size = kMaxBatch;
         in.mixed().groups[0].share = kMaxBatch / 4 - 3;
         in.plan.pipeline_microbatch_size = 2;
       },
       "pipeline_microbatch_size: 2; expected a size that makes at most "
       "4194304 microbatches"},
  };
  for (const SpoiledMix& spoiled : cases) {
    MixedInputs in;
    spoiled.spoil(in);
    EXPECT_THAT(in.Validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr(spoiled.error)));
  }
}

TEST(ValidateMixedStagesTest, BlockingTransfersAreFineInLockStep) {
  MixedInputs in;
  in.mixed().sharing = StageSharing::kLockStep;
  in.mixed().groups[0].share = 1;
  in.training.blocking_transfers = true;
  EXPECT_THAT(in.Validate(), IsOk());
}

TEST(PartsOfTest, GivesGroupsTheGpusInOrder) {
  const MixedInputs in;
  const std::vector<StagePart> parts = PartsOf(in.plan.stages[0], 4, 8);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(parts[1].gpus, ElementsAre(GpuId{0, 2}, GpuId{0, 3}));
  EXPECT_THAT(parts[2].gpus, ElementsAre(GpuId{1, 0}));
  EXPECT_EQ(parts[1].samples, 4);
  EXPECT_EQ(parts[1].num_microbatches, 2);
  const std::vector<StagePart> whole = PartsOf(in.plan.stages[1], 4, 8);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].samples, 4);
  EXPECT_EQ(whole[0].num_microbatches, 8);
}

}  // namespace
}  // namespace tangram
