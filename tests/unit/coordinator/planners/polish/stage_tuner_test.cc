#include "coordinator/planners/polish/stage_tuner.h"

#include <algorithm>
#include <vector>

#include "common/base/infinity.h"
#include "common/domain/model_slice.h"
#include "common/domain/recompute_masks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

constexpr int kStageLayers = 8;
constexpr StageSetting kSetting = {
    .microbatch_size = 4, .num_microbatches = 8, .held = {.all = 3}};

// A node of four GPUs with so much memory.
PlanRequest OneNode(double memory_bytes, double host_bandwidth = 0) {
  DeviceSpec device = testing::TestDevice("GPU");
  device.memory_bytes = memory_bytes;
  device.host = {.bandwidth_bytes_per_s = host_bandwidth, .memory_bytes = 1e15};
  return {.cluster = testing::TestCluster(
              {{.name = "a", .gpus_per_node = 4, .device = device}}),
          .model = testing::TestModel(kStageLayers - 2),
          .training = testing::TestTraining(32)};
}

PipelinePlan OneStage(OpMask mask) {
  PlacedStage stage{.plan = {.end = {kStageLayers, 0},
                             .parallelism = {.dp_degree = 4},
                             .recompute = {{1, kRecomputeNone},
                                           {kStageLayers - 2, mask},
                                           {1, kRecomputeNone}}},
                    .gpus = {{0, 0}, {0, 1}, {0, 2}, {0, 3}}};
  return {.pipeline_microbatch_size = kSetting.microbatch_size,
          .stages = {stage}};
}

struct StageCosts {
  double seconds = 0;  // All passes, synchronisation and optimizer step.
  double peak_bytes = 0;
};

StageCosts CostsOf(const PlanRequest& request, const PlacedStage& stage) {
  StageEstimator estimator(request.model, request.cluster, request.training);
  const StageCost& cost = estimator.CostOf(stage, kSetting.microbatch_size);
  return {.seconds =
              kSetting.num_microbatches * (cost.forward_s + cost.backward_s) +
              cost.sync_s + cost.optimizer_s,
          .peak_bytes = cost.memory.PeakBytes(kSetting.held.all)};
}

// Calls `call` with each way to recompute no layer, the attention core or the
// whole of each of the six.
template <typename Call>
void ForAllMasks(const PlanRequest& request, const Call& call) {
  const LayerSpec& layer = request.model.layers[1];
  const OpMask masks[] = {kRecomputeNone, AttentionCoreMask(layer),
                          WholeLayerMask(layer)};
  for (int code = 0; code < 3 * 3 * 3 * 3 * 3 * 3; ++code) {
    PlacedStage stage = OneStage(kRecomputeNone).stages[0];
    stage.plan.recompute.clear();
    AppendMask(kRecomputeNone, stage.plan.recompute);
    for (int l = 0, rest = code; l < kStageLayers - 2; ++l, rest /= 3) {
      AppendMask(masks[rest % 3], stage.plan.recompute);
    }
    AppendMask(kRecomputeNone, stage.plan.recompute);
    call(stage);
  }
}

// Against enumeration, for every memory from too little to enough.
TEST(StageTunerTest, RecomputesNoMoreThanItMust) {
  double least_bytes = kInfinity;
  double most_bytes = 0;
  const PlanRequest vast = OneNode(1e15);
  ForAllMasks(vast, [&](const PlacedStage& stage) {
    const double bytes = CostsOf(vast, stage).peak_bytes;
    least_bytes = std::min(least_bytes, bytes);
    most_bytes = std::max(most_bytes, bytes);
  });
  for (int step = -1; step <= 21; ++step) {
    SCOPED_TRACE(step);
    const PlanRequest request =
        OneNode(least_bytes + step * (most_bytes - least_bytes) / 20);
    double best_s = kInfinity;
    ForAllMasks(request, [&](const PlacedStage& stage) {
      const StageCosts costs = CostsOf(request, stage);
      if (costs.peak_bytes > request.cluster->nodes[0].device.memory_bytes)
        return;
      best_s = std::min(best_s, costs.seconds);
    });
    const PipelineRules rules;
    const PipelinePlan plan = OneStage(kRecomputeNone);
    StageEstimator estimator(request.model, request.cluster, request.training);
    StageTuner tuner(request, rules, plan, estimator);
    PlacedStage stage = plan.stages[0];
    ASSERT_EQ(tuner.FitRecompute(kSetting, stage), best_s < kInfinity);
    if (best_s == kInfinity) {
      EXPECT_EQ(stage, plan.stages[0]);
      continue;
    }
    // Rounding aside: the time of a layer may be added in another order.
    EXPECT_LE(CostsOf(request, stage).seconds, best_s * 1.002);
    EXPECT_LE(CostsOf(request, stage).peak_bytes,
              request.cluster->nodes[0].device.memory_bytes);
  }
}

