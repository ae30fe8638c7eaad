#include "coordinator/planners/polish/polish_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/infinity.h"
#include "common/cost/measured_layer.h"
#include "coordinator/planners/polish/polish_result.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::StatusIs;

constexpr int kLayers = 12;

constexpr double kLinkBytesPerSecond = 100e9;

// Two or three GPUs, the second half as fast as the first.
PlanRequest UnlikeGpus(int num_gpus, double memory_bytes = 1e15,
                       double between_bytes_per_s = kLinkBytesPerSecond) {
  std::vector<testing::TestGroup> groups;
  for (int g = 0; g < num_gpus; ++g) {
    DeviceSpec device = testing::TestDevice("GPU");
    device.memory_bytes = memory_bytes;
    if (g == 1) device.peak_flops.fp16 /= 2;
    groups.push_back({.name = std::string(1, static_cast<char>('a' + g)),
                      .gpus_per_node = 1,
                      .device = device});
  }
  return {.cluster = testing::TestCluster(groups, between_bytes_per_s),
          .model = testing::TestModel(kLayers - 2),
          .training = testing::TestTraining(16)};
}

// One stage on each GPU, cut before these layers.
PipelinePlan PlanOf(const std::vector<int>& cuts, OpMask mask) {
  PipelinePlan plan{.pipeline_microbatch_size = 1};
  for (size_t s = 0; s <= cuts.size(); ++s) {
    const int begin = s == 0 ? 0 : cuts[s - 1];
    const int end = s == cuts.size() ? kLayers : cuts[s];
    PlacedStage stage{.plan = {.begin = {begin, 0}, .end = {end, 0}},
                      .gpus = {{.node = static_cast<int>(s)}},
                      .island = static_cast<int>(s)};
    for (int layer = begin; layer < end; ++layer) {
      const bool is_end = layer == 0 || layer == kLayers - 1;
      stage.plan.recompute.push_back({1, is_end ? kRecomputeNone : mask});
    }
    plan.stages.push_back(stage);
  }
  return plan;
}

Evaluation Play(const PlanRequest& request, const PipelinePlan& plan) {
  return *EvaluatePlan(request.model, request.cluster, request.training, plan);
}

PolishedPlan Polish(const PlanRequest& request, const PipelineRules& rules,
                    const PipelinePlan& plan, Reach reach = Reach::kNear) {
  testing::SilentObserver observer;
  return *PolishPlan(request, rules, reach, {plan, Play(request, plan)},
                     observer);
}

constexpr Runtime kCutsLayers = {.name = "layers"};

TEST(PolishPlanTest, FindsTheBestCutBetweenLayers) {
  const PlanRequest request = UnlikeGpus(2);
  double best_s = kInfinity;
  for (int cut = 1; cut < kLayers; ++cut) {
    best_s = std::min(
        best_s, Play(request, PlanOf({cut}, kRecomputeNone)).iteration_time_s);
  }
  for (int cut = 1; cut < kLayers; ++cut) {
    SCOPED_TRACE(cut);
    const PolishedPlan polished = Polish(request, {.runtime = &kCutsLayers},
                                         PlanOf({cut}, kRecomputeNone));
    EXPECT_DOUBLE_EQ(polished.evaluation.iteration_time_s, best_s);
    EXPECT_EQ(polished.plan.stages[0].plan.end.op, 0);
  }
}

TEST(PolishPlanTest, ComesNearTheBestTwoCuts) {
  const PlanRequest request = UnlikeGpus(3);
  double best_s = kInfinity;
  for (int a = 1; a < kLayers; ++a) {
    for (int b = a + 1; b < kLayers; ++b) {
      best_s = std::min(
          best_s,
          Play(request, PlanOf({a, b}, kRecomputeNone)).iteration_time_s);
    }
  }
  const PolishedPlan polished = Polish(request, {.runtime = &kCutsLayers},
                                       PlanOf({1, 10}, kRecomputeNone));
  EXPECT_LE(polished.evaluation.iteration_time_s, best_s * 1.01);
}

