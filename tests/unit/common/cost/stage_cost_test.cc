#include "common/cost/stage_cost.h"

#include <cmath>
#include <random>
#include <vector>

#include "common/cost/measured_layer.h"
#include "common/cost/pass_seconds.h"
#include "formats/catalogue/models.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::TestDevice;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::tangram::testing::TestTraining;
using ::tangram::testing::WholeSlice;

std::vector<LayerRun> RunsOf(const ModelSpec& model) {
  return WholeSlice(model).runs;
}

class StageCostTest : public ::testing::Test {
 protected:
  StageEnvironment Environment(const StageParallelism& p) {
    return {device_, training_, WiringOf(TestIsland(2, 4), p.num_gpus()), 8};
  }
  StageCost Estimate(const StagePlan& stage) {
    return EstimateStage(RunsOf(model_), stage, Environment(stage.parallelism));
  }
  LayerCost Layer(int layer, int begin, int end, OpMask mask = kRecomputeNone) {
    return EstimateLayer(model_.layers[layer], {begin, end, mask}, {},
                         Environment({}));
  }

  ModelSpec model_ = TestModel(4);
  DeviceSpec device_ = TestDevice();
  TrainingOptions training_ = TestTraining();
};

TEST_F(StageCostTest, SumsItsLayers) {
  LayerCost sum;
  AddLayers(Layer(0, 0, 1), 1, sum);
  AddLayers(Layer(1, 0, 10), 4, sum);
  AddLayers(Layer(5, 0, 2), 1, sum);
  const StageCost cost =
      Estimate({.begin = {0, 0}, .end = {6, 0}, .recompute = {{6, 0}}});
  EXPECT_DOUBLE_EQ(cost.forward_s, sum.forward_s);
  EXPECT_DOUBLE_EQ(cost.backward_s, sum.backward_s);
  EXPECT_DOUBLE_EQ(cost.memory.activation_bytes, sum.activation_bytes);
  // Logits of 8 samples, 512 tokens, 1,000 words in two bytes.
  EXPECT_DOUBLE_EQ(cost.memory.transient_bytes, 2.0 * 8 * 512 * 1000);
  EXPECT_DOUBLE_EQ(cost.memory.static_bytes, 16 * sum.parameters.dense);
}

// While layers run again, the logits of their microbatch are free.
TEST_F(StageCostTest, WhatTheHeadKeepsMakesRoomForRecomputation) {
  const OpMask all = WholeLayerMask(model_.layers[1]);
  const LayerCost layer = Layer(1, 0, 10, all);
  const LayerCost head = Layer(5, 0, 2);
  ASSERT_GT(layer.transient_bytes - head.activation_bytes,
            head.transient_bytes);

  const StageCost body =
      Estimate({.begin = {1, 0}, .end = {5, 0}, .recompute = {{4, all}}});
  const StageCost both =
      Estimate({.begin = {1, 0},
                .end = {6, 0},
                .recompute = {{4, all}, {1, kRecomputeNone}}});
  EXPECT_DOUBLE_EQ(body.memory.transient_bytes, layer.transient_bytes);
  EXPECT_DOUBLE_EQ(both.memory.transient_bytes,
                   layer.transient_bytes - head.activation_bytes);
  EXPECT_DOUBLE_EQ(both.memory.PeakBytes(1) - both.memory.static_bytes,
                   4 * layer.activation_bytes + layer.transient_bytes);
}

TEST_F(StageCostTest, APassWaitsForTheHostWhereThatIsSlower) {
  const StagePlan layers = {
      .begin = {1, 0}, .end = {5, 0}, .recompute = {{4, 0}}};
  StagePlan recomputed = layers;
  recomputed.recompute = {{4, (OpMask{1} << 10) - 1}};
  const StageCost device_bound = Estimate(layers);
  device_.efficiency.host_launch_s = 1;  // Slower than anything on the device.
  const StageCost host_bound = Estimate(layers);
  // Kernels of a layer: four for each of the four products, three for flash
  // attention, two for norms, residuals and activation.
  constexpr double kKernels = 4 * 4 + 3 + 5 * 2;
  EXPECT_DOUBLE_EQ(host_bound.forward_s, 4 * kKernels);
  EXPECT_DOUBLE_EQ(host_bound.backward_s, 4 * kKernels);
  EXPECT_DOUBLE_EQ(Estimate(recomputed).backward_s, 8 * kKernels);
  device_.efficiency.host_launch_s = 1e-12;
  EXPECT_DOUBLE_EQ(Estimate(layers).forward_s, device_bound.forward_s);
}

