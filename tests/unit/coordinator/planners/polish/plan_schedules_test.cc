#include "coordinator/planners/polish/plan_schedules.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kLeastGain = 0.002;
constexpr int kScheduledLayers = 14;  // With embedding and head.

TEST(PeriodSecondsTest, IsTheSlowestWindow) {
  const std::vector<PassSeconds> stages = {{3, 1}, {2, 4}, {3, 0}};
  // Alone: 3, 2, 3. Pairs: (3 + 1 + 2) / 2 = 3, (2 + 4 + 3) / 2 = 4.5. All:
  // (3 + 1 + 2 + 4 + 3) / 3 = 4.33.
  EXPECT_DOUBLE_EQ(PeriodSeconds(stages, {3, 2, 1}), 4.5);
  // One more before the slow border. Pairs: 3 and 9 / 3. All: 13 / 4 = 3.25.
  EXPECT_DOUBLE_EQ(PeriodSeconds(stages, {4, 3, 1}), 3.25);
  EXPECT_DOUBLE_EQ(PeriodSeconds(stages, {5, 3, 1}), 3);
  // Too few: (3 + 1 + 2) / 1 = 6 and 9 / 1.
  EXPECT_DOUBLE_EQ(PeriodSeconds(stages, {1, 1, 1}), 13);
}

// Two equal stages of τ = 1 need e >= 2c / τ more passes.
TEST(WarmUpForTest, HidesTransfersWithAsFewPassesAsNeeded) {
  const auto extra = [](double border_s) {
    return WarmUpFor(std::vector<PassSeconds>{{1, border_s}, {1, 0}}, 1.0)[0] -
           2;
  };
  EXPECT_EQ(extra(0), 0);
  EXPECT_EQ(extra(0.5), 1);
  EXPECT_EQ(extra(1.0), 1);
  EXPECT_EQ(extra(1.1), 2);
  EXPECT_EQ(extra(2.8), 3);
}

TEST(WarmUpForTest, AddsPassesBeforeTheSlowBorderAlone) {
  const std::vector<PassSeconds> stages = {{1, 0}, {1, 0.8}, {1, 0}, {1, 0}};
  EXPECT_THAT(WarmUpFor(stages, 1.0), ElementsAre(5, 4, 2, 1));
  // (1 + 0.8 + 1) / 2 = 1.4 is allowed.
  EXPECT_THAT(WarmUpFor(stages, 1.4), ElementsAre(4, 3, 2, 1));
}

// Two devices with 8 and 4 of the 12 transformer layers.
PipelinePlan TwoStages() {
  PipelinePlan plan{.pipeline_microbatch_size = 4};
  const int cuts[] = {0, 9, kScheduledLayers};
  for (int s = 0; s < 2; ++s) {
    plan.stages.push_back(
        {.plan = {.begin = {cuts[s], 0},
                  .end = {cuts[s + 1], 0},
                  .recompute = {{cuts[s + 1] - cuts[s], kRecomputeNone}}},
         .gpus = {{s, 0}},
         .island = s});
  }
  return plan;
}

PlanRequest TwoGpus(double between_bytes_per_s = 100e9) {
  const DeviceSpec device = testing::TestDevice("GPU");
  return {.cluster = testing::TestCluster(
              {{.name = "a", .gpus_per_node = 1, .device = device},
               {.name = "b", .gpus_per_node = 1, .device = device}},
              between_bytes_per_s),
          .model = testing::TestModel(kScheduledLayers - 2),
          .training = testing::TestTraining(32)};
}

std::vector<int> LayerEnds(const PipelinePlan& plan) {
  std::vector<int> ends;
  for (const PlacedStage& stage : plan.stages) {
    EXPECT_EQ(stage.plan.end.op, 0);
    ends.push_back(stage.plan.end.layer);
  }
  return ends;
}

TEST(InterleavedTest, GivesEachChunkItsPartOfTheLayers) {
  const ModelSpec model = testing::TestModel(kScheduledLayers - 2);
  // Chunks of 4, 2, 4 and 2 layers, after the embedding.
  const auto two = Interleaved(model, Runtime::Cuts::kLayers, 2, TwoStages());
  ASSERT_TRUE(two.has_value());
  EXPECT_THAT(LayerEnds(*two), ElementsAre(5, 7, 11, kScheduledLayers));
  EXPECT_EQ(two->num_devices(), 2);
  EXPECT_EQ(two->stages[2].gpus, two->stages[0].gpus);
  const auto four = Interleaved(model, Runtime::Cuts::kLayers, 4, TwoStages());
  ASSERT_TRUE(four.has_value());
  EXPECT_THAT(LayerEnds(*four),
              ElementsAre(3, 4, 6, 7, 9, 10, 12, kScheduledLayers));
  // 8 chunks of half a layer each on the second device.
  EXPECT_FALSE(Interleaved(model, Runtime::Cuts::kLayers, 8, TwoStages()));
  EXPECT_TRUE(Interleaved(model, Runtime::Cuts::kResiduals, 8, TwoStages()));
}