TEST(PolishPlanTest, CutsInsideLayersWhereNoRuntimeForbidsIt) {
  const PlanRequest request = UnlikeGpus(2);
  const double layers_s =
      Polish(request, {.runtime = &kCutsLayers}, PlanOf({6}, kRecomputeNone))
          .evaluation.iteration_time_s;
  EXPECT_LT(Polish(request, {}, PlanOf({6}, kRecomputeNone))
                .evaluation.iteration_time_s,
            layers_s);
}

TEST(PolishPlanTest, RecomputesOnlyWhatTheMemoryNeeds) {
  PlanRequest request = UnlikeGpus(2);
  const OpMask whole =
      (OpMask{1} << OperatorsOf(request.model.layers[1]).size()) - 1;
  const PipelinePlan plan = PlanOf({6}, whole);
  const PolishedPlan free = Polish(request, {}, plan);
  for (const PlacedStage& stage : free.plan.stages) {
    for (const RecomputeRun& run : stage.plan.recompute) {
      EXPECT_EQ(run.mask, kRecomputeNone);
    }
  }
  // Memory between that with and that without recomputation.
  const double most = Play(request, plan).stages[0].peak_bytes;
  const double all =
      Play(request, PlanOf({6}, kRecomputeNone)).stages[0].peak_bytes;
  request = UnlikeGpus(2, (most + all) / 2);
  const PolishedPlan tight = Polish(request, {}, plan);
  EXPECT_THAT(tight.evaluation.violations, ::testing::IsEmpty());
  EXPECT_LT(tight.evaluation.iteration_time_s,
            Play(request, plan).iteration_time_s);
  EXPECT_GE(tight.evaluation.iteration_time_s,
            free.evaluation.iteration_time_s);
}

// Stages of one GPU on a cluster where all of them make good replicas.
TEST(PolishPlanTest, FarAwayIsAnotherNumberOfStages) {
  const PlanRequest request = {
      .cluster = testing::TestCluster({{.name = "a",
                                        .gpus_per_node = 4,
                                        .device = testing::TestDevice("GPU")}},
                                      1e12),
      .model = testing::TestModel(kLayers - 2),
      .training = testing::TestTraining(16)};
  PipelinePlan plan = PlanOf({3, 6, 9}, kRecomputeNone);
  for (int s = 0; s < 4; ++s) {
    plan.stages[s].gpus = {{0, s}};
    plan.stages[s].island = 0;
  }
  const PolishedPlan near = Polish(request, {}, plan);
  const PolishedPlan far = Polish(request, {}, plan, Reach::kFar);
  EXPECT_EQ(near.plan.num_stages(), 4);
  EXPECT_LT(far.plan.num_stages(), 4);
  EXPECT_LT(far.evaluation.iteration_time_s,
            near.evaluation.iteration_time_s * 0.95);
  EXPECT_EQ(far.plan, Polish(request, {}, plan, Reach::kFar).plan);
}

// Equal stages on all GPUs of an island, with nothing recomputed.
PipelinePlan EqualStages(int num_stages, int num_layers, int gpus_each,
                         int gpus_per_node, StageParallelism degrees) {
  PipelinePlan plan{.pipeline_microbatch_size = degrees.dp_degree};
  for (int s = 0; s < num_stages; ++s) {
    const int begin = s * num_layers / num_stages;
    const int end = (s + 1) * num_layers / num_stages;
    PlacedStage& stage = plan.stages.emplace_back(
        PlacedStage{.plan = {.begin = {begin, 0},
                             .end = {end, 0},
                             .parallelism = degrees,
                             .recompute = {{end - begin, kRecomputeNone}}}});
    for (int g = 0; g < gpus_each; ++g) {
      const int gpu = s * gpus_each + g;
      stage.gpus.push_back({gpu / gpus_per_node, gpu % gpus_per_node});
    }
  }
  return plan;
}

