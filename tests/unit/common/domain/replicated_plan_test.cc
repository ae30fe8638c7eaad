#include "common/domain/replicated_plan.h"

#include <cmath>
#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/plan_builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::MixedOn;
using testing::NodeGpus;
using testing::StageOn;
using testing::StatusIs;

// Two pipelines, each on a node of four GPUs. They train 6 · 4 and 4 · 2 of 32
// samples.
struct ReplicatedInputs {
  ModelSpec model = testing::TestModel(4);
  Cluster cluster = testing::TestCluster(
      {{.name = "a", .num_nodes = 2, .device = testing::TestDevice()}});
  TrainingOptions training = testing::TestTraining(32);
  ReplicatedPlan plan = {
      .pipelines = {
          {.plan = {.pipeline_microbatch_size = 4,
                    .stages = {StageOn(0, 6, {.dp_degree = 4},
                                       NodeGpus(0, 4))}},
           .num_microbatches = 6},
          {.plan = {.pipeline_microbatch_size = 2,
                    .stages = {StageOn(0, 3, {.tp_degree = 2}, NodeGpus(1, 2)),
                               StageOn(3, 6, {.tp_degree = 2},
                                       NodeGpus(1, 2, 2))}},
           .num_microbatches = 4}}};

  absl::Status Validate() const {
    return ValidateReplicatedPlan(model, cluster, training, plan);
  }
};

TEST(ValidateReplicatedPlanTest, AcceptsPipelinesOfUnlikeShapeAndShare) {
  EXPECT_THAT(ReplicatedInputs().Validate(), IsOk());
}

TEST(ValidateReplicatedPlanTest, AcceptsFractionsOfTheOptimizerState) {
  ReplicatedInputs in;
  in.plan.pipelines[0].state_fraction = 0.7;
  in.plan.pipelines[1].state_fraction = 0.3;
  for (const ReplicaSync sync : {ReplicaSync::kZero1, ReplicaSync::kZero2}) {
    in.plan.sync = sync;
    EXPECT_THAT(in.Validate(), IsOk());
  }
}

TEST(ValidateReplicatedPlanTest, BoundsTheExchangesOfZero2) {
  ReplicatedInputs in;
  in.plan.sync = ReplicaSync::kZero2;
  in.plan.pipelines[0].state_fraction = 0.7;
  in.plan.pipelines[1].state_fraction = 0.3;
  in.plan.pipelines[0].num_microbatches = 1 << 20;
  in.training.global_batch_size = 4 * (1 << 20) + 8;
  EXPECT_THAT(in.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("sync: zero2; expected all-reduce or zero1, "
                                 "or at most 699050 microbatches")));
  in.plan.sync = ReplicaSync::kZero1;
  EXPECT_THAT(in.Validate(), IsOk());
}

TEST(ValidateReplicatedPlanTest, BoundsTheRoutedPassesOfAllPipelines) {
  ReplicatedInputs in;
  // Two groups, so two devices: 2 · B passes in each pipeline.
  const auto route = [&](int microbatches) {
    in.plan.pipelines.clear();
    for (int r = 0; r < 2; ++r) {
      const PipelinePlan routed = {
          .pipeline_microbatch_size = 1,
          .stages = {MixedOn(0, 6,
                             {.sharing = StageSharing::kRouted,
                              .groups = {{.parallelism = {.tp_degree = 2},
                                          .share = microbatches - 1},
                                         {.share = 1}}},
                             NodeGpus(r, 3))}};
      in.plan.pipelines.push_back(
          {.plan = routed, .num_microbatches = microbatches});
    }
    in.training.global_batch_size = 2 * microbatches;
  };
  route(1 << 22);
  EXPECT_THAT(in.Validate(), IsOk());
  route((1 << 22) + 1);
  EXPECT_THAT(
      in.Validate(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("pipelines[1].num_microbatches: 4194305; expected at "
                         "most 16777216 passes of all pipelines up to this "
                         "one that route microbatches, not 16777220")));
}

struct Spoiled {
  std::function<void(ReplicatedInputs&)> spoil;
  std::string error;
};