TEST(StageTunerTest, KeepsStateOnAFastHostRatherThanRecompute) {
  const PlanRequest vast = OneNode(1e15, 1e15);
  const PipelinePlan plan = OneStage(kRecomputeNone);
  const double bytes = CostsOf(vast, plan.stages[0]).peak_bytes;
  const PlanRequest request = OneNode(0.9 * bytes, 1e15);
  StageEstimator estimator(request.model, request.cluster, request.training);
  const PipelineRules rules = {.stages = {.max_zero_stage = 0}};
  StageTuner tuner(request, rules, plan, estimator);
  PlacedStage stage = plan.stages[0];
  ASSERT_TRUE(tuner.Tune(kSetting, stage));
  EXPECT_FALSE(stage.plan.offload.none());
  EXPECT_EQ(stage.plan.recompute,
            std::vector<RecomputeRun>({{kStageLayers, kRecomputeNone}}));
}

TEST(StageTunerTest, LeavesTheHostAloneIfItsLinkIsUnknownOrNotAllowed) {
  const PipelinePlan plan = OneStage(kRecomputeNone);
  const double bytes = CostsOf(OneNode(1e15), plan.stages[0]).peak_bytes;
  const PipelineRules none = {.stages = {.no_offload = true}};
  for (const auto& [request, rules] :
       {std::pair(OneNode(0.9 * bytes), PipelineRules()),
        {OneNode(0.9 * bytes, 1e15), none}}) {
    StageEstimator estimator(request.model, request.cluster, request.training);
    StageTuner tuner(request, rules, plan, estimator);
    PlacedStage stage = plan.stages[0];
    ASSERT_TRUE(tuner.Tune(kSetting, stage));
    EXPECT_TRUE(stage.plan.offload.none());
  }
}

// All 3 microbatches wait for their weight gradients with all that the
// backward pass recomputed: recomputation saves nothing.
TEST(StageTunerTest, RecomputesInVainWhereAllWaitForWeightGradients) {
  const PipelinePlan plan = OneStage(kRecomputeNone);
  const double bytes = CostsOf(OneNode(1e15), plan.stages[0]).peak_bytes;
  const PlanRequest request = OneNode(0.95 * bytes);
  const PipelineRules rules;
  StageEstimator estimator(request.model, request.cluster, request.training);
  StageTuner tuner(request, rules, plan, estimator);
  StageSetting setting = kSetting;
  for (int waiting = 0; waiting <= 3; ++waiting) {
    SCOPED_TRACE(waiting);
    setting.held.before_weight_gradients = waiting;
    PlacedStage stage = plan.stages[0];
    EXPECT_EQ(tuner.FitRecompute(setting, stage), waiting < 3);
  }
}

// Another stage on the GPUs takes what this one could use.
TEST(StageTunerTest, LeavesTheMemoryOfOtherStagesAlone) {
  const PlanRequest vast = OneNode(1e15);
  const PipelinePlan plan = OneStage(kRecomputeNone);
  const double bytes = CostsOf(vast, plan.stages[0]).peak_bytes;
  const PlanRequest request = OneNode(2 * bytes);
  const PipelineRules rules;
  StageEstimator estimator(request.model, request.cluster, request.training);
  StageTuner tuner(request, rules, plan, estimator);
  StageSetting setting = kSetting;
  setting.taken_bytes = bytes;
  PlacedStage stage = plan.stages[0];
  ASSERT_TRUE(tuner.FitRecompute(setting, stage));
  EXPECT_EQ(stage.plan.recompute,
            std::vector<RecomputeRun>({{kStageLayers, kRecomputeNone}}));
  setting.taken_bytes = 1.05 * bytes;
  ASSERT_TRUE(tuner.FitRecompute(setting, stage));
  EXPECT_GT(stage.plan.recompute.size(), 1u);
  PlacedStage most = plan.stages[0];
  tuner.RecomputeMost(setting, most);
  const OpMask whole = WholeLayerMask(request.model.layers[1]);
  EXPECT_EQ(most.plan.recompute, OneStage(whole).stages[0].plan.recompute);
}

// A stage that is not the slowest takes more time for a shorter tail.
TEST(StageTunerTest, UsesTimeThatDelaysNothing) {
  const PlanRequest vast = OneNode(1e15, 1e9);
  PipelinePlan plan = OneStage(kRecomputeNone);
  plan.stages[0].plan.offload.optimizer = 1;
  const double bytes = CostsOf(vast, plan.stages[0]).peak_bytes;
  const PlanRequest request = OneNode(bytes, 1e9);
  StageEstimator estimator(request.model, request.cluster, request.training);
  const PipelineRules rules;
  StageTuner tuner(request, rules, plan, estimator);
  const auto tail_s = [&](const PlacedStage& stage) {
    const StageCost& cost = estimator.CostOf(stage, kSetting.microbatch_size);
    return cost.sync_s + cost.optimizer_s;
  };
  PlacedStage fast = plan.stages[0];
  ASSERT_TRUE(tuner.Tune(kSetting, fast));
  StageSetting beside = kSetting;
  beside.free_pass_s = 1e3;
  PlacedStage idle = plan.stages[0];
  ASSERT_TRUE(tuner.Tune(beside, idle));
  EXPECT_LT(tail_s(idle), tail_s(plan.stages[0]));
  EXPECT_LE(tail_s(idle), tail_s(fast));
}

}  // namespace
}  // namespace tangram