// Links are so slow that eight stages of one GPU are faster than four of two.
// The first then holds eight microbatches. With as many layers as the others it
// would recompute most of them, and take too long to climb from there.
TEST(PolishPlanTest, LayersAreSpreadAgainWhereALeapLacksMemory) {
  constexpr int kGpus = 8;
  constexpr int kManyLayers = 18;
  const auto request_with = [](double memory_bytes) {
    DeviceSpec device = testing::TestDevice("GPU");
    device.memory_bytes = memory_bytes;
    return PlanRequest{.cluster = testing::TestCluster({{.name = "a",
                                                         .num_nodes = kGpus,
                                                         .gpus_per_node = 1,
                                                         .device = device}}),
                       .model = testing::TestModel(kManyLayers - 2),
                       .training = testing::TestTraining(64)};
  };
  const PipelinePlan plan =
      EqualStages(4, kManyLayers, 2, /*gpus_per_node=*/1, {.tp_degree = 2});
  const double bytes = Play(request_with(1e15), plan).stages.front().peak_bytes;
  const PlanRequest tight = request_with(1.45 * bytes);
  const PolishedPlan far =
      Polish(tight, {.runtime = &kCutsLayers}, plan, Reach::kFar);
  const PolishedPlan ample =
      Polish(request_with(1e15), {.runtime = &kCutsLayers}, plan, Reach::kFar);
  EXPECT_EQ(far.plan.num_stages(), kGpus);
  EXPECT_LT(far.evaluation.iteration_time_s,
            ample.evaluation.iteration_time_s * 1.2);
}

// Many plans are nearly as fast, so that there are always leaps to new ones.
// The runtime is asked about each that might do.
TEST(PolishPlanTest, LeapsEndAfterAFewRoundsInVain) {
  constexpr int kGpus = 16;
  constexpr int kManyLayers = 24;
  const PlanRequest request = {
      .cluster = testing::TestCluster({{.name = "a",
                                        .gpus_per_node = kGpus,
                                        .device = testing::TestDevice("GPU")}}),
      .model = testing::TestModel(kManyLayers - 2),
      .training = testing::TestTraining(16)};
  int num_asked = 0;
  const PipelineRules asks = {
      .runtime = &kCutsLayers,
      .fit = [&](const PlanRequest&,
                 const PipelinePlan& plan) -> absl::StatusOr<PipelinePlan> {
        ++num_asked;
        return plan;
      }};
  Polish(request, asks,
         EqualStages(2, kManyLayers, kGpus / 2, kGpus, {.dp_degree = 8}),
         Reach::kFar);
  // Nearly twice as many if leaps went on while they lead to new plans.
  EXPECT_LT(num_asked, 550);
}

// Few microbatches, so that half of the time of 1F1B is a bubble.
TEST(PolishPlanTest, OtherSchedulesFillTheBubble) {
  PlanRequest request = UnlikeGpus(3);
  request.training = testing::TestTraining(4);
  const PipelinePlan plan = PlanOf({4, 7}, kRecomputeNone);
  // Degrees of one GPU have no leaps but other microbatches and orders.
  const PolishedPlan far = Polish(request, {}, plan, Reach::kFar);
  EXPECT_EQ(far.plan.schedule, PipelineSchedule::kOneFOneB);
  EXPECT_FALSE(far.one_f_one_b_s.has_value());
  const PolishedPlan best = Polish(request, {}, plan, Reach::kSchedules);
  EXPECT_NE(best.plan.schedule, PipelineSchedule::kOneFOneB);
  EXPECT_EQ(best.one_f_one_b_s, far.evaluation.iteration_time_s);
  EXPECT_LT(best.evaluation.iteration_time_s,
            far.evaluation.iteration_time_s * 0.95);
  EXPECT_EQ(best.evaluation.iteration_time_s,
            Play(request, best.plan).iteration_time_s);
  EXPECT_EQ(best.plan, Polish(request, {}, plan, Reach::kSchedules).plan);
  // A runtime of 1F1B alone has the plan that it runs.
  EXPECT_EQ(
      Polish(request, {.runtime = &kCutsLayers}, plan, Reach::kSchedules).plan,
      Polish(request, {.runtime = &kCutsLayers}, plan, Reach::kFar).plan);
}