// Chunks of 8 and 4 layers by three, after the embedding.
TEST(InterleavedTest, TheFirstOrTheLastChunksGetTheRemainder) {
  const ModelSpec model = testing::TestModel(kScheduledLayers - 2);
  const auto with = [&](Remainder remainder) {
    return LayerEnds(*Interleaved(model, Runtime::Cuts::kOperators, 3,
                                  TwoStages(), remainder));
  };
  // 3, 2, 3, 1, 2, 1.
  EXPECT_THAT(with(Remainder::kFirst),
              ElementsAre(4, 6, 9, 10, 12, kScheduledLayers));
  // 2, 1, 3, 1, 3, 2.
  EXPECT_THAT(with(Remainder::kLast),
              ElementsAre(3, 4, 7, 8, 11, kScheduledLayers));
  EXPECT_EQ(
      AllInterleaved(model, Runtime::Cuts::kLayers, 2, TwoStages()).size(), 1u);
  EXPECT_EQ(
      AllInterleaved(model, Runtime::Cuts::kLayers, 3, TwoStages()).size(), 3u);
}

// Two equal devices, and a head that takes as long as `head_layers` layers.
std::optional<PipelinePlan> Even(double head_layers, double slow = 1) {
  Evaluation evaluation;
  evaluation.stages = {{.forward_s = 2 * slow, .backward_s = 6 * slow},
                       {.forward_s = 1, .backward_s = 3 + head_layers}};
  PipelinePlan plan = TwoStages();
  if (slow == 1) plan.stages[1].island = 0;
  return EvenChunks(TwoGpus().model, Runtime::Cuts::kLayers, /*chunks=*/2, plan,
                    evaluation);
}

// There are 12 transformer layers behind the embedding.
TEST(EvenChunksTest, AllChunksTakeAsLong) {
  EXPECT_THAT(LayerEnds(*Even(0)), ElementsAre(4, 7, 10, kScheduledLayers));
  // (12 + 2) / 4 layers each, of which the head is two. The first of two cuts
  // that are as near counts.
  EXPECT_THAT(LayerEnds(*Even(2)), ElementsAre(4, 8, 11, kScheduledLayers));
  // The head has the last chunk to itself.
  EXPECT_THAT(LayerEnds(*Even(5)), ElementsAre(5, 9, 13, kScheduledLayers));
}

// The first device takes three times as long for a layer: 1.5 and 4.5 layers.
TEST(EvenChunksTest, SlowDevicesGetFewerLayers) {
  EXPECT_EQ(Even(0, 3)->virtual_stages, 2);
  EXPECT_THAT(LayerEnds(*Even(0, 3)), ElementsAre(2, 7, 8, kScheduledLayers));
}

TEST(InterleavedTest, WithoutChunksDevicesHaveAsManyLayers) {
  const ModelSpec model = testing::TestModel(kScheduledLayers - 2);
  for (const int chunks : {2, 4}) {
    for (const PipelinePlan& plan :
         AllInterleaved(model, Runtime::Cuts::kLayers, chunks, TwoStages())) {
      EXPECT_EQ(WithoutChunks(plan), TwoStages());
    }
  }
}

std::vector<PipelinePlan> SchedulesOf(const PlanRequest& request,
                                      const PipelineRules& rules = {},
                                      PipelinePlan plan = TwoStages()) {
  const Evaluation evaluation =
      *EvaluatePlan(request.model, request.cluster, request.training, plan);
  return OtherSchedules(request, rules, plan, evaluation, kLeastGain);
}

int CountChunks(const std::vector<PipelinePlan>& plans, int chunks) {
  return static_cast<int>(absl::c_count_if(plans, [&](const PipelinePlan& p) {
    return p.schedule == PipelineSchedule::kInterleaved &&
           p.virtual_stages == chunks;
  }));
}