TEST(PassSecondsTest, HostAndDeviceThatAreAsSlowWaitForEachOther) {
  EXPECT_DOUBLE_EQ(PassSecondsOf(3, 3), 3 * std::pow(2, 1.0 / 8));
  EXPECT_DOUBLE_EQ(PassSecondsOf(4, 2), PassSecondsOf(2, 4));
  EXPECT_NEAR(PassSecondsOf(4, 2), 4, 0.01);
  EXPECT_EQ(PassSecondsOf(4, 0), 4);
  EXPECT_EQ(PassSecondsOf(0, 0), 0);
}

TEST_F(StageCostTest, FollowsCutsInsideLayersAndMasks) {
  LayerCost sum;
  AddLayers(Layer(1, 5, 10, 4), 1, sum);
  AddLayers(Layer(2, 0, 10, 4), 1, sum);
  AddLayers(Layer(3, 0, 10, 1023), 1, sum);
  AddLayers(Layer(4, 0, 2, 1023), 1, sum);
  const StageCost cost = Estimate(
      {.begin = {1, 5}, .end = {4, 2}, .recompute = {{2, 4}, {2, 1023}}});
  EXPECT_DOUBLE_EQ(cost.forward_s, sum.forward_s);
  EXPECT_DOUBLE_EQ(cost.backward_s, sum.backward_s);
  EXPECT_DOUBLE_EQ(cost.recompute_s, sum.recompute_s);
  EXPECT_DOUBLE_EQ(cost.memory.activation_bytes, sum.activation_bytes);
  EXPECT_DOUBLE_EQ(cost.memory.transient_bytes, sum.transient_bytes);
}

TEST_F(StageCostTest, MayLieInsideOneLayer) {
  const StageCost cost =
      Estimate({.begin = {2, 3}, .end = {2, 7}, .recompute = {{1, 0}}});
  EXPECT_DOUBLE_EQ(cost.forward_s, Layer(2, 3, 7).forward_s);
}

TEST_F(StageCostTest, ReserveDoesNotFragmentButTensorsDo) {
  const StagePlan stage = {
      .begin = {0, 0}, .end = {6, 0}, .recompute = {{6, 0}}};
  const StageMemory plain = Estimate(stage).memory;
  device_.efficiency.reserved_bytes = 1e9;
  device_.efficiency.fragmentation = 0.1;
  const StageMemory memory = Estimate(stage).memory;
  EXPECT_DOUBLE_EQ(memory.static_bytes, 1e9 + 1.1 * plain.static_bytes);
  // 16 bytes a parameter: 2 of weight, 2 of gradient, 12 of Adam.
  EXPECT_DOUBLE_EQ(memory.weight_bytes, 1.1 * plain.static_bytes * 2 / 16);
  EXPECT_DOUBLE_EQ(memory.gradient_bytes, 1.1 * plain.static_bytes * 2 / 16);
  EXPECT_DOUBLE_EQ(memory.optimizer_bytes, 1.1 * plain.static_bytes * 12 / 16);
  EXPECT_DOUBLE_EQ(memory.activation_bytes, 1.1 * plain.activation_bytes);
  EXPECT_DOUBLE_EQ(memory.transient_bytes, 1.1 * plain.transient_bytes);
  EXPECT_DOUBLE_EQ(memory.PeakBytes(3), memory.static_bytes +
                                            memory.transient_bytes +
                                            3 * memory.activation_bytes);
}

TEST_F(StageCostTest, MemoryCanBeHadAlone) {
  device_.efficiency.reserved_bytes = 1e9;
  device_.efficiency.fragmentation = 0.1;
  LayerCost sum;
  AddLayers(Layer(1, 0, 10), 4, sum);
  const StageParallelism sharded = {.dp_degree = 8, .zero_stage = 2};

  const StageMemory memory = StageMemoryOf(sum, sharded, Environment(sharded));

  const StageMemory expected =
      StageCostOf(sum, sharded, Environment(sharded)).memory;
  EXPECT_EQ(memory.static_bytes, expected.static_bytes);
  EXPECT_EQ(memory.activation_bytes, expected.activation_bytes);
  EXPECT_EQ(memory.transient_bytes, expected.transient_bytes);
}