// The same with chunks, for each memory that leaves some room.
TEST(PolishPlanTest, ChunksOfADeviceShareItsMemory) {
  constexpr Runtime kChunks = {.name = "chunks", .interleaved = true};
  PlanRequest request = UnlikeGpus(2);
  request.training = testing::TestTraining(4);
  const PipelinePlan plan = PlanOf({7}, kRecomputeNone);
  const double bytes = Play(request, plan).stages[0].peak_bytes;
  double last_s = kInfinity;
  for (const double memory_bytes : {1.01 * bytes, 1.2 * bytes, 2 * bytes}) {
    request = UnlikeGpus(2, memory_bytes);
    request.training = testing::TestTraining(4);
    const PolishedPlan best =
        Polish(request, {.runtime = &kChunks}, plan, Reach::kSchedules);
    EXPECT_THAT(Play(request, best.plan).violations, ::testing::IsEmpty());
    EXPECT_LE(best.evaluation.iteration_time_s, last_s * 1.01);
    last_s = best.evaluation.iteration_time_s;
    EXPECT_EQ(best.plan.schedule, PipelineSchedule::kInterleaved);
  }
}

// A link over which an activation takes as long as a stage.
TEST(PolishPlanTest, WarmUpPassesHideASlowLink) {
  PlanRequest request = UnlikeGpus(2);
  const PipelinePlan plan = PlanOf({7}, kRecomputeNone);
  const StageEvaluation stage = Play(request, plan).stages[0];
  const double slowdown = (stage.forward_s + stage.backward_s) / stage.send_s;
  request = UnlikeGpus(2, 1e15, kLinkBytesPerSecond / slowdown);
  request.training = testing::TestTraining(64);
  const PolishedPlan far = Polish(request, {}, plan, Reach::kFar);
  const PolishedPlan best = Polish(request, {}, plan, Reach::kSchedules);
  ASSERT_EQ(best.plan.warm_up_passes.size(), 2u);
  EXPECT_GT(best.plan.warm_up_passes[0], 2);
  EXPECT_LT(best.evaluation.iteration_time_s,
            far.evaluation.iteration_time_s * 0.98);
}

// Layers that take longer than the model says, measured at one batch size.
TEST(PolishPlanTest, DoesNotLeaveMeasuredTimesForModelledOnes) {
  PlanRequest request = UnlikeGpus(2);
  const PipelinePlan plan = PlanOf({3}, kRecomputeNone);
  const double modelled_s = Play(request, plan).iteration_time_s;
  Cluster cluster = *request.cluster;
  for (Node& node : cluster.nodes) {
    const Fingerprint key =
        LayerMeasurementKey(request.model.layers[1], {}, request.training,
                            node.device.supports_flash_attention);
    node.device.measured_layers = {
        {.key = key, .samples = 1, .forward_s = 1, .backward_s = 2}};
  }
  request.cluster = std::move(cluster);
  ASSERT_GT(Play(request, plan).iteration_time_s, 10 * modelled_s);
  const PolishedPlan far = Polish(request, {}, plan, Reach::kFar);
  EXPECT_LT(far.evaluation.iteration_time_s,
            Play(request, plan).iteration_time_s);
  EXPECT_GT(far.evaluation.iteration_time_s, 10 * modelled_s);
  EXPECT_GT(far.evaluation.measured_fraction, 0.95);
}