TEST(OtherSchedulesTest, AreZbH1AndChunksOfDivisorsOfTheLayers) {
  const std::vector<PipelinePlan> plans = SchedulesOf(TwoGpus());
  EXPECT_EQ(absl::c_count_if(plans,
                             [](const PipelinePlan& p) {
                               return p.schedule ==
                                      PipelineSchedule::kZeroBubbleH1;
                             }),
            1);
  // 2 and 4 divide 8 and 4. 8 is more than the second stage has. With a layer
  // less in the first stage, the three remainders differ. Two chunks that take
  // as long each have other cuts.
  EXPECT_EQ(CountChunks(plans, 2), 5);
  EXPECT_EQ(CountChunks(plans, 3), 0);
  EXPECT_EQ(CountChunks(plans, 4), 4);
  EXPECT_EQ(CountChunks(plans, 8), 0);
}

// The first of two stages is the slower one. It waits for the first gradient,
// and could run forward passes meanwhile.
TEST(OtherSchedulesTest, HaveMoreWarmUpPassesForAnEarlySlowStage) {
  const auto warm_ups = [](int cut) {
    PipelinePlan plan = TwoStages();
    plan.stages[0].plan.end = plan.stages[1].plan.begin = {cut, 0};
    plan.stages[0].plan.recompute = {{cut, kRecomputeNone}};
    plan.stages[1].plan.recompute = {{kScheduledLayers - cut, kRecomputeNone}};
    std::vector<std::vector<int>> found;
    for (const PipelinePlan& other : SchedulesOf(TwoGpus(1e15), {}, plan)) {
      if (!other.warm_up_passes.empty()) found.push_back(other.warm_up_passes);
    }
    return found;
  };
  EXPECT_THAT(warm_ups(9), ElementsAre(ElementsAre(3, 1), ElementsAre(4, 1)));
  // The last stage never waits for a gradient.
  EXPECT_THAT(warm_ups(4), IsEmpty());
}

TEST(OtherSchedulesTest, HaveMoreWarmUpPassesWhereTheLinkIsSlow) {
  const std::vector<PipelinePlan> plans = SchedulesOf(TwoGpus(1e9));
  EXPECT_TRUE(absl::c_any_of(plans, [](const PipelinePlan& plan) {
    return plan.warm_up_passes.size() == 2 && plan.warm_up_passes[0] > 2;
  }));
}

TEST(OtherSchedulesTest, AreThoseThatTheRuntimeRuns) {
  constexpr Runtime kPlain = {.name = "plain"};
  EXPECT_THAT(SchedulesOf(TwoGpus(1e9), {.runtime = &kPlain}), IsEmpty());
  constexpr Runtime kChunks = {.name = "chunks", .interleaved = true};
  const std::vector<PipelinePlan> plans =
      SchedulesOf(TwoGpus(1e9), {.runtime = &kChunks});
  EXPECT_THAT(plans, ::testing::Not(IsEmpty()));
  EXPECT_EQ(CountChunks(plans, 2) + CountChunks(plans, 4),
            static_cast<int>(plans.size()));
}

TEST(OtherSchedulesTest, AreGpipeForARuntimeThatSetsNoWarmUpPasses) {
  constexpr Runtime kAllFirst = {.name = "all first", .gpipe = true};
  const std::vector<PipelinePlan> plans =
      SchedulesOf(TwoGpus(1e9), {.runtime = &kAllFirst});
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans.front().schedule, PipelineSchedule::kGpipe);
  EXPECT_EQ(plans.front().stages, TwoStages().stages);
}

TEST(OtherSchedulesTest, AreNoneWhereNothingCanBeSaved) {
  PlanRequest request = TwoGpus();
  // 2^16 microbatches: the bubble is 2^-16 of the time.
  request.training.global_batch_size = 1 << 18;
  EXPECT_THAT(SchedulesOf(request), IsEmpty());
  request = TwoGpus();
  request.training.blocking_transfers = true;
  EXPECT_THAT(SchedulesOf(request), IsEmpty());
  PipelinePlan plan = TwoStages();
  plan.schedule = PipelineSchedule::kGpipe;
  EXPECT_THAT(SchedulesOf(TwoGpus(), {}, plan), IsEmpty());
}

TEST(OtherSchedulesTest, KeepTheConstraints) {
  PlanRequest request = TwoGpus();
  request.constraints.pins = {{.first_layer = 0, .island = "0"}};
  for (const PipelinePlan& plan : SchedulesOf(request)) {
    EXPECT_EQ(plan.virtual_stages, 1);
  }
}

TEST(OtherSchedulesTest, ChunksAreNoMoreStages) {
  PlanRequest request = TwoGpus();
  const int chunks = CountChunks(SchedulesOf(request), 2);
  request.constraints.max_stages = {{.value = 2}};
  EXPECT_EQ(CountChunks(SchedulesOf(request), 2), chunks);
}

}  // namespace
}  // namespace tangram
