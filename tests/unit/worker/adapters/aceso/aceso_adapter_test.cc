#include "worker/adapters/aceso/aceso_adapter.h"

#include <algorithm>
#include <iterator>

#include "common/cost/stage_cost.h"
#include "common/parallelizer/keep_within.h"
#include "gmock/gmock.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/worker/adapters/aceso/aceso_query.h"

namespace tangram {
namespace {

using aceso::BodySlice;
using aceso::Options;
using aceso::SliceOf;
using ::tangram::testing::StatusIs;
using ::testing::Each;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class AcesoParallelizerTest : public ::testing::Test {
 protected:
  SlicePlanSet Ask(const ModelSlice& slice, const IslandSpec& island,
                   const ParallelizeOptions& options) const {
    const auto answer = aceso_->Parallelize(slice, island, options);
    EXPECT_THAT(answer, testing::IsOk());
    return answer.ok() ? *answer : SlicePlanSet{};
  }

  const std::unique_ptr<Parallelizer> aceso_ = CreateAcesoParallelizer();
};

const SlicePlan& Fastest(const SlicePlanSet& answer) {
  return *std::min_element(answer.plans.begin(), answer.plans.end(),
                           [](const SlicePlan& a, const SlicePlan& b) {
                             return a.slowest_stage_s() < b.slowest_stage_s();
                           });
}

double RecomputedLayers(const SlicePlan& plan) {
  int layers = 0;
  for (const SliceStage& stage : plan.stages) {
    for (const RecomputeRun& run : stage.plan.recompute) {
      if (run.mask != kRecomputeNone) layers += run.num_layers;
    }
  }
  return layers;
}

TEST_F(AcesoParallelizerTest, DeclaresDenseThreeDimensionalParallelism) {
  EXPECT_EQ(aceso_->features(),
            (ParallelizerFeatures{.data_parallel = true,
                                  .pipeline_parallel = true,
                                  .tensor_parallel = true,
                                  .gradient_accumulation = true,
                                  .recompute = true}));
}

TEST_F(AcesoParallelizerTest, NamesTheMoeLayerThatItCannotPlan) {
  const ModelSpec model = testing::TestMoeModel(2);
  constexpr absl::StatusCode kCode = absl::StatusCode::kUnimplemented;

  EXPECT_THAT(aceso_->SliceModel(model),
              StatusIs(kCode, HasSubstr("layers[1]")));
  EXPECT_THAT(aceso_->Parallelize(SliceOf(model, 0, 4),
                                  testing::TestIsland(1, 2), Options(4)),
              StatusIs(kCode, HasSubstr("runs[1]")));
}

TEST_F(AcesoParallelizerTest, NamesBadArguments) {
  const IslandSpec island = testing::TestIsland(1, 2);
  IslandSpec no_gpus = island;
  no_gpus.gpus_per_node = 0;
  constexpr absl::StatusCode kCode = absl::StatusCode::kInvalidArgument;

  EXPECT_THAT(aceso_->Parallelize({}, island, Options(4)),
              StatusIs(kCode, HasSubstr("slice.runs")));
  EXPECT_THAT(
      aceso_->Parallelize(BodySlice(1), no_gpus, Options(4)),
      StatusIs(kCode, "island.gpus_per_node: 0; expected a positive integer"));
  EXPECT_THAT(aceso_->Parallelize(BodySlice(1), island, Options(5)),
              StatusIs(kCode, HasSubstr("pipeline_microbatch_size: 5")));
  EXPECT_THAT(aceso_->Parallelize(BodySlice(1), island, Options(4, -1)),
              StatusIs(kCode, HasSubstr("trailing_stages: -1")));
}

// With one sample at a time, only tp or a pipeline is left. All-reduces at 1
// GB/s cost more than the compute that tp saves; a pipeline keeps every GPU
// busy.
TEST_F(AcesoParallelizerTest, PrefersThePipelineWhereTensorParallelIsSlow) {
  IslandSpec island = testing::TestIsland(1, 4);
  island.intra_node = {.bandwidth_bytes_per_s = 1e9,
                       .pair_bandwidth_bytes_per_s = 1e9};

  const SlicePlan fastest = Fastest(Ask(BodySlice(8), island, Options(1)));

  EXPECT_EQ(fastest.num_stages(), 4);
  for (const SliceStage& stage : fastest.stages) {
    EXPECT_EQ(stage.plan.parallelism.tp_degree, 1);
  }
}

// Replicas stay in a node, and the cut is where only the residual crosses.
TEST_F(AcesoParallelizerTest, CutsAtTheNodeBoundaryWhereTheNetworkIsSlow) {
  IslandSpec island = testing::TestIsland(2, 2);
  island.inter_node = {.bandwidth_bytes_per_s = 4e9,
                       .pair_bandwidth_bytes_per_s = 4e9};

  const SlicePlanSet answer = Ask(BodySlice(8), island, Options(8));

  SlicePlanSet two_stages;
  std::copy_if(answer.plans.begin(), answer.plans.end(),
               std::back_inserter(two_stages.plans),
               [](const SlicePlan& plan) { return plan.num_stages() == 2; });
  ASSERT_THAT(two_stages.plans, Not(IsEmpty()));
  const StagePlan head = Fastest(two_stages).stages[0].plan;
  EXPECT_EQ(head.parallelism.num_gpus(), 2);
  EXPECT_THAT(head.end.op, ::testing::AnyOf(0, 5));
}

TEST_F(AcesoParallelizerTest, RecomputesForTrailingStages) {
  IslandSpec island = testing::TestIsland(1, 1);
  const ModelSlice slice = BodySlice(4);
  const SlicePlan ample = Fastest(Ask(slice, island, Options(8)));
  EXPECT_EQ(RecomputedLayers(ample), 0);
  // Room for two microbatches of four.
  const StageCost cost = EstimateStage(slice.runs, ample.stages[0].plan,
                                       {.device = island.device,
                                        .training = Options(8).training,
                                        .wiring = WiringOf(island, 1),
                                        .pipeline_microbatch_size = 8});
  island.device.memory_bytes = cost.memory.PeakBytes(2) * 1.01;

  const SlicePlanSet first = Ask(slice, island, Options(8));
  const SlicePlanSet behind_three = Ask(slice, island, Options(8, 3));

  EXPECT_EQ(first.plans[0].max_trailing_stages, 1);
  EXPECT_EQ(RecomputedLayers(first.plans[0]), 0);
  ASSERT_FALSE(behind_three.plans.empty());
  EXPECT_GT(RecomputedLayers(behind_three.plans[0]), 0);
  EXPECT_GT(behind_three.plans[0].latency_s(), first.plans[0].latency_s());
  EXPECT_THAT(behind_three.plans,
              Each(Field(&SlicePlan::max_trailing_stages, Ge(3))));
  // A variant of the plan bears one stage more.
  ASSERT_GT(first.plans.size(), 1u);
  EXPECT_GE(first.plans[1].max_trailing_stages, 2);
  EXPECT_GT(first.plans[1].latency_s(), first.plans[0].latency_s());
}

// The figures equal the cost model's to the last bit.
TEST_F(AcesoParallelizerTest, FiguresAreTheCostModels) {
  const ModelSlice slice = SliceOf(testing::TestModel(6), 0, 8);
  const IslandSpec island = testing::TestIsland(2, 2);
  const ParallelizeOptions options = Options(8, 1);

  const SlicePlanSet answer = Ask(slice, island, options);

  ASSERT_THAT(answer.plans, Not(IsEmpty()));
  for (const SlicePlan& plan : answer.plans) {
    const SliceStage& last = plan.stages.back();
    const StageCost cost = EstimateStage(
        slice.runs, last.plan,
        {.device = island.device,
         .training = options.training,
         .wiring = WiringOf(island, last.plan.parallelism.num_gpus()),
         .pipeline_microbatch_size = 8});
    EXPECT_EQ(last.time_s, cost.forward_s + cost.backward_s);
    EXPECT_EQ(last.backward_s, cost.backward_s);
    EXPECT_EQ(last.sync_s, cost.sync_s + cost.optimizer_s);
  }
}

TEST_F(AcesoParallelizerTest, SaysHowMuchMemoryIsMissing) {
  IslandSpec island = testing::TestIsland(1, 1);
  const ModelSlice slice = BodySlice(4);
  // Model state alone takes 16 bytes for each of 4 layers of 12 · 1,024² + 2 ·
  // 1,024 parameters. The GPU has half of that.
  const double state_bytes = 16 * 4 * (12.0 * 1024 * 1024 + 2 * 1024);
  island.device.memory_bytes = state_bytes / 2;

  const SlicePlanSet answer = Ask(slice, island, Options(1));

  EXPECT_THAT(answer.plans, IsEmpty());
  ASSERT_TRUE(answer.infeasible.has_value());
  EXPECT_EQ(answer.infeasible->reason, "does not fit in memory");
  EXPECT_GT(answer.infeasible->bytes_short, state_bytes / 2);
  EXPECT_LT(answer.infeasible->bytes_short, state_bytes);
  EXPECT_EQ(answer.covers_trailing_stages, kUnlimitedTrailingStages);
}

TEST_F(AcesoParallelizerTest, EffortDecidesTheAnswerAndNothingElse) {
  const ModelSlice slice = SliceOf(testing::TestModel(6), 0, 8);
  const IslandSpec island = testing::TestIsland(1, 8);
  ParallelizeOptions options = Options(8, 1);
  options.max_search_steps = 50;

  const SlicePlanSet answer = Ask(slice, island, options);

  EXPECT_LE(answer.search_steps, 50);
  EXPECT_GT(answer.search_steps, 0);
  options.should_stop = [] { return false; };
  EXPECT_EQ(Ask(slice, island, options), answer);
}

TEST_F(AcesoParallelizerTest, ReturnsItsStartsWhenStopped) {
  ParallelizeOptions options = Options(8);
  options.should_stop = [] { return true; };

  const SlicePlanSet answer =
      Ask(BodySlice(8), testing::TestIsland(1, 4), options);

  EXPECT_TRUE(answer.truncated);
  EXPECT_EQ(answer.search_steps, 0);
  EXPECT_THAT(answer.plans, Not(IsEmpty()));
}

TEST_F(AcesoParallelizerTest, PlansForHundredsOfGpus) {
  const SlicePlanSet answer = Ask(BodySlice(12), testing::TestIsland(64, 8),
                                  Options(64, 0, /*global_batch_size=*/256));

  int most_gpus = 0;
  for (const SlicePlan& plan : answer.plans) {
    int gpus = 0;
    for (const SliceStage& stage : plan.stages) {
      gpus += stage.plan.parallelism.num_gpus();
    }
    most_gpus = std::max(most_gpus, gpus);
  }
  EXPECT_EQ(most_gpus, 512);
}

// Two nodes whose GPUs lack memory for all activations.
TEST_F(AcesoParallelizerTest, PlansHalfLayersAndClosedSegmentsWhereAskedTo) {
  IslandSpec island = testing::TestIsland(2, 4);
  island.device.memory_bytes = 1.5e9;
  const ModelSlice slice = BodySlice(7);
  Runtime runtime = {.name = "half layers",
                     .cuts = Runtime::Cuts::kResiduals,
                     .recompute = Runtime::Recompute::kClosed};
  const auto num_runnable = [&](SlicePlanSet answer) {
    KeepRunnable(runtime, slice, answer);
    return answer.plans.size();
  };
  const SlicePlanSet free = Ask(slice, island, Options(8));
  EXPECT_LT(num_runnable(free), free.plans.size());

  island.limits = {.residual_cuts = true, .closed_recompute = true};
  const SlicePlanSet within = Ask(slice, island, Options(8));
  ASSERT_THAT(within.plans, Not(IsEmpty()));
  EXPECT_EQ(num_runnable(within), within.plans.size());
  runtime.cuts = Runtime::Cuts::kLayers;  // Some cuts are inside a layer.
  EXPECT_LT(num_runnable(within), within.plans.size());
}

}  // namespace
}  // namespace tangram