TEST(StageCostOfBuiltinTest, CountsTheParametersOfGpt3) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, BuiltinModel("gpt3-6.7b"));
  EXPECT_GT(ParameterCount(model), 6.6e9);
  EXPECT_LT(ParameterCount(model), 6.9e9);
  const DeviceSpec device = TestDevice();
  const TrainingOptions training = TestTraining();
  const StagePlan stage = {.begin = {0, 0},
                           .end = {model.num_layers(), 0},
                           .recompute = {{model.num_layers(), 0}}};
  const StageCost cost =
      EstimateStage(RunsOf(model), stage,
                    {device, training, WiringOf(TestIsland(1, 1), 1), 1});
  // The head is tied, so its matrix is that of the embedding.
  EXPECT_TRUE(model.layers.back().tied_embeddings);
  EXPECT_NEAR(cost.memory.static_bytes / 16, ParameterCount(model), 1);
}

// A model of 4 layers whose embedding and head share a matrix.
class TiedStageCostTest : public StageCostTest {
 protected:
  TiedStageCostTest() { Tie(true); }

  void Tie(bool tied) {
    model_.layers.front().tied_embeddings = tied;
    model_.layers.back().tied_embeddings = tied;
  }
  // Layers [begin, end) on 8 GPUs.
  StageCost Stage(int begin, int end, int zero_stage = 0) {
    return Estimate({.begin = {begin, 0},
                     .end = {end, 0},
                     .parallelism = {.dp_degree = 8, .zero_stage = zero_stage},
                     .recompute = {{end - begin, 0}}});
  }
};

constexpr double kMatrix = 1000 * 1024;  // Vocabulary, hidden size.

TEST_F(TiedStageCostTest, AStageWithBothEndsHoldsTheMatrixOnce) {
  EXPECT_DOUBLE_EQ(Stage(0, 6).memory.static_bytes,
                   16 * ParameterCount(model_));
  // Each end on a stage of its own has one.
  EXPECT_DOUBLE_EQ(
      Stage(0, 3).memory.static_bytes + Stage(3, 6).memory.static_bytes,
      16 * (ParameterCount(model_) + kMatrix));
}

TEST_F(TiedStageCostTest, AStageWithBothEndsReducesAndStepsTheMatrixOnce) {
  const StageParallelism p = {.dp_degree = 8};
  const StageParameters once = {.dense = ParameterCount(model_)};
  const StageCost cost = Stage(0, 6);
  EXPECT_DOUBLE_EQ(cost.sync_s,
                   GradientSyncSeconds(once, {cost.forward_s, cost.backward_s},
                                       p, Environment(p)));
  EXPECT_DOUBLE_EQ(cost.optimizer_s, OptimizerSeconds(once, p, Environment(p)));
}

TEST_F(TiedStageCostTest, ZeRO2ReducesTheMatrixOnceAMicrobatch) {
  const StageParallelism p = {.dp_degree = 8, .zero_stage = 2};
  device_.peak_flops.fp16 = 1e18;  // No compute hides the reduction.
  device_.memory_bandwidth_bytes_per_s = 1e18;
  // One sweep of 2-byte gradients over 8 ranks of two nodes.
  const double reduce_s =
      GradientSyncSeconds({.dense = kMatrix}, {}, {.dp_degree = 8},
                          Environment(p)) /
      2;
  const StageCost tied = Stage(0, 6, 2);
  const StageCost tied_end = Stage(3, 6, 2);
  Tie(false);
  const StageCost untied = Stage(0, 6, 2);
  EXPECT_NEAR(untied.backward_s - tied.backward_s, reduce_s, 1e-6 * reduce_s);
  EXPECT_NEAR(untied.comm_s - tied.comm_s, reduce_s, 1e-6 * reduce_s);
  EXPECT_DOUBLE_EQ(tied_end.backward_s, Stage(3, 6, 2).backward_s);
}

