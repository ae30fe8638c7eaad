#include "common/sim/evaluate_plan.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "common/cost/measured_layer.h"
#include "common/cost/operator_cost.h"
#include "common/cost/stage_cost.h"
#include "common/domain/model_slice.h"
#include "common/domain/recompute_masks.h"
#include "common/sim/model_flops.h"
#include "common/sim/stage_estimator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/sim/two_node_inputs.h"

namespace tangram {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NodeGpus;
using ::testing::SizeIs;
using testing::StageOn;
using testing::StatusIs;
using Inputs = testing::TwoNodeInputs;

TEST(EvaluatePlanTest, RefusesWhatValidatePlanRefuses) {
  Inputs in;
  in.plan.stages[0].gpus[0].node = 9;
  EXPECT_THAT(EvaluatePlan(in.model, in.cluster, in.training, in.plan),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[0].gpus[0]")));
}

TEST(EvaluatePlanTest, OnlyWhatNcclDoesNotBufferStopsBothStages) {
  // A microbatch of 4 · 512 tokens of 1,024 fp16 numbers is 4 MiB, and four
  // GPUs send it: 1 MiB each. With 32 · 512 tokens, it is 8 MiB each.
  Inputs in;
  in.training.global_batch_size = 128;
  const auto seconds = [&in](int microbatch, bool blocking) {
    in.plan.pipeline_microbatch_size = microbatch;
    in.training.blocking_transfers = blocking;
    return in.Evaluate().iteration_time_s;
  };
  EXPECT_EQ(seconds(4, true), seconds(4, false));
  EXPECT_GT(seconds(32, true), seconds(32, false));
  // Transfers do not block under schedules in which they would deadlock.
  in.plan.schedule = PipelineSchedule::kZeroBubbleH1;
  EXPECT_EQ(seconds(32, true), seconds(32, false));
}

TEST(EvaluatePlanTest, OneStageTakesItsPassesSynchronisationAndOptimizer) {
  Inputs in;
  in.plan.stages = {StageOn(0, 6, {.dp_degree = 4}, NodeGpus(0, 4))};
  const IslandSpec island = testing::TestIsland(1, 4);
  const StageCost cost = EstimateStage(MakeSlice({0, 6}, in.model.layers).runs,
                                       in.plan.stages[0].plan,
                                       {.device = island.device,
                                        .training = in.training,
                                        .wiring = WiringOf(island, 4),
                                        .pipeline_microbatch_size = 4});

  const Evaluation evaluation = in.Evaluate();

  EXPECT_DOUBLE_EQ(
      evaluation.iteration_time_s,
      8 * (cost.forward_s + cost.backward_s) + cost.sync_s + cost.optimizer_s);
  EXPECT_EQ(evaluation.stages[0].peak_bytes, cost.memory.PeakBytes(1));
  EXPECT_NEAR(evaluation.bubble_fraction, 0, 1e-12);
  EXPECT_EQ(evaluation.stages[0].send_s, 0);
}

TEST(EvaluatePlanTest, ChargesTransfersOverTheActualLink) {
  // 4 samples · 512 tokens · 1024 · 2 bytes = 4,194,304 bytes, both ways. One
  // pair of nodes: 10 GB/s. Inside a node, four flows of 100 GB/s.
  Inputs in;
  EXPECT_DOUBLE_EQ(in.Evaluate().stages[0].send_s, 2 * 4'194'304 / 10e9);
  EXPECT_EQ(in.Evaluate().stages[1].send_s, 0);

  in.plan.stages[0] = StageOn(0, 3, {.dp_degree = 2}, NodeGpus(0, 2));
  in.plan.stages[1] = StageOn(3, 6, {.dp_degree = 2}, NodeGpus(0, 2, 2));
  EXPECT_DOUBLE_EQ(in.Evaluate().stages[0].send_s, 2 * 4'194'304 / 200e9);
}

TEST(EvaluatePlanTest, ChargesEachDirectionOverItsOwnLink) {
  Inputs in;
  in.cluster =
      testing::TestCluster({{.name = "a", .device = testing::TestDevice()},
                            {.name = "b", .device = testing::TestDevice()}});
  in.cluster.links[0][1] = {2e9, 2e9, 0};
  in.cluster.links[1][0] = {1e9, 1e9, 0.5};
  EXPECT_DOUBLE_EQ(in.Evaluate().stages[0].send_s,
                   4'194'304 / 2e9 + 4'194'304 / 1e9 + 0.5);
}

TEST(EvaluatePlanTest, HoldsAMicrobatchForEachStageFromHereOn) {
  Inputs in;
  const Evaluation eight = in.Evaluate();
  EXPECT_EQ(eight.stages[0].in_flight, 2);
  EXPECT_EQ(eight.stages[1].in_flight, 1);
  in.plan.pipeline_microbatch_size = 32;
  EXPECT_EQ(in.Evaluate().stages[0].in_flight, 1);
  for (const StageEvaluation& stage : eight.stages) {
    EXPECT_DOUBLE_EQ(
        stage.peak_bytes,
        stage.static_bytes + stage.activation_bytes + stage.transient_bytes);
    // The test device has no reserve and no fragmentation.
    EXPECT_DOUBLE_EQ(
        stage.static_bytes,
        stage.weight_bytes + stage.gradient_bytes + stage.optimizer_bytes);
  }
}

TEST(EvaluatePlanTest, ReportsWhatDoesNotFitAndStillTimesIt) {
  Inputs in;
  EXPECT_THAT(in.Evaluate().violations, IsEmpty());
  const double peak_bytes = in.Evaluate().stages[0].peak_bytes;
  in.cluster.nodes[0].device.memory_bytes = peak_bytes - 1e6;

  const Evaluation evaluation = in.Evaluate();

  ASSERT_THAT(evaluation.violations, SizeIs(1));
  EXPECT_EQ(evaluation.violations[0].stage, 0);
  EXPECT_NEAR(evaluation.violations[0].bytes_short, 1e6, 1);
  EXPECT_THAT(evaluation.violations[0].reason, HasSubstr("GB on each GPU"));
  EXPECT_GT(evaluation.iteration_time_s, 0);
}

TEST(EvaluatePlanTest, CountsWhatIsOffloadedAgainstTheHost) {
  Inputs in;
  for (Node& node : in.cluster.nodes) {
    node.device.host = {.bandwidth_bytes_per_s = 1e9, .memory_bytes = 1e12};
  }
  const StageEvaluation plain = in.Evaluate().stages[0];
  in.plan.stages[0].plan.offload = {.optimizer = 1, .activations = 1};
  const Evaluation evaluation = in.Evaluate();
  const StageEvaluation& stage = evaluation.stages[0];

  // Twelve of sixteen bytes a parameter, activations of two microbatches.
  EXPECT_DOUBLE_EQ(stage.host_bytes,
                   12. / 16 * plain.static_bytes + plain.activation_bytes);
  EXPECT_DOUBLE_EQ(stage.static_bytes, 4. / 16 * plain.static_bytes);
  EXPECT_EQ(stage.activation_bytes, 0);
  EXPECT_EQ(stage.host_capacity_bytes, 1e12);
  EXPECT_GT(stage.copy_s, 0);
  EXPECT_NEAR(stage.forward_s + stage.backward_s - stage.copy_s,
              plain.forward_s + plain.backward_s, 1e-12);
  EXPECT_THAT(evaluation.violations, IsEmpty());
  EXPECT_EQ(evaluation.stages[1].host_bytes, 0);

  in.cluster.nodes[0].device.host.memory_bytes = stage.host_bytes - 1e6;
  const Evaluation violated = in.Evaluate();
  ASSERT_THAT(violated.violations, SizeIs(1));
  EXPECT_THAT(violated.violations[0].reason, HasSubstr("host memory"));
  EXPECT_NEAR(violated.violations[0].bytes_short, 1e6, 1);
}

TEST(EvaluatePlanTest, SplitsEachStagesTimeWithoutRest) {
  const Evaluation evaluation = Inputs().Evaluate();
  double idle_s = 0;
  for (const StageEvaluation& stage : evaluation.stages) {
    EXPECT_DOUBLE_EQ(stage.busy_s, 8 * (stage.forward_s + stage.backward_s));
    EXPECT_NEAR(stage.busy_s + stage.idle_s + stage.sync_s + stage.optimizer_s,
                evaluation.iteration_time_s, 1e-12);
    idle_s += stage.idle_s;
  }
  // Both stages have four GPUs.
  EXPECT_DOUBLE_EQ(evaluation.bubble_fraction,
                   idle_s / (2 * evaluation.iteration_time_s));
}

TEST(EvaluatePlanTest, UtilizationIsModelFlopsOverPeak) {
  const Inputs in;
  const Evaluation evaluation = in.Evaluate();
  // Eight GPUs of 100 TFLOP/s.
  EXPECT_DOUBLE_EQ(evaluation.model_flops_utilization,
                   32 * ModelFlops(in.model, in.training) /
                       (evaluation.iteration_time_s * 8 * 100e12));
  EXPECT_DOUBLE_EQ(evaluation.samples_per_s, 32 / evaluation.iteration_time_s);
  EXPECT_DOUBLE_EQ(evaluation.tokens_per_s,
                   32 * 512 / evaluation.iteration_time_s);
}

TEST(EvaluatePlanTest, RecomputationDoesNotRaiseUtilization) {
  Inputs in;
  const Evaluation plain = in.Evaluate();
  in.plan.stages[0].plan.recompute = {{.num_layers = 1},
                                      {.num_layers = 2, .mask = 0x3ff}};
  const Evaluation recomputed = in.Evaluate();
  EXPECT_GT(recomputed.stages[0].recompute_s, 0);
  EXPECT_LT(recomputed.stages[0].activation_bytes,
            plain.stages[0].activation_bytes);
  EXPECT_LT(recomputed.model_flops_utilization, plain.model_flops_utilization);
}

TEST(EvaluatePlanTest, AMixedStageGoesAtTheWeakestDevicesPace) {
  Inputs in;
  in.plan.stages = {StageOn(0, 6, {.dp_degree = 2}, {{0, 0}, {1, 0}})};
  DeviceSpec slow = testing::TestDevice();
  slow.peak_flops = {50e12, 50e12, 50e12, 50e12};
  in.cluster =
      testing::TestCluster({{.name = "a", .device = testing::TestDevice()},
                            {.name = "b", .device = slow}});
  const Evaluation mixed = in.Evaluate();
  in.cluster.nodes[0].device = slow;
  const Evaluation all_slow = in.Evaluate();
  EXPECT_EQ(mixed.iteration_time_s, all_slow.iteration_time_s);
  // The same work counts against 150 instead of 100 TFLOP/s.
  EXPECT_DOUBLE_EQ(mixed.model_flops_utilization,
                   all_slow.model_flops_utilization * 100 / 150);
}

TEST(EvaluatePlanTest, DoesNotReadWhoMadeThePlan) {
  Inputs in;
  const Evaluation before = in.Evaluate();
  in.plan.stages[0].island = 7;
  in.plan.stages[0].made_by = "someone";
  EXPECT_EQ(in.Evaluate().iteration_time_s, before.iteration_time_s);
}

TEST(EvaluatePlanTest, TellsHowMuchOfTheComputeWasMeasured) {
  Inputs in;
  in.plan.stages[0].plan.parallelism = {.tp_degree = 4};
  in.plan.stages[1].plan.parallelism = {.tp_degree = 4};
  EXPECT_EQ(in.Evaluate().measured_fraction, 0);
  in.cluster.nodes[0].device.measured = in.cluster.nodes[1].device.measured = {
      {.key = MeasurementKey(in.model.layers[1], OpKind::kQkvProjection,
                             {.tp_degree = 4}, 4, in.training),
       .forward_s = 1e-3,
       .backward_s = 2e-3}};

  const Evaluation evaluation = in.Evaluate();

  double compute_s = 0;
  for (const StageEvaluation& stage : evaluation.stages) {
    EXPECT_GT(stage.collective_s, 0);
    compute_s += stage.forward_s + stage.backward_s - stage.collective_s;
  }
  // Four layers.
  EXPECT_DOUBLE_EQ(evaluation.measured_fraction, 4 * 3e-3 / compute_s);
}

TEST(EvaluatePlanTest, UsesMeasuredLayersAndCollectivesOfTheDevices) {
  Inputs in;
  in.plan.stages = {
      StageOn(0, 6, {.tp_degree = 2, .dp_degree = 2}, NodeGpus(0, 4))};
  const Evaluation modelled = in.Evaluate();
  const auto key =
      LayerMeasurementKey(in.model.layers[1], {.tp_degree = 2}, in.training,
                          in.cluster.nodes[0].device.supports_flash_attention);
  DeviceSpec& device = in.cluster.nodes[0].device;
  device.measured_layers = {{.key = key,
                             .samples = 2,
                             .forward_s = 1,
                             .backward_s = 2,
                             .collectives_included = true}};
  EXPECT_GT(in.Evaluate().stages[0].forward_s, 4);
  EXPECT_LT(in.Evaluate().stages[0].forward_s,
            4 + modelled.stages[0].forward_s);
  EXPECT_GT(in.Evaluate().measured_fraction, 0.9);

  device.measured_layers = {};
  device.collectives = {
      {.op = CollectiveOp::kAllReduce, .ranks = 2, .points = {{1, 100}}}};
  EXPECT_GT(in.Evaluate().stages[0].collective_s, 100);
}

// Four chunks on two devices; the embedding and one layer, one layer, two
// layers, the head.
Inputs InterleavedInputs() {
  Inputs in;
  const auto stage = [](int begin, int end, int node) {
    return StageOn(begin, end, {.dp_degree = 4}, NodeGpus(node, 4));
  };
  in.plan.schedule = PipelineSchedule::kInterleaved;
  in.plan.virtual_stages = 2;
  in.plan.stages = {stage(0, 2, 0), stage(2, 3, 1), stage(3, 5, 0),
                    stage(5, 6, 1)};
  return in;
}

TEST(EvaluatePlanTest, ADeviceHoldsAllItsChunks) {
  const Evaluation evaluation = InterleavedInputs().Evaluate();
  for (int d = 0; d < 2; ++d) {
    const StageEvaluation& first = evaluation.stages[d];
    const StageEvaluation& second = evaluation.stages[d + 2];
    EXPECT_EQ(first.peak_bytes, second.peak_bytes);
    EXPECT_DOUBLE_EQ(
        first.peak_bytes,
        first.static_bytes + second.static_bytes + first.activation_bytes +
            second.activation_bytes +
            std::max(first.transient_bytes, second.transient_bytes));
  }
  // Warm-up of 2 · (2 − 0 − 1) + 2 passes and one more: three microbatches of
  // the first chunk and two of the second, the larger one (see
  // held_microbatches_test).
  EXPECT_EQ(evaluation.stages[0].in_flight, 3);
  EXPECT_EQ(evaluation.stages[2].in_flight, 2);
}

TEST(EvaluatePlanTest, CountsTheRuntimesReserveOnceAGpu) {
  Inputs in = InterleavedInputs();
  const double without = in.Evaluate().stages[0].peak_bytes;
  in.cluster.nodes[0].device.efficiency.reserved_bytes += 1e9;
  in.cluster.nodes[1].device.efficiency.reserved_bytes += 1e9;
  EXPECT_DOUBLE_EQ(in.Evaluate().stages[0].peak_bytes, without + 1e9);
}

TEST(EvaluatePlanTest, ChunksSendOverTheLinksBetweenTheirDevices) {
  Inputs in = InterleavedInputs();
  in.cluster =
      testing::TestCluster({{.name = "a", .device = testing::TestDevice()},
                            {.name = "b", .device = testing::TestDevice()}});
  in.cluster.links[0][1] = {2e9, 2e9, 0};
  in.cluster.links[1][0] = {1e9, 1e9, 0.5};
  const Evaluation evaluation = in.Evaluate();
  // Both ways between the devices: the sum is the same for every boundary.
  const double send_s = 4'194'304 / 2e9 + 4'194'304 / 1e9 + 0.5;
  for (int s = 0; s < 3; ++s) {
    EXPECT_DOUBLE_EQ(evaluation.stages[s].send_s, send_s);
  }
  EXPECT_EQ(evaluation.stages[3].send_s, 0);
}

TEST(EvaluatePlanTest, ChunksOfOneDeviceSendNothing) {
  Inputs in = InterleavedInputs();
  in.plan.stages = {in.plan.stages[0], in.plan.stages[2]};
  in.plan.stages[0].plan.end = in.plan.stages[1].plan.begin = {2, 0};
  in.plan.stages[0].plan.recompute = {{.num_layers = 2}};
  in.plan.stages[1].plan.recompute = {{.num_layers = 4}};
  in.plan.stages[1].plan.end = {6, 0};
  const Evaluation evaluation = in.Evaluate();
  ASSERT_THAT(evaluation.stages, SizeIs(2));
  EXPECT_EQ(evaluation.stages[0].send_s, 0);
  EXPECT_NEAR(evaluation.bubble_fraction, 0, 1e-12);
}

TEST(EvaluatePlanTest, CountsTheTimeAndPeakOfSharedGpusOnce) {
  const Inputs in = InterleavedInputs();
  const Evaluation evaluation = in.Evaluate();
  double idle_s = 0;
  for (int d = 0; d < 2; ++d) {
    double used_s = 0;
    for (int s = d; s < 4; s += 2) {
      const StageEvaluation& stage = evaluation.stages[s];
      EXPECT_EQ(stage.idle_s, evaluation.stages[d].idle_s);
      used_s += stage.busy_s + stage.sync_s + stage.optimizer_s;
    }
    EXPECT_NEAR(used_s + evaluation.stages[d].idle_s,
                evaluation.iteration_time_s, 1e-12);
    idle_s += evaluation.stages[d].idle_s;
  }
  EXPECT_DOUBLE_EQ(evaluation.bubble_fraction,
                   idle_s / (2 * evaluation.iteration_time_s));
  // Eight GPUs of 100 TFLOP/s.
  EXPECT_DOUBLE_EQ(evaluation.model_flops_utilization,
                   32 * ModelFlops(in.model, in.training) /
                       (evaluation.iteration_time_s * 8 * 100e12));
}

TEST(EvaluatePlanTest, ReportsADeviceThatDoesNotFitOnce) {
  Inputs in = InterleavedInputs();
  in.cluster.nodes[1].device.memory_bytes = 1e6;
  const Evaluation evaluation = in.Evaluate();
  ASSERT_THAT(evaluation.violations, SizeIs(1));
  EXPECT_EQ(evaluation.violations[0].stage, 1);
}

TEST(EvaluatePlanTest, GpipeHoldsEveryMicrobatch) {
  Inputs in;
  const Evaluation usual = in.Evaluate();
  in.plan.schedule = PipelineSchedule::kGpipe;
  const Evaluation gpipe = in.Evaluate();
  EXPECT_EQ(gpipe.stages[0].in_flight, 8);
  EXPECT_EQ(gpipe.stages[1].in_flight, 8);
  EXPECT_DOUBLE_EQ(gpipe.stages[1].activation_bytes,
                   8 * usual.stages[1].activation_bytes);
}

TEST(EvaluatePlanTest, ZeroBubbleIsSoonerDoneAndHoldsNoMoreThanTheFirstStage) {
  Inputs in;
  const Evaluation usual = in.Evaluate();
  in.plan.schedule = PipelineSchedule::kZeroBubbleH1;
  const Evaluation zero_bubble = in.Evaluate();
  EXPECT_LT(zero_bubble.iteration_time_s, usual.iteration_time_s);
  EXPECT_EQ(zero_bubble.stages[0].peak_bytes, usual.stages[0].peak_bytes);
  EXPECT_EQ(zero_bubble.stages[1].in_flight, usual.stages[0].in_flight);
  EXPECT_DOUBLE_EQ(zero_bubble.stages[0].busy_s, usual.stages[0].busy_s);
}

// Device 0 puts gradients of weights off for no microbatch, device 1 for one.
TEST(EvaluatePlanTest, ZeroBubbleKeepsWhatWasRecomputedForWeightGradients) {
  Inputs in;
  in.plan.schedule = PipelineSchedule::kZeroBubbleH1;
  const Evaluation all = in.Evaluate();
  for (PlacedStage& stage : in.plan.stages) {
    const LayerSpec& layer = in.model.layers[1];
    const OpMask whole = WholeLayerMask(layer);
    const bool is_first = stage.plan.begin.layer == 0;
    stage.plan.recompute = {{1, is_first ? kRecomputeNone : whole},
                            {1, whole},
                            {1, is_first ? whole : kRecomputeNone}};
  }
  const Evaluation recomputed = in.Evaluate();
  in.plan.schedule = PipelineSchedule::kOneFOneB;
  const Evaluation whole_passes = in.Evaluate();
  for (int s = 0; s < 2; ++s) {
    SCOPED_TRACE(s);
    const int held = recomputed.stages[s].in_flight;
    EXPECT_EQ(held, 2);
    const int waiting = s + 1;
    const double kept = whole_passes.stages[s].activation_bytes /
                        whole_passes.stages[s].in_flight;
    const double unrecomputed = all.stages[s].activation_bytes / held;
    ASSERT_GT(unrecomputed, 2 * kept);
    EXPECT_DOUBLE_EQ(recomputed.stages[s].activation_bytes,
                     kept * (held - waiting) + unrecomputed * waiting);
    EXPECT_EQ(recomputed.stages[s].transient_bytes,
              all.stages[s].transient_bytes);
    EXPECT_GT(recomputed.stages[s].peak_bytes,
              whole_passes.stages[s].peak_bytes);
  }
}

TEST(EvaluatePlanTest, FillsTheTimelineUpToTheEnd) {
  const Inputs in;
  std::vector<TimelineEvent> timeline;
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluatePlan(in.model, in.cluster, in.training, in.plan, &timeline));
  // Per stage 8 passes each way, synchronisation and optimizer; 8 transfers
  // each way.
  EXPECT_THAT(timeline, SizeIs(2 * (8 + 8 + 2) + 16));
  double end_s = 0;
  for (const TimelineEvent& event : timeline) {
    end_s = std::max(end_s, event.end_s);
  }
  EXPECT_EQ(end_s, evaluation.iteration_time_s);
}

TEST(EvaluatePlanTest, AHugeBatchTakesTheSteadyPaceOfASmallOne) {
  Inputs in;
  const auto seconds = [&in](int num_microbatches) {
    in.training.global_batch_size = 4 * num_microbatches;
    return in.Evaluate().iteration_time_s;
  };
  const double pace_s = (seconds(4096) - seconds(2048)) / 2048;
  EXPECT_NEAR((seconds(2048) + ((1 << 24) - 2048) * pace_s) / seconds(1 << 24),
              1, 1e-9);
}

TEST(EvaluatePlanTest, LeavesATimelineOfTooManyEventsEmpty) {
  Inputs in;
  in.training.global_batch_size = 1 << 26;
  std::vector<TimelineEvent> timeline(1);
  ASSERT_OK_AND_ASSIGN(
      const Evaluation evaluation,
      EvaluatePlan(in.model, in.cluster, in.training, in.plan, &timeline));
  EXPECT_GT(evaluation.iteration_time_s, 0);
  EXPECT_THAT(timeline, IsEmpty());
}

TEST(EvaluatePlanTest, StopsWhenAsked) {
  Inputs in;
  in.training.global_batch_size = 1 << 16;  // Every pass is played.
  int polls = 0;
  const auto stop_at_second = [&] { return ++polls == 2; };
  EXPECT_THAT(EvaluatePlan(in.model, in.cluster, in.training, in.plan,
                           /*timeline=*/nullptr, /*state=*/{}, stop_at_second),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
  EXPECT_EQ(polls, 2);
}

TEST(EvaluatePlanTest, NoFigureThatIsNotFiniteIsASuccess) {
  for (const double launch_s : {std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()}) {
    Inputs in;
    in.cluster.nodes[1].device.efficiency.kernel_launch_s = launch_s;
    EXPECT_THAT(EvaluatePlan(in.model, in.cluster, in.training, in.plan),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("stages[1].forward_s: ")));
  }
  // Each stage is finite, but not 2^24 microbatches of it.
  Inputs in;
  in.training.global_batch_size = 1 << 26;
  in.cluster.nodes[1].device.efficiency.kernel_launch_s = 1e302;
  EXPECT_THAT(EvaluatePlan(in.model, in.cluster, in.training, in.plan),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("iteration_time_s: inf")));
}

