#include "common/cost/measured_layer.h"

#include <set>
#include <vector>

#include "common/cost/stage_cost.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

constexpr int kOpCount = 10;
constexpr OpMask kEveryOp = (1u << kOpCount) - 1;
constexpr OpMask kCoreOnly = 1u << 2;

const std::vector<MeasuredLayer> kTwoBatches = {
    {.samples = 2, .forward_s = 1, .backward_s = 2, .saved_bytes = 10},
    {.samples = 6, .forward_s = 3, .backward_s = 8, .saved_bytes = 50}};

TEST(InterpolateSamplesTest, IsTheMeasurementAtAMeasuredSize) {
  const auto times = InterpolateSamples(kTwoBatches, 6);
  ASSERT_TRUE(times.has_value());
  EXPECT_DOUBLE_EQ(times->forward_s, 3);
  EXPECT_DOUBLE_EQ(times->backward_s, 8);
  EXPECT_EQ(times->saved_bytes, 50);
}

TEST(InterpolateSamplesTest, IsLinearBetweenTwoSizes) {
  const auto times = InterpolateSamples(kTwoBatches, 4);
  ASSERT_TRUE(times.has_value());
  EXPECT_DOUBLE_EQ(times->forward_s, 2);
  EXPECT_DOUBLE_EQ(times->backward_s, 5);
  EXPECT_EQ(times->saved_bytes, 30);
}

TEST(InterpolateSamplesTest, GoesOnAtTheLastSlope) {
  const auto times = InterpolateSamples(kTwoBatches, 8);
  ASSERT_TRUE(times.has_value());
  EXPECT_DOUBLE_EQ(times->forward_s, 4);    // 3 + 2 · 2/4
  EXPECT_DOUBLE_EQ(times->backward_s, 11);  // 8 + 2 · 6/4
  EXPECT_EQ(times->saved_bytes, 70);        // 50 + 2 · 40/4
}

TEST(InterpolateSamplesTest, NeverFallsBeyondTheLargest) {
  const std::vector<MeasuredLayer> falling = {{.samples = 1, .forward_s = 3},
                                              {.samples = 2, .forward_s = 2}};
  EXPECT_DOUBLE_EQ(InterpolateSamples(falling, 4)->forward_s, 2);
}

TEST(InterpolateSamplesTest, ABatchIsNotSlowerThanALargerOne) {
  const std::vector<MeasuredLayer> disturbed = {
      {.samples = 1, .forward_s = 5, .backward_s = 1},
      {.samples = 2, .forward_s = 3, .backward_s = 2}};
  EXPECT_DOUBLE_EQ(InterpolateSamples(disturbed, 1)->forward_s, 3);
  EXPECT_DOUBLE_EQ(InterpolateSamples(disturbed, 1)->backward_s, 1);
}

TEST(InterpolateSamplesTest, KnowsNothingBelowTheSmallestOrAroundTheOnlyOne) {
  EXPECT_FALSE(InterpolateSamples(kTwoBatches, 1).has_value());
  const absl::Span<const MeasuredLayer> one(kTwoBatches.data(), 1);
  EXPECT_TRUE(InterpolateSamples(one, 2).has_value());
  EXPECT_FALSE(InterpolateSamples(one, 1).has_value());
  EXPECT_FALSE(InterpolateSamples(one, 4).has_value());
}

// A dense layer of a stage, for a microbatch of 2 samples on one replica.
struct Setting {
  LayerSpec layer = testing::TestModel(1).layers[1];
  DeviceSpec device = testing::TestDevice();
  TrainingOptions training = testing::TestTraining();
  IslandSpec island = testing::TestIsland(2, 4);
  StageParallelism parallelism;
  int microbatch = 2;

  StageEnvironment Environment() const {
    return {device, training, WiringOf(island, parallelism.num_gpus()),
            microbatch};
  }
  LayerCost Estimate(OpMask mask = kRecomputeNone, int begin = 0,
                     int end = kOpCount) const {
    return EstimateLayer(layer, {begin, end, mask}, parallelism, Environment());
  }
  // Forgets the measurements.
  LayerCost Modelled(OpMask mask = kRecomputeNone) const {
    Setting plain = *this;
    plain.device.measured_layers = {};
    return plain.Estimate(mask);
  }
  void Measure(MeasuredLayer measured) {
    measured.key = LayerMeasurementKey(layer, parallelism, training,
                                       device.supports_flash_attention);
    std::vector<MeasuredLayer> layers = device.measured_layers.list();
    layers.push_back(measured);
    device.measured_layers = std::move(layers);
  }
};

