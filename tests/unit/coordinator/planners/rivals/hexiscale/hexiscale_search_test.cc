#include "coordinator/planners/rivals/hexiscale/hexiscale_search.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "coordinator/planners/rivals/hexiscale/graph_partition.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_costs.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_layout.h"
#include "coordinator/planners/rivals/hexiscale/numpy_random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

bool Never() { return false; }

// Machines of 4 fast and 4 slow GPUs, two of each; a model of 16 layers.
HexiscaleInput TwoFastTwoSlow() {
  HexiscaleInput input{.model = {.num_layers = 16,
                                 .hidden_size = 1024,
                                 .attention_width = 1024,
                                 .sequence_length = 512,
                                 .vocab_size = 1000,
                                 .layer_parameters = 12.0 * 1024 * 1024,
                                 .active_parameters = 12.0 * 1024 * 1024},
                       .global_batch_size = 64,
                       .microbatch_size = 1,
                       .iterations = 20};
  for (const double speed : {2e14, 2e14, 1e14, 1e14}) {
    input.machines.push_back({.num_gpus = 4,
                              .flops_per_s = speed,
                              .memory_bytes = 16e9,
                              .bytes_per_s = 1e11});
  }
  input.links = {{1e10}};
  return input;
}

TEST(NumpyRandomTest, MersenneTwisterHasTheStandardNumbers) {
  // The first output of MT19937 for the seed 5489 is 3499211612, and the second
  // 581869302.
  NumpyRandom random(5489);
  EXPECT_DOUBLE_EQ(random.Real(),
                   ((3499211612u >> 5) * 67108864.0 + (581869302u >> 6)) /
                       9007199254740992.0);
}

TEST(NumpyRandomTest, BinomialNumbersHaveTheirDistribution) {
  NumpyRandom random(40404);
  std::vector<int> counts(3, 0);
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) ++counts[random.Binomial(2, 0.2)];
  EXPECT_NEAR(counts[0], 0.64 * kDraws, 0.01 * kDraws);
  EXPECT_NEAR(counts[1], 0.32 * kDraws, 0.01 * kDraws);
  EXPECT_NEAR(counts[2], 0.04 * kDraws, 0.01 * kDraws);
}

TEST(GraphPartitionTest, CutsLightEdges) {
  // Two cliques of three, joined by light edges.
  const CompleteGraph graph{
      .vertex_weights = {1, 1, 1, 1, 1, 1},
      .edge_weight = [](int a, int b) { return a / 3 == b / 3 ? 10.0 : 0.1; }};
  const std::vector<int> parts = PartitionGraph(graph, 2, /*seed=*/1);
  EXPECT_EQ(parts[0], parts[1]);
  EXPECT_EQ(parts[1], parts[2]);
  EXPECT_EQ(parts[3], parts[4]);
  EXPECT_EQ(parts[4], parts[5]);
  EXPECT_NE(parts[0], parts[3]);
  EXPECT_EQ(PartitionGraph(graph, 2, 1), parts);
  EXPECT_THAT(PartitionGraph(graph, 1, 1), Each(0));
}

TEST(HexiscaleLayoutTest, LayersFollowMemory) {
  EXPECT_THAT(ShareLayers(6, {{2.0, 1.0}}), ElementsAre(4, 2));
  // 80 GB for 14.2 layers, 40 for 7.1 and 24 for 2.1; one layer is left.
  EXPECT_THAT(ShareLayers(32, {{24.0, 24.0, 24.0, 160.0, 80.0, 24.0, 24.0}}),
              ElementsAre(2, 2, 2, 15, 7, 2, 2));
  // More stages than layers.
  EXPECT_THAT(ShareLayers(2, {{1.0, 1.0, 1.0}}), ElementsAre(0, 1, 1));
}

TEST(HexiscaleLayoutTest, LayersMoveFromStagesThatAreTooFull) {
  HexiscaleInput input = TwoFastTwoSlow();
  HexiscalePipeline pipeline{
      .stages = {{.machine = 0, .gpus = {0}, .num_layers = 12},
                 {.machine = 1, .gpus = {4}, .num_layers = 4}},
      .num_microbatches = 4};
  EXPECT_EQ(MakeFit(input, 1, pipeline), 0);
  EXPECT_EQ(pipeline.stages[0].num_layers, 12);
  input.machines[0].memory_bytes =
      StageBytes(input, pipeline, 0, 1) - 1;  // One byte too few.
  EXPECT_EQ(MakeFit(input, 1, pipeline), 0);
  EXPECT_EQ(pipeline.stages[0].num_layers, 11);
  EXPECT_EQ(pipeline.stages[1].num_layers, 5);
  for (HexiscaleMachine& machine : input.machines) machine.memory_bytes = 1e6;
  EXPECT_GT(MakeFit(input, 1, pipeline), 0);
}

// T = sum over steps of the slowest of the active stages.
TEST(HexiscaleCostsTest, PipelinesStepByStep) {
  HexiscaleInput input = TwoFastTwoSlow();
  input.links = {{1e30}};  // Transfers take no time.
  const HexiscalePipeline pipeline{
      .stages = {{.machine = 0, .gpus = {0}, .num_layers = 8},
                 {.machine = 2, .gpus = {8}, .num_layers = 8}}};
  const HexiscalePipeline fast{.stages = {pipeline.stages[0]}};
  const double t = PipelineSeconds(input, fast, 1, 1);
  EXPECT_THAT(PipelineSeconds(input, fast, 1, 3), DoubleNear(3 * t, 1e-9));
  EXPECT_THAT(PipelineSeconds(input, pipeline, 1, 1), DoubleNear(3 * t, 1e-9));
  EXPECT_THAT(PipelineSeconds(input, pipeline, 1, 4), DoubleNear(9 * t, 1e-9));
}