absl::StatusOr<std::optional<Evaluation>> Within(const Inputs& in,
                                                 double limit_s) {
  StageEstimator estimator(in.model, in.cluster, in.training);
  return EvaluateWithin(estimator, in.plan, limit_s);
}

// Cuts in two, of equal and of unequal work, under all schedules.
TEST(EvaluateWithinTest, DropsOnlyPlansThatDoNotFitOrTakeLonger) {
  int num_unfit = 0;
  int num_early = 0;
  for (const PipelineSchedule schedule :
       {PipelineSchedule::kGpipe, PipelineSchedule::kOneFOneB,
        PipelineSchedule::kZeroBubbleH1}) {
    for (const int microbatch : {4, 16, 32}) {
      for (int cut = 1; cut < 6; ++cut) {
        Inputs in;
        in.plan.schedule = schedule;
        in.plan.pipeline_microbatch_size = microbatch;
        in.plan.stages = {StageOn(0, cut, {.dp_degree = 4}, NodeGpus(0, 4)),
                          StageOn(cut, 6, {.dp_degree = 4}, NodeGpus(1, 4))};
        in.cluster.nodes[0].device.memory_bytes =
            cut % 2 == 0 ? 1e9 : 1e11;  // Too little, or enough.
        const Evaluation evaluation = in.Evaluate();
        const double seconds = evaluation.iteration_time_s;
        ASSERT_OK_AND_ASSIGN(const std::optional<Evaluation> within,
                             Within(in, seconds));
        ASSERT_EQ(within.has_value(), evaluation.violations.empty());
        if (!within.has_value()) {
          ++num_unfit;
          continue;
        }
        EXPECT_EQ(within->iteration_time_s, seconds);
        EXPECT_EQ(within->stages[1].peak_bytes,
                  evaluation.stages[1].peak_bytes);
        EXPECT_EQ(within->model_flops_utilization,
                  evaluation.model_flops_utilization);
        ASSERT_OK_AND_ASSIGN(const std::optional<Evaluation> far_below,
                             Within(in, 0.7 * seconds));
        num_early += !far_below.has_value();
      }
    }
  }
  EXPECT_GT(num_unfit, 0);
  EXPECT_GT(num_early, 10);
}