TEST(PolishPlanTest, PinnedLayersStayOnTheirIslands) {
  PlanRequest request = UnlikeGpus(2);
  request.constraints.pins = {{.first_layer = 0, .island = "0"}};
  const PipelinePlan plan = PlanOf({2}, kRecomputeNone);
  EXPECT_EQ(Polish(request, {}, plan).plan, plan);
  for (const PlacedStage& stage :
       Polish(request, {}, plan, Reach::kFar).plan.stages) {
    EXPECT_EQ(stage.island, stage.plan.begin.layer < 2 ? 0 : 1);
  }
}

TEST(PolishPlanTest, TheRuntimeHasTheLastWord) {
  const PlanRequest request = UnlikeGpus(2);
  const PipelinePlan plan = PlanOf({2}, kRecomputeNone);
  const PipelineRules refuses = {
      .fit = [](const PlanRequest&,
                const PipelinePlan&) -> absl::StatusOr<PipelinePlan> {
        return absl::InvalidArgumentError("no");
      }};
  EXPECT_EQ(Polish(request, refuses, plan, Reach::kFar).plan, plan);
  // This one cuts in the middle, whatever it is given.
  const PipelinePlan middle = PlanOf({6}, kRecomputeNone);
  const PipelineRules fixed = {
      .fit = [&](const PlanRequest&,
                 const PipelinePlan&) -> absl::StatusOr<PipelinePlan> {
        return middle;
      }};
  EXPECT_EQ(Polish(request, fixed, plan, Reach::kFar).plan, middle);
}

// A runtime that makes the present plan of every other one. Then no change
// helps, and several kinds of change lead to the same plan.
TEST(PolishPlanTest, TriesNoPlanTwiceInVain) {
  const PlanRequest request = UnlikeGpus(3);
  const PipelinePlan plan = PlanOf({2, 4}, kRecomputeNone);
  std::vector<PipelinePlan> tried;
  const PipelineRules keeps = {
      .fit = [&](const PlanRequest&,
                 const PipelinePlan& other) -> absl::StatusOr<PipelinePlan> {
        EXPECT_THAT(tried, ::testing::Not(::testing::Contains(other)));
        tried.push_back(other);
        return plan;
      }};
  EXPECT_EQ(Polish(request, keeps, plan).plan, plan);
  EXPECT_GT(tried.size(), 1u);
}

TEST(PolishPlanTest, StopsWhenTold) {
  const PlanRequest request = UnlikeGpus(2);
  const PipelinePlan plan = PlanOf({2}, kRecomputeNone);
  testing::SilentObserver observer;
  observer.stop = true;
  EXPECT_THAT(
      PolishPlan(request, {}, Reach::kFar, {plan, Play(request, plan)},
                 observer)
          .status(),
      StatusIs(absl::StatusCode::kCancelled, ::testing::HasSubstr("stopped")));
}

TEST(PolishResultTest, KeepsTheBoundBelowThePlan) {
  const PlanRequest request = UnlikeGpus(2);
  PlanResult result{.plan = PlanOf({2}, kRecomputeNone)};
  result.evaluation = Play(request, *result.plan);
  const double before_s = result.evaluation.iteration_time_s;
  result.lower_bound_s = before_s * 0.999;
  testing::SilentObserver observer;
  ASSERT_TRUE(PolishResult(request, {}, Reach::kNear, observer, result).ok());
  EXPECT_LT(result.evaluation.iteration_time_s, before_s * 0.99);
  EXPECT_LE(result.lower_bound_s, result.evaluation.iteration_time_s);
  EXPECT_THAT(result.notes,
              ::testing::ElementsAre(::testing::HasSubstr("% faster")));
  PlanResult none;
  ASSERT_TRUE(PolishResult(request, {}, Reach::kNear, observer, none).ok());
  EXPECT_FALSE(none.plan.has_value());
}

}  // namespace
}  // namespace tangram