TEST(MeasuredLayerTest, ReplacesTheWholeLayersTime) {
  Setting setting;
  setting.Measure({.samples = 2, .forward_s = 4, .backward_s = 6});
  const LayerCost cost = setting.Estimate();
  EXPECT_DOUBLE_EQ(cost.forward_s, 4);
  EXPECT_DOUBLE_EQ(cost.backward_s, 6);
  EXPECT_DOUBLE_EQ(cost.measured_s, 10);
  EXPECT_EQ(cost.comm_s, 0);
}

TEST(MeasuredLayerTest, RecomputingItAllAddsTheForwardTime) {
  Setting setting;
  setting.Measure({.samples = 2, .forward_s = 4, .backward_s = 6});
  const LayerCost cost = setting.Estimate(kEveryOp);
  EXPECT_DOUBLE_EQ(cost.forward_s, 4);
  EXPECT_DOUBLE_EQ(cost.backward_s, 10);
  EXPECT_DOUBLE_EQ(cost.recompute_s, 4);
  EXPECT_DOUBLE_EQ(cost.measured_s, 14);
}

TEST(MeasuredLayerTest, RecomputingPartOfItAddsTheModelsShare) {
  Setting setting;
  setting.Measure({.samples = 2, .forward_s = 4, .backward_s = 6});
  const LayerCost modelled = setting.Modelled(kCoreOnly);
  EXPECT_DOUBLE_EQ(setting.Estimate(kCoreOnly).recompute_s,
                   4 * modelled.recompute_s / modelled.forward_s);
}

TEST(MeasuredLayerTest, IsTheSumOfItsParts) {
  Setting setting;
  setting.Measure({.samples = 2, .forward_s = 4, .backward_s = 6});
  const LayerCost first = setting.Estimate(kRecomputeNone, 0, 5);
  const LayerCost second = setting.Estimate(kRecomputeNone, 5, kOpCount);
  EXPECT_GT(first.forward_s, 0);
  EXPECT_GT(second.forward_s, 0);
  EXPECT_DOUBLE_EQ(first.forward_s + second.forward_s, 4);
  EXPECT_DOUBLE_EQ(first.measured_s + second.measured_s, 10);
}

TEST(MeasuredLayerTest, OperatorsAreTheSameTogetherAndOneByOne) {
  Setting setting;
  setting.Measure({.samples = 2, .forward_s = 4, .backward_s = 6});
  const std::vector<OperatorCost> together = EstimateOperators(
      setting.layer, setting.parallelism, setting.Environment());
  ASSERT_EQ(together.size(), kOpCount);
  double forward_s = 0;
  for (int i = 0; i < kOpCount; ++i) {
    const OperatorCost one =
        EstimateOperator(setting.layer, OperatorsOf(setting.layer)[i],
                         setting.parallelism, setting.Environment());
    EXPECT_EQ(together[i].forward_s, one.forward_s);
    EXPECT_EQ(together[i].saved_bytes, one.saved_bytes);
    forward_s += together[i].forward_s;
  }
  EXPECT_DOUBLE_EQ(forward_s, 4);
}