TEST(HexiscaleCostsTest, PipelinesOfFewMicrobatches) {
  HexiscaleInput input = TwoFastTwoSlow();
  HexiscalePipeline pipeline;
  for (int s = 0; s < 4; ++s) {
    pipeline.stages.push_back(
        {.machine = s, .gpus = {4 * s}, .num_layers = 1 + s});
  }
  // The steps do not depend on how they are summed.
  double last = 0;
  std::vector<double> more;
  for (int n = 1; n <= 8; ++n) {
    const double seconds = PipelineSeconds(input, pipeline, 1, n);
    more.push_back(seconds - last);
    last = seconds;
  }
  for (size_t n = 4; n < more.size(); ++n) EXPECT_NEAR(more[n], more[4], 1e-12);
  for (size_t n = 2; n < 4; ++n) EXPECT_GE(more[n] + 1e-12, more[n - 1]);
}

TEST(HexiscaleCostsTest, OnePipelineHasNothingToExchange) {
  const HexiscaleInput input = TwoFastTwoSlow();
  const HexiscaleStage stage{.machine = 0, .gpus = {0}, .num_layers = 16};
  const HexiscalePipeline one{.stages = {stage}};
  HexiscalePipeline other = one;
  other.stages[0].machine = 1;
  EXPECT_EQ(SyncSeconds(input, {one}), 0);
  // 2 · 2 bytes of all parameters, over two pipelines and 1e10 bytes/s.
  EXPECT_NEAR(SyncSeconds(input, {one, other}),
              2 * 2 * 16 * 12.0 * 1024 * 1024 / (2 * 1e10), 1e-9);
}

TEST(HexiscaleSearchTest, PlansUseDisjointGpusAndTheWholeModel) {
  const HexiscaleInput input = TwoFastTwoSlow();
  const HexiscalePlans found = SearchHexiscale({&input, 1}, Never);
  ASSERT_FALSE(found.plans.empty());
  for (const HexiscalePlan& plan : found.plans) {
    std::multiset<int> gpus;
    int microbatches = 0;
    for (const HexiscalePipeline& pipeline : plan.pipelines) {
      microbatches += pipeline.num_microbatches;
      int layers = 0;
      for (const HexiscaleStage& stage : pipeline.stages) {
        layers += stage.num_layers;
        gpus.insert(stage.gpus.begin(), stage.gpus.end());
      }
      EXPECT_EQ(layers, input.model.num_layers);
    }
    EXPECT_EQ(microbatches, input.global_batch_size);
    EXPECT_EQ(std::set<int>(gpus.begin(), gpus.end()).size(), gpus.size());
  }
  EXPECT_TRUE(std::is_sorted(found.plans.begin(), found.plans.end(),
                             [](const auto& a, const auto& b) {
                               return a.iteration_s < b.iteration_s;
                             }));
}

TEST(HexiscaleSearchTest, SameInputSamePlans) {
  for (const HexiscaleDefects& defects :
       {HexiscaleDefects(), HexiscaleDefects::AsReleased()}) {
    HexiscaleInput input = TwoFastTwoSlow();
    input.defects = defects;
    EXPECT_EQ(SearchHexiscale({&input, 1}, Never).plans,
              SearchHexiscale({&input, 1}, Never).plans);
  }
}

TEST(HexiscaleSearchTest, FasterPipelinesRunMoreMicrobatches) {
  const HexiscaleInput input = TwoFastTwoSlow();
  const std::vector<HexiscalePipeline> pipelines = {
      {.stages = {{.machine = 0, .gpus = {0}, .num_layers = 16}}},
      {.stages = {{.machine = 2, .gpus = {8}, .num_layers = 16}}}};
  EXPECT_THAT(ShareMicrobatches(input, pipelines, 1, 9), ElementsAre(6, 3));

  // Batches of billions are dealt out in blocks.
  constexpr int kHuge = 2'000'000'001;
  const std::vector<int> shares = ShareMicrobatches(input, pipelines, 1, kHuge);
  EXPECT_EQ(shares[0] + shares[1], kHuge);
  EXPECT_NEAR(shares[0], 2.0 * shares[1], 10);
}

// The defect of the released scheduler: two pipelines run twice the samples.
TEST(HexiscaleSearchTest, ReleasedMicrobatchesDoNotDependOnThePipelines) {
  HexiscaleInput input = TwoFastTwoSlow();
  input.defects.constant_microbatches = true;
  input.microbatch_size = 4;
  input.first_pipelines = 2;
  for (const HexiscalePlan& plan : SearchHexiscale({&input, 1}, Never).plans) {
    EXPECT_EQ(plan.microbatch_size, 2);
    for (const HexiscalePipeline& pipeline : plan.pipelines) {
      EXPECT_EQ(pipeline.num_microbatches, 16);
    }
  }
}

TEST(HexiscaleSearchTest, SaysHowMuchMemoryIsMissing) {
  HexiscaleInput input = TwoFastTwoSlow();
  for (HexiscaleMachine& machine : input.machines) machine.memory_bytes = 1e6;
  const HexiscalePlans found = SearchHexiscale({&input, 1}, Never);
  EXPECT_THAT(found.plans, SizeIs(0));
  EXPECT_GT(found.bytes_short, 0);
}

TEST(HexiscaleSearchTest, Stops) {
  const HexiscaleInput input = TwoFastTwoSlow();
  int polls = 0;
  const HexiscalePlans found =
      SearchHexiscale({&input, 1}, [&] { return ++polls > 3; });
  EXPECT_TRUE(found.stopped);
  EXPECT_EQ(polls, 4);
}

}  // namespace
}  // namespace tangram