// Chunks of unequal work, in two rounds over the devices.
TEST(EvaluateWithinTest, KnowsABoundForInterleavedPlans) {
  for (int cut = 1; cut < 4; ++cut) {
    Inputs in;
    in.plan.schedule = PipelineSchedule::kInterleaved;
    in.plan.virtual_stages = 2;
    in.plan.pipeline_microbatch_size = 4;
    in.plan.stages = {StageOn(0, cut, {.dp_degree = 4}, NodeGpus(0, 4)),
                      StageOn(cut, 4, {.dp_degree = 4}, NodeGpus(1, 4)),
                      StageOn(4, 5, {.dp_degree = 4}, NodeGpus(0, 4)),
                      StageOn(5, 6, {.dp_degree = 4}, NodeGpus(1, 4))};
    const double seconds = in.Evaluate().iteration_time_s;
    ASSERT_OK_AND_ASSIGN(const std::optional<Evaluation> within,
                         Within(in, seconds));
    ASSERT_TRUE(within.has_value());
    EXPECT_EQ(within->iteration_time_s, seconds);
    ASSERT_OK_AND_ASSIGN(const std::optional<Evaluation> half,
                         Within(in, 0.5 * seconds));
    EXPECT_FALSE(half.has_value());
  }
}

TEST(EvaluateWithinTest, RefusesWhatValidatePlanRefuses) {
  Inputs in;
  in.plan.stages[0].gpus[0].node = 9;
  EXPECT_THAT(Within(in, 1), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("stages[0].gpus[0]")));
}

}  // namespace
}  // namespace tangram
