#include "common/sim/evaluate_replicated_plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "common/sim/play_pipeline.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/replicated_request.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::NodeGpus;
using testing::Replicated;
using testing::StageOn;

// Four stages on two fast nodes, and one on a slow node.
Replicated FastAndSlow() {
  Replicated in;
  in.plan.pipelines = {
      {.plan = {.pipeline_microbatch_size = 2,
                .stages = {StageOn(0, 4, {.dp_degree = 2}, NodeGpus(0, 2)),
                           StageOn(4, 8, {.dp_degree = 2}, NodeGpus(1, 2))}},
       .num_microbatches = 8},
      {.plan = {.pipeline_microbatch_size = 4,
                .stages = {StageOn(0, 8, {.tp_degree = 4}, NodeGpus(3, 4))}},
       .num_microbatches = 2}};
  return in;
}

TEST(EvaluateReplicatedPlanTest, OnePipelineTakesWhatEvaluatePlanSays) {
  Replicated in = FastAndSlow();
  in.plan.pipelines.pop_back();
  in.training.global_batch_size = 16;
  ASSERT_OK_AND_ASSIGN(const Evaluation alone,
                       EvaluatePlan(in.model, in.cluster, in.training,
                                    in.plan.pipelines[0].plan));
  const ReplicatedEvaluation evaluation = in.Evaluate();
  EXPECT_EQ(evaluation.iteration_time_s, alone.iteration_time_s);
  EXPECT_EQ(evaluation.model_flops_utilization, alone.model_flops_utilization);
  EXPECT_EQ(evaluation.bubble_fraction, alone.bubble_fraction);
  EXPECT_EQ(evaluation.replica_sync_end_s, 0);
  EXPECT_EQ(evaluation.exposed_replica_sync_s, 0);
}

TEST(EvaluateReplicatedPlanTest, ShardedStateIsHeldInFractions) {
  Replicated in = FastAndSlow();
  const ReplicatedEvaluation whole = in.Evaluate();
  in.plan.sync = ReplicaSync::kZero1;
  in.plan.pipelines[0].state_fraction = 0.75;
  in.plan.pipelines[1].state_fraction = 0.25;
  const ReplicatedEvaluation sharded = in.Evaluate();
  for (size_t r = 0; r < 2; ++r) {
    const StageEvaluation& before = whole.pipelines[r].stages[0];
    const StageEvaluation& after = sharded.pipelines[r].stages[0];
    const double fraction = in.plan.pipelines[r].state_fraction;
    EXPECT_DOUBLE_EQ(after.optimizer_bytes, fraction * before.optimizer_bytes);
    EXPECT_DOUBLE_EQ(before.peak_bytes - after.peak_bytes,
                     before.optimizer_bytes - after.optimizer_bytes);
    EXPECT_DOUBLE_EQ(after.optimizer_s, fraction * before.optimizer_s);
  }
}

TEST(EvaluateReplicatedPlanTest, Zero2KeepsFractionsOfTheGradientsToo) {
  Replicated in = FastAndSlow();
  in.plan.sync = ReplicaSync::kZero1;
  in.plan.pipelines[0].state_fraction = 0.75;
  in.plan.pipelines[1].state_fraction = 0.25;
  const ReplicatedEvaluation zero1 = in.Evaluate();
  in.plan.sync = ReplicaSync::kZero2;
  const ReplicatedEvaluation zero2 = in.Evaluate();
  for (size_t r = 0; r < 2; ++r) {
    const StageEvaluation& before = zero1.pipelines[r].stages[0];
    const StageEvaluation& after = zero2.pipelines[r].stages[0];
    EXPECT_DOUBLE_EQ(after.gradient_bytes, in.plan.pipelines[r].state_fraction *
                                               before.gradient_bytes);
    EXPECT_EQ(after.optimizer_bytes, before.optimizer_bytes);
    // The gradients of one layer wait until they are sent.
    EXPECT_GT(after.transient_bytes, before.transient_bytes);
    EXPECT_LT(after.static_bytes, before.static_bytes);
  }
  // The exchange begins with the first backward passes, and moves more bytes.
  EXPECT_LT(zero2.replica_sync_start_s, zero1.replica_sync_start_s);
  EXPECT_GT(zero2.replica_sync_end_s, zero1.replica_sync_end_s);
}

TEST(EvaluateReplicatedPlanTest, TimelinesShowTheExchangeAndThenOptimizers) {
  for (const ReplicaSync sync : kReplicaSyncs) {
    Replicated in = FastAndSlow();
    in.plan.sync = sync;
    if (sync != ReplicaSync::kAllReduce) {
      for (PipelineReplica& r : in.plan.pipelines) r.state_fraction = 0.5;
    }
    std::vector<std::vector<TimelineEvent>> timelines;
    ASSERT_OK_AND_ASSIGN(
        const ReplicatedEvaluation evaluation,
        EvaluateReplicatedPlan(in.model, in.cluster, in.training, in.plan,
                               &timelines));
    ASSERT_EQ(timelines.size(), 2u);
    double last_s = 0;
    double first_exchange_s = 1e9;
    for (const std::vector<TimelineEvent>& timeline : timelines) {
      std::map<int, int> optimizers;
      for (size_t i = 0; i < timeline.size(); ++i) {
        const TimelineEvent& event = timeline[i];
        last_s = std::max(last_s, event.end_s);
        optimizers[event.stage] +=
            event.kind == TimelineEvent::Kind::kOptimizer ? 1 : 0;
        if (event.kind == TimelineEvent::Kind::kReplicaSync) {
          first_exchange_s = std::min(first_exchange_s, event.start_s);
        }
        if (i == 0) continue;
        const TimelineEvent& before = timeline[i - 1];
        EXPECT_LE(std::tie(before.stage, before.start_s),
                  std::tie(event.stage, event.start_s));
      }
      for (const auto& [stage, count] : optimizers) EXPECT_EQ(count, 1);
    }
    EXPECT_DOUBLE_EQ(last_s, evaluation.iteration_time_s);
    EXPECT_DOUBLE_EQ(first_exchange_s, evaluation.replica_sync_start_s);
  }
}