TEST(MeasuredLayerTest, AddsModelledCollectivesUnlessTheyAreIncluded) {
  Setting setting;
  setting.parallelism.tp_degree = 2;
  const LayerCost modelled = setting.Modelled();
  ASSERT_GT(modelled.comm_s, 0);

  Setting apart = setting;
  apart.Measure({.samples = 2, .forward_s = 4, .backward_s = 6});
  EXPECT_DOUBLE_EQ(apart.Estimate().comm_s, modelled.comm_s);
  EXPECT_DOUBLE_EQ(apart.Estimate().measured_s, 10);
  EXPECT_DOUBLE_EQ(apart.Estimate().forward_s + apart.Estimate().backward_s,
                   10 + modelled.comm_s);

  Setting within = setting;
  within.Measure({.samples = 2,
                  .forward_s = 4,
                  .backward_s = 6,
                  .collectives_included = true});
  const LayerCost cost = within.Estimate();
  EXPECT_DOUBLE_EQ(cost.forward_s, 4);
  EXPECT_DOUBLE_EQ(cost.backward_s, 6);
  EXPECT_GT(cost.comm_s, 0);
  EXPECT_DOUBLE_EQ(cost.measured_s + cost.comm_s, 10);
}

TEST(MeasuredLayerTest, WithCollectivesCountsInsideANodeOnly) {
  Setting setting;
  setting.parallelism.tp_degree = 8;
  setting.Measure({.samples = 2,
                   .forward_s = 4,
                   .backward_s = 6,
                   .collectives_included = true});
  EXPECT_EQ(setting.Estimate().measured_s, 0);
  EXPECT_DOUBLE_EQ(setting.Estimate().forward_s, setting.Modelled().forward_s);
}

TEST(MeasuredLayerTest, BelowTheSmallestFollowsTheModel) {
  Setting at_four;
  at_four.microbatch = 4;
  Setting setting;
  setting.Measure({.samples = 4, .forward_s = 4, .backward_s = 6});
  EXPECT_DOUBLE_EQ(
      setting.Estimate().forward_s,
      4 * setting.Modelled().forward_s / at_four.Modelled().forward_s);
}

TEST(MeasuredLayerTest, CountsTheSamplesOfOneReplica) {
  Setting setting;
  setting.Measure({.samples = 2, .forward_s = 4, .backward_s = 6});
  setting.parallelism.dp_degree = 3;
  setting.microbatch = 6;
  EXPECT_DOUBLE_EQ(setting.Estimate().forward_s, 4);
}

TEST(MeasuredLayerTest, LeavesOtherCutsAndOptionsToTheModel) {
  Setting measured;
  measured.Measure({.samples = 2, .forward_s = 4, .backward_s = 6});
  std::vector<Setting> others(5, measured);
  others[0].parallelism.tp_degree = 2;
  others[1].training.sequence_length *= 2;
  others[2].training.precision = Precision::kBf16;
  others[3].layer.hidden_size *= 2;
  others[4].training.flash_attention = false;
  for (const Setting& other : others) {
    EXPECT_EQ(other.Estimate().measured_s, 0);
    EXPECT_DOUBLE_EQ(other.Estimate().forward_s, other.Modelled().forward_s);
  }
  measured.layer.linear_bias = true;
  measured.layer.norm_bias = true;
  EXPECT_DOUBLE_EQ(measured.Estimate().forward_s, 4);
}

TEST(MeasuredLayerTest, ReplacesSavedBytes) {
  Setting setting;
  setting.Measure(
      {.samples = 2, .forward_s = 4, .backward_s = 6, .saved_bytes = 1e9});
  EXPECT_DOUBLE_EQ(setting.Estimate().activation_bytes, 1e9);
  // Recomputed, its input is kept, and all of it held while it is.
  const LayerCost recomputed = setting.Estimate(kEveryOp);
  EXPECT_DOUBLE_EQ(recomputed.activation_bytes,
                   setting.Modelled(kEveryOp).activation_bytes);
  EXPECT_DOUBLE_EQ(recomputed.transient_bytes, 1e9);
}

const MeasuredLayer kWithState = {.samples = 2,
                                  .forward_s = 4,
                                  .backward_s = 6,
                                  .optimizer_s = 3,
                                  .state_bytes = 7e9};

TEST(MeasuredLayerTest, ReplacesOptimizerAndState) {
  Setting setting;
  setting.Measure(kWithState);
  const auto stage_cost = [&] {
    LayerCost sum;
    AddLayers(setting.Estimate(), 2, sum);
    return StageCostOf(sum, setting.parallelism, setting.Environment());
  };
  EXPECT_NEAR(stage_cost().optimizer_s, 2 * 3, 1e-9);
  EXPECT_NEAR(stage_cost().memory.static_bytes, 2 * 7e9, 1);

  // ZeRO 1 over four replicas leaves each a quarter of the optimizer's work.
  setting.parallelism.dp_degree = 4;
  setting.parallelism.zero_stage = 1;
  setting.microbatch = 8;
  EXPECT_NEAR(stage_cost().optimizer_s, 2 * 3 / 4.0, 1e-9);
}

