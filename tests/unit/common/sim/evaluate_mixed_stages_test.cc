#include "common/sim/evaluate_mixed_stages.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/cost/measured_layer.h"
#include "common/cost/operator_cost.h"
#include "common/domain/measurements.h"
#include "common/domain/stage_part.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/share_batch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/mixed_request.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Mixed;
using testing::MixedOn;
using testing::NodeGpus;
using testing::StageOn;

// A stage over the whole model on a node of each group.
Mixed OneMixedStage(StageSharing sharing, int fast_share, int slow_share) {
  Mixed in;
  in.plan = {
      .pipeline_microbatch_size = 8,
      .stages = {MixedOn(
          0, 8,
          {.sharing = sharing,
           .groups = {{.parallelism = {.tp_degree = 4}, .share = fast_share},
                      {.parallelism = {.tp_degree = 2}, .share = slow_share}}},
          {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {5, 0}, {5, 1}})}};
  return in;
}

// Returns the figures of a stage of equal replicas in place of group `g`.
StageEvaluation FiguresAlone(const Mixed& mixed, size_t g, int samples) {
  Mixed in = mixed;
  const StagePart part = PartsOf(mixed.plan.stages[0], 8, 8)[g];
  in.plan.pipeline_microbatch_size = samples;
  in.training.global_batch_size = 8 * samples;
  in.plan.stages = {
      StageOn(0, 8, part.parallelism, {part.gpus.begin(), part.gpus.end()})};
  return in.Evaluate().stages[0];
}

TEST(EvaluateMixedStagesPropertyTest, LockStepTakesAsLongAsTheSlowestGroup) {
  for (int fast = 1; fast < 8; ++fast) {
    const Mixed in = OneMixedStage(StageSharing::kLockStep, fast, 8 - fast);
    const StageEvaluation stage = in.Evaluate().stages[0];
    const StageEvaluation a = FiguresAlone(in, 0, fast);
    const StageEvaluation b = FiguresAlone(in, 1, 8 - fast);
    EXPECT_EQ(stage.forward_s, std::max(a.forward_s, b.forward_s));
    EXPECT_EQ(stage.backward_s, std::max(a.backward_s, b.backward_s));
    // Memory is that of each group on its own device.
    EXPECT_EQ(stage.replicas[0].peak_bytes, a.peak_bytes);
    EXPECT_EQ(stage.replicas[1].peak_bytes, b.peak_bytes);
    EXPECT_EQ(stage.peak_bytes, std::max(a.peak_bytes, b.peak_bytes));
    EXPECT_DOUBLE_EQ(stage.passes_end_s,
                     8 * (stage.forward_s + stage.backward_s));
  }
}

TEST(EvaluateMixedStagesPropertyTest, RoutedGroupsTakeAMicrobatchEachPeriod) {
  for (int b = 2; b <= 40; ++b) {
    SCOPED_TRACE(b);
    Mixed in = OneMixedStage(StageSharing::kRouted, 1, b - 1);
    in.training.global_batch_size = 8 * b;
    const StageEvaluation first = in.Evaluate().stages[0];
    std::vector<PipelinePace> paces;
    double rate_per_s = 0;
    double slowest_s = 0;
    for (const StageEvaluation& group : first.replicas) {
      const double t_s = group.forward_s + group.backward_s;
      paces.push_back({.microbatch_s = t_s});
      rate_per_s += 1 / t_s;
      slowest_s = std::max(slowest_s, t_s);
    }
    const std::vector<int64_t> shares = ShareMicrobatches(paces, b);
    if (shares[1] == 0) continue;  // Then the stage has one group.
    for (size_t g = 0; g < 2; ++g) {
      in.plan.stages[0].mixed.groups[g].share = static_cast<int>(shares[g]);
    }
    const double end_s = in.Evaluate().stages[0].passes_end_s;
    // B · 1 / Σ (1 / t), rounded up by at most one microbatch.
    EXPECT_GE(end_s, b / rate_per_s * (1 - 1e-12));
    EXPECT_LE(end_s, b / rate_per_s + slowest_s);
  }
}

TEST(EvaluateMixedStagesTest, RoutedFiguresArePerMicrobatchOfThePipeline) {
  const Mixed in = OneMixedStage(StageSharing::kRouted, 6, 2);
  std::vector<TimelineEvent> timeline;
  const Evaluation evaluation = in.Evaluate(&timeline);
  const StageEvaluation& stage = evaluation.stages[0];
  const StageEvaluation& fast = stage.replicas[0];
  const StageEvaluation& slow = stage.replicas[1];
  EXPECT_DOUBLE_EQ(fast.busy_s, 6 * (fast.forward_s + fast.backward_s));
  EXPECT_DOUBLE_EQ(8 * (stage.forward_s + stage.backward_s),
                   std::max(fast.busy_s, slow.busy_s));
  EXPECT_DOUBLE_EQ(stage.busy_s, (4 * fast.busy_s + 2 * slow.busy_s) / 6);
  // Midpoints 1/12, 3/12, 1/4 (the second group), 5/12, ...
  std::vector<int> groups;
  for (const TimelineEvent& event : timeline) {
    if (event.kind != TimelineEvent::Kind::kForward) continue;
    groups.resize(8);
    groups[event.microbatch] = event.replica;
  }
  EXPECT_THAT(groups, ElementsAre(0, 0, 1, 0, 0, 0, 1, 0));
}