TEST(EvaluateReplicatedPlanTest, ShardedStateOnTheHostIsHeldInFractions) {
  Replicated in = FastAndSlow();
  for (Node& node : in.cluster.nodes) {
    node.device.host = {.bandwidth_bytes_per_s = 10e9, .memory_bytes = 64e9};
  }
  for (PipelineReplica& replica : in.plan.pipelines) {
    for (PlacedStage& stage : replica.plan.stages) {
      stage.plan.offload.optimizer = 1;
    }
  }
  const ReplicatedEvaluation whole = in.Evaluate();
  in.plan.sync = ReplicaSync::kZero1;
  in.plan.pipelines[0].state_fraction = 0.75;
  in.plan.pipelines[1].state_fraction = 0.25;
  const ReplicatedEvaluation sharded = in.Evaluate();
  for (size_t r = 0; r < 2; ++r) {
    const StageEvaluation& before = whole.pipelines[r].stages[0];
    const StageEvaluation& after = sharded.pipelines[r].stages[0];
    ASSERT_GT(before.host_bytes, 0);
    EXPECT_DOUBLE_EQ(after.host_bytes,
                     in.plan.pipelines[r].state_fraction * before.host_bytes);
    // Copying the state takes less time, too.
    EXPECT_LT(after.optimizer_s, before.optimizer_s);
    EXPECT_LE(after.peak_bytes, before.peak_bytes);
  }
}

TEST(EvaluateReplicatedPlanTest, APipelineMayHaveMixedStages) {
  Replicated in = FastAndSlow();
  PlacedStage& stage = in.plan.pipelines[1].plan.stages[0];
  stage = testing::MixedOn(
      0, 8,
      {.sharing = StageSharing::kRouted,
       .groups = {{.parallelism = {.tp_degree = 2}, .share = 1},
                  {.parallelism = {.dp_degree = 2}, .share = 1}}},
      NodeGpus(3, 4));
  const ReplicatedEvaluation evaluation = in.Evaluate();
  EXPECT_EQ(evaluation.pipelines[1].stages[0].replicas.size(), 2u);
  EXPECT_GE(evaluation.iteration_time_s,
            evaluation.pipelines[1].iteration_time_s);
  // Alone, the pipeline takes what EvaluatePlan says.
  in.plan.pipelines.erase(in.plan.pipelines.begin());
  in.training.global_batch_size = 8;
  ASSERT_OK_AND_ASSIGN(const Evaluation alone,
                       EvaluatePlan(in.model, in.cluster, in.training,
                                    in.plan.pipelines[0].plan));
  EXPECT_NEAR(in.Evaluate().iteration_time_s / alone.iteration_time_s, 1,
              1e-12);
}

TEST(EvaluateReplicatedPlanTest, ViolationsAreCountedWithTheFractionOfState) {
  Replicated in = FastAndSlow();
  in.plan.sync = ReplicaSync::kZero1;
  in.plan.pipelines[0].state_fraction = 0.9;
  in.plan.pipelines[1].state_fraction = 0.1;
  const double needed = in.Evaluate().pipelines[1].stages[0].peak_bytes;
  in.cluster.nodes[3].device.memory_bytes = 1.01 * needed;
  EXPECT_TRUE(in.Evaluate().fits());
  in.plan.pipelines[0].state_fraction = 0.1;
  in.plan.pipelines[1].state_fraction = 0.9;
  const ReplicatedEvaluation full = in.Evaluate();
  EXPECT_FALSE(full.fits());
  EXPECT_EQ(full.pipelines[1].violations.size(), 1u);
}

// Pipelines of one stage on a GPU each, with `microbatches` of one sample.
Replicated OneGpuPipelines(int num_pipelines, int microbatches) {
  Replicated in;
  for (int r = 0; r < num_pipelines; ++r) {
    in.plan.pipelines.push_back(
        {.plan = {.pipeline_microbatch_size = 1,
                  .stages = {StageOn(0, 8, {}, NodeGpus(r, 1))}},
         .num_microbatches = microbatches});
  }
  in.training = testing::TestTraining(num_pipelines * microbatches);
  return in;
}

size_t NumEventsOf(const Replicated& in) {
  std::vector<std::vector<TimelineEvent>> timelines;
  EXPECT_THAT(EvaluateReplicatedPlan(in.model, in.cluster, in.training, in.plan,
                                     &timelines),
              testing::IsOk());
  size_t num_events = 0;
  for (const auto& timeline : timelines) num_events += timeline.size();
  return num_events;
}

TEST(EvaluateReplicatedPlanTest, BoundsTheEventsOfAllPipelinesTogether) {
  // A forward and a backward pass of each microbatch. With the exchange and the
  // optimizer, four pipelines have a few more than the limit.
  const int microbatches = kMaxTimelineEvents / 8;
  EXPECT_GT(NumEventsOf(OneGpuPipelines(3, microbatches)), 0u);
  EXPECT_EQ(NumEventsOf(OneGpuPipelines(4, microbatches)), 0u);
}

}  // namespace
}  // namespace tangram