TEST(MeasuredLayerTest, PartsOfALayerShareItsOptimizerAndStateByParameters) {
  Setting setting;
  setting.Measure(kWithState);
  const double whole = setting.Estimate().parameters.dense;
  const int cut = 5;
  for (const auto& [begin, end] : {std::pair(0, cut), {cut, kOpCount}}) {
    const LayerCost part = setting.Estimate(kRecomputeNone, begin, end);
    const double share = part.parameters.dense / whole;
    ASSERT_GT(share, 0.1);
    const StageCost cost =
        StageCostOf(part, setting.parallelism, setting.Environment());
    EXPECT_NEAR(cost.optimizer_s, share * 3, 1e-9);
    EXPECT_NEAR(cost.memory.static_bytes, share * 7e9, 1);
  }
}

TEST(MeasuredLayerTest, StateBeyondTheModelIsOnTheHostInTheModelledShare) {
  for (const double state_bytes : {1000.0, 7e9}) {
    Setting setting;
    setting.Measure({.samples = 2,
                     .forward_s = 4,
                     .backward_s = 6,
                     .state_bytes = state_bytes});
    for (const double share : {0.0, 0.25, 1.0}) {
      const HostOffload offload = {
          .weights = share, .gradients = share, .optimizer = share};
      const StageMemory memory =
          StageCostOf(setting.Estimate(), setting.parallelism,
                      setting.Environment(), offload)
              .memory;
      EXPECT_NEAR(memory.static_bytes, (1 - share) * state_bytes, 1);
      EXPECT_NEAR(memory.host_static_bytes, share * state_bytes, 1);
    }
  }
}

TEST(MeasuredLayerTest, WithItsOperatorsMeasuredTooKeepsItsOwnTime) {
  Setting setting;
  setting.device.measured = {
      {.key = MeasurementKey(setting.layer, OpKind::kMlpUp, {}, 2,
                             setting.training),
       .forward_s = 1,
       .backward_s = 1}};
  ASSERT_GT(setting.Estimate().measured_s, 0);
  setting.Measure({.samples = 2, .forward_s = 4, .backward_s = 6});
  EXPECT_DOUBLE_EQ(setting.Estimate().forward_s, 4);
  EXPECT_DOUBLE_EQ(setting.Estimate().backward_s, 6);
}

TEST(LayerMeasurementKeyTest, DiffersWhereTheTimesDiffer) {
  const ModelSpec model = testing::TestModel(1);
  const LayerSpec& layer = model.layers[1];
  const LayerSpec moe = testing::TestMoeModel(1).layers[1];
  const TrainingOptions training = testing::TestTraining();
  const auto key = [&](const LayerSpec& l, const StageParallelism& p,
                       bool flash = false) {
    return LayerMeasurementKey(l, p, training, flash);
  };
  const std::set<Fingerprint> keys = {
      key(layer, {}),
      key(layer, {.tp_degree = 2}),
      key(layer, {.tp_degree = 2, .tp_y_degree = 2}),
      key(layer, {.cp_degree = 2}),
      key(layer, {.tp_degree = 2, .sequence_parallel = true}),
      key(layer, {}, true),
      key(model.layers[0], {}),
      key(moe, {}),
      key(moe, {.ep_degree = 2}),
      key(moe, {.ep_degree = 2, .fsep = true})};
  EXPECT_EQ(keys.size(), 10);
  // Neither replicas nor ZeRO change what one of them runs.
  EXPECT_EQ(key(layer, {}), key(layer, {.dp_degree = 4,
                                        .ep_degree = 2,
                                        .zero_stage = 3,
                                        .sequence_parallel = true}));
  EXPECT_EQ(key(model.layers[0], {}), key(model.layers[0], {}, true));
}

}  // namespace
}  // namespace tangram