TEST(EvaluateMixedStagesTest, AViolationNamesTheGroup) {
  Mixed in = OneMixedStage(StageSharing::kRouted, 6, 2);
  in.cluster.nodes[5].device.memory_bytes = 1e6;
  const Evaluation evaluation = in.Evaluate();
  ASSERT_EQ(evaluation.violations.size(), 1u);
  EXPECT_THAT(evaluation.violations[0].reason,
              HasSubstr("GB on each GPU of group 1, which has 0.00 GB"));
  EXPECT_EQ(evaluation.stages[0].capacity_bytes, 1e6);
}

// Two equal groups in lock-step are one stage of twice the dp degree. Only the
// exchange of gradients has its own rings.
TEST(EvaluateMixedStagesTest, EqualGroupsInLockStepRunLikeEqualReplicas) {
  Mixed in;
  in.plan = {.pipeline_microbatch_size = 8,
             .stages = {MixedOn(
                 0, 8,
                 {.groups = {{.parallelism = {.tp_degree = 2}, .share = 4},
                             {.parallelism = {.tp_degree = 2}, .share = 4}}},
                 NodeGpus(0, 4))}};
  const Evaluation mixed = in.Evaluate();
  in.plan.stages = {
      StageOn(0, 8, {.tp_degree = 2, .dp_degree = 2}, NodeGpus(0, 4))};
  const Evaluation equal = in.Evaluate();
  EXPECT_EQ(mixed.stages[0].passes_end_s, equal.stages[0].passes_end_s);
  EXPECT_EQ(mixed.stages[0].peak_bytes, equal.stages[0].peak_bytes);
  EXPECT_EQ(mixed.stages[0].optimizer_s, equal.stages[0].optimizer_s);
}

// Milliseconds of a layer: a line in the number of samples.
struct SampleLine {
  double slope_ms = 0;
  double intercept_ms = 0;
  double At(int samples) const { return slope_ms * samples + intercept_ms; }
};

// Cephalo (2411.01075), example/gpt_2.7b.json: GPT 2.7B, sequence 512, batch 64
// on two L4, an A6000 and a P40. The lines are those of its
// data/model_latencies.json (MIT), deepspeedgpt_2.7b, float16.
struct CephaloGpu {
  const char* type;
  SampleLine forward;
  SampleLine backward;
  int samples;  // Published.
};
constexpr CephaloGpu kCephaloGpus[] = {
    {"L4",
     {7.415035999999968, 1.1815040000000743},
     {10.946160000000095, 4.842823999999591},
     13},
    {"L4",
     {7.415035999999968, 1.1815040000000743},
     {10.946160000000095, 4.842823999999591},
     12},
    {"A6000",
     {2.8354779999999944, 0.6642140000000043},
     {4.221009999999934, 2.404014000000084},
     34},
    {"P40",
     {15.637328000000108, 4.132931999999664},
     {28.016862000000245, 1.877117999999627},
     5}};

// A device that has these times for `layer` and takes next to none for anything
// else.
DeviceSpec MeasuredDevice(const CephaloGpu& gpu, const LayerSpec& layer,
                          const TrainingOptions& training) {
  DeviceSpec device = testing::TestDevice(gpu.type);
  device.peak_flops = {.fp32 = 1e30, .fp16 = 1e30, .bf16 = 1e30, .fp8 = 1e30};
  device.memory_bandwidth_bytes_per_s = 1e30;
  std::vector<MeasuredLayer> layers;
  for (const int samples : {1, 64}) {
    layers.push_back(
        {.key = LayerMeasurementKey(layer, StageParallelism(), training,
                                    /*flash_attention=*/true),
         .samples = samples,
         .forward_s = gpu.forward.At(samples) / 1e3,
         .backward_s = gpu.backward.At(samples) / 1e3});
  }
  device.measured_layers = std::move(layers);
  return device;
}

TEST(EvaluateMixedStagesTest, CephalosExampleComesOut) {
  constexpr int kLayers = 32;
  Mixed in = {.model = testing::TestModel(kLayers, /*hidden_size=*/2560),
              .training = testing::TestTraining(64)};
  std::vector<testing::TestGroup> nodes;
  std::vector<PipelinePace> paces;
  MixedReplicas mixed;
  for (const CephaloGpu& gpu : kCephaloGpus) {
    nodes.push_back(
        {.name = absl::StrCat("gpu", nodes.size()),
         .gpus_per_node = 1,
         .device = MeasuredDevice(gpu, in.model.layers[1], in.training)});
    mixed.groups.push_back({.share = gpu.samples});
    // Activations are recomputed, so a layer takes 2 F + B.
    paces.push_back(
        {.fill_s = 2 * gpu.forward.intercept_ms + gpu.backward.intercept_ms,
         .microbatch_s = 2 * gpu.forward.slope_ms + gpu.backward.slope_ms});
  }
  // The published samples are those that end first.
  EXPECT_THAT(ShareMicrobatches(paces, 64), ElementsAre(13, 12, 34, 5));

  in.cluster = testing::TestCluster(nodes);
  PlacedStage stage =
      MixedOn(0, kLayers + 2, mixed, {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
  const size_t num_ops = OperatorsOf(in.model.layers[1]).size();
  stage.plan.recompute = {
      {.num_layers = 1},
      {.num_layers = kLayers, .mask = (OpMask{1} << num_ops) - 1},
      {.num_layers = 1}};
  in.plan = {.pipeline_microbatch_size = 64, .stages = {stage}};
  const StageEvaluation figures = in.Evaluate().stages[0];
  EXPECT_NEAR(1e3 * (figures.forward_s + figures.backward_s) / kLayers, 342.297,
              5e-4);
  EXPECT_EQ(figures.forward_s, figures.replicas[0].forward_s);
}

}  // namespace
}  // namespace tangram