TEST(ValidateReplicatedPlanTest, NamesTheFieldTheValueAndWhatWasExpected) {
  const Spoiled cases[] = {
      {[](ReplicatedInputs& in) { in.plan.pipelines.clear(); },
       "pipelines: none; expected at least one"},
      {[](ReplicatedInputs& in) { in.plan.pipelines[1].num_microbatches = 0; },
       "pipelines[1].num_microbatches: 0; expected a positive integer"},
      {[](ReplicatedInputs& in) {
         in.plan.pipelines[1].num_microbatches = 1 << 30;
       },
       "pipelines.num_microbatches: 2147483672 samples; expected the global "
       "batch size, 32"},
      {[](ReplicatedInputs& in) {
         in.plan.pipelines[0].plan.pipeline_microbatch_size = -4;
       },
       "pipelines[0].plan.pipeline_microbatch_size: -4; expected a positive"},
      {[](ReplicatedInputs& in) {
         in.plan.pipelines[1].plan.stages[0].gpus[1].index = 9;
       },
       "pipelines[1].plan.stages[0].gpus[1]: GPU 9 of node a-1; expected"},
      {[](ReplicatedInputs& in) {
         in.plan.pipelines[1].plan.stages[0].gpus[1] = {0, 3};
       },
       "pipelines[1].plan.stages[0].gpus[1]: GPU 3 of node a-0, which "
       "pipelines[0] uses; expected each GPU in one pipeline at most"},
      {[](ReplicatedInputs& in) {
         in.plan.pipelines[1].plan.stages.pop_back();
       },
       "pipelines[1].plan.stages[0].plan.end: layer 3; expected layer 6"},
      {[](ReplicatedInputs& in) { in.plan.pipelines[0].state_fraction = 0.5; },
       "pipelines[0].state_fraction: 0.5; expected none with all-reduce"},
      {[](ReplicatedInputs& in) {
         in.plan.sync = ReplicaSync::kZero1;
         in.plan.pipelines[0].state_fraction = NAN;
       },
       "pipelines[0].state_fraction: nan; expected a fraction"},
      {[](ReplicatedInputs& in) {
         in.plan.sync = ReplicaSync::kZero1;
         in.plan.pipelines[0].state_fraction = 0.5;
         in.plan.pipelines[1].state_fraction = 0.25;
       },
       "pipelines.state_fraction: a sum of 0.75; expected a sum of 1"}};
  for (const Spoiled& spoiled : cases) {
    SCOPED_TRACE(spoiled.error);
    ReplicatedInputs in;
    spoiled.spoil(in);
    EXPECT_THAT(in.Validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr(spoiled.error)));
  }
}

TEST(ValidatePlanTest, WarmUpCountsFallAlongThePipeline) {
  ReplicatedInputs in;
  PipelinePlan plan = in.plan.pipelines[1].plan;
  const auto validate = [&] {
    return ValidatePlan(in.model, in.cluster, in.training, plan);
  };
  plan.warm_up_passes = {5, 1};
  EXPECT_THAT(validate(), IsOk());
  plan.warm_up_passes = {1, 2};
  EXPECT_THAT(validate(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("warm_up.passes[0]: 1; expected at least "
                                 "those of the next stage, 2")));
  plan.warm_up_passes = {2, 0};
  EXPECT_THAT(validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("warm_up.passes[")));
  plan.warm_up_passes = {(1 << 14) + 1, 1};
  EXPECT_THAT(validate(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("warm_up.passes[0]: 16385; expected at most "
                                 "16384")));
  plan.warm_up_passes = {2};
  EXPECT_THAT(validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("1 numbers; expected 2")));
  plan.warm_up_passes = {3, 1};
  in.training.blocking_transfers = true;
  EXPECT_THAT(validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("blocking_transfers")));
  in.training.buffered_sends = true;
  EXPECT_THAT(validate(), IsOk());
  plan.schedule = PipelineSchedule::kZeroBubbleH1;
  EXPECT_THAT(validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("zb-h1 and not 1f1b")));
}

}  // namespace
}  // namespace tangram