TEST_F(TiedStageCostTest, MeasuredStateOfTheCopyIsLeftOutToo) {
  const LayerSpec& head = model_.layers.back();
  const LayerCost modelled = Layer(5, 0, 2);
  const double state = 16 * modelled.parameters.dense;
  device_.measured_layers = {
      {.key = LayerMeasurementKey(head, {}, training_,
                                  device_.supports_flash_attention),
       .samples = 8,
       .forward_s = modelled.forward_s,
       .backward_s = modelled.backward_s,
       .state_bytes = 3 * state}};
  const StageCost cost = Estimate({.end = {6, 0}, .recompute = {{6, 0}}});
  // Two thirds of the measurement are beyond the model, of which the norm keeps
  // its part: 3 · 16 bytes for each of its parameters.
  const double norm = ParameterCount(head);
  EXPECT_NEAR(cost.memory.static_bytes,
              16 * (ParameterCount(model_) - norm) + 3 * 16 * norm, 1);
}

// Random stages of dense and expert models on devices of realistic efficiency.
class MonotoneTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::mt19937 rng(GetParam());
    const auto pick = [&rng](int n) { return static_cast<int>(rng() % n); };
    const bool moe = pick(2) == 0;
    runs_ = RunsOf(moe ? TestMoeModel(3) : TestModel(3));
    stage_ = {.begin = {pick(2), 0}, .end = {3 + pick(3), 0}};
    StageParallelism& p = stage_.parallelism;
    p = {.tp_degree = 1 << pick(3),
         .cp_degree = 1 << pick(2),
         .dp_degree = 1 << pick(2),
         .zero_stage = pick(4),
         .sequence_parallel = pick(2) == 0};
    if (moe) p.ep_degree = p.cp_degree * p.dp_degree;
    p.fsep = moe && pick(2) == 0;
    stage_.recompute = {{LayersTouched(stage_.begin, stage_.end),
                         static_cast<OpMask>(pick(1024))}};
    island_ = TestIsland(4, 4);
    island_.device.efficiency = {.gemm_half_flops = 5e9};
    island_.device.supports_flash_attention = pick(2) == 0;
    island_.intra_node.latency_s = 1e-5;
    island_.intra_node.pair_bandwidth_bytes_per_s = 300e9;
  }

  double Seconds(const IslandSpec& island) const {
    const TrainingOptions training = TestTraining();
    const StageCost cost =
        EstimateStage(runs_, stage_,
                      {island.device, training,
                       WiringOf(island, stage_.parallelism.num_gpus()), 4});
    return cost.forward_s + cost.backward_s + cost.sync_s + cost.optimizer_s;
  }

  std::vector<LayerRun> runs_;
  StagePlan stage_;
  IslandSpec island_;
};

constexpr double kRounding = 1 + 1e-12;

TEST_P(MonotoneTest, FasterHardwareIsNeverSlower) {
  const double base = Seconds(island_) * kRounding;
  IslandSpec flops = island_;
  flops.device.peak_flops.fp16 *= 2;
  EXPECT_LT(Seconds(flops), base);
  IslandSpec memory = island_;
  memory.device.memory_bandwidth_bytes_per_s *= 2;
  EXPECT_LT(Seconds(memory), base);
  for (Link IslandSpec::*link :
       {&IslandSpec::intra_node, &IslandSpec::inter_node}) {
    for (double Link::*rate :
         {&Link::bandwidth_bytes_per_s, &Link::pair_bandwidth_bytes_per_s}) {
      IslandSpec faster = island_;
      faster.*link.*rate *= 2;
      EXPECT_LE(Seconds(faster), base);
    }
  }
}

TEST_P(MonotoneTest, TwiceAsFastEverywhereTakesHalfTheTime) {
  IslandSpec twice = island_;
  twice.device.peak_flops.fp16 *= 2;
  twice.device.memory_bandwidth_bytes_per_s *= 2;
  twice.device.efficiency.kernel_launch_s /= 2;
  for (Link* link : {&twice.intra_node, &twice.inter_node}) {
    link->bandwidth_bytes_per_s *= 2;
    link->pair_bandwidth_bytes_per_s *= 2;
    link->latency_s /= 2;
  }
  EXPECT_NEAR(Seconds(twice) / Seconds(island_), 0.5, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MonotoneTest, ::testing::Range(0, 300));

}  // namespace
}  // namespace tangram
