#include "worker/adapters/uniform/uniform_search.h"

#include <random>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "worker/adapters/search/equal_stages_evaluator.h"
#include "worker/adapters/search/lower_bounds.h"

namespace tangram {
namespace {

using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::tangram::testing::TestTraining;
using ::tangram::testing::WholeSlice;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ParallelizeOptions Options(int microbatch, int trailing_stages = 0) {
  return {.training = TestTraining(32),
          .pipeline_microbatch_size = microbatch,
          .trailing_stages = trailing_stages};
}

// Returns every choice, with ZeRO 0 to 3 and all recomputation.
std::vector<EqualStagesChoice> AllChoices(EqualStagesEvaluator& evaluator,
                                          const IslandSpec& island,
                                          const ParallelizeOptions& options) {
  const SplitLimits limits(evaluator.layers().kinds(),
                           options.pipeline_microbatch_size, options.training);
  std::vector<EqualStagesChoice> choices;
  for (const EqualStages& layout :
       LayoutsOf(island, evaluator.layers().size(),
                 StageSizes(island, limits, kUniformDegrees))) {
    for (StageParallelism parallelism : ParallelismsOf(
             layout.gpus_per_stage, island, limits, kUniformDegrees)) {
      for (int zero_stage = 0; zero_stage <= 3; ++zero_stage) {
        parallelism.zero_stage = zero_stage;
        for (const LayerRecompute recompute : kLayerRecomputes) {
          choices.push_back({layout, parallelism, recompute});
        }
      }
    }
  }
  return choices;
}

double Sync(const SlicePlan& plan) {
  double most = 0;
  for (const SliceStage& stage : plan.stages) {
    most = std::max(most, stage.sync_s);
  }
  return most;
}

bool ShardsExperts(const SlicePlan& plan) {
  return plan.stages.front().plan.parallelism.fsep;
}

// Returns whether `plan` is at least as good as the merits in every respect, up
// to rounding.
bool Covers(const SlicePlan& plan, const PlanMerits& merits) {
  constexpr double kRounding = 1 + 1e-9;
  return plan.slowest_stage_s() <= merits.slowest_stage_s * kRounding &&
         plan.latency_s() <= merits.latency_s * kRounding &&
         plan.latency_s() + Sync(plan) <=
             (merits.latency_s + merits.most_sync_s) * kRounding &&
         plan.num_stages() <= merits.num_stages &&
         plan.max_trailing_stages >= merits.max_trailing_stages;
}

struct Query {
  ModelSpec model;
  IslandSpec island;
  ParallelizeOptions options;
};

Query RandomQuery(int seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::vector<int> values) {
    return values[random() % values.size()];
  };
  const int layers = 1 + static_cast<int>(random() % 8);
  Query query{.model = random() % 3 == 0 ? TestMoeModel(layers)
                                         : TestModel(layers, 2048),
              .island = TestIsland(pick({1, 2, 4}), pick({1, 2, 4, 8})),
              .options = Options(pick({1, 2, 4, 8}), pick({0, 1, 3}))};
  query.island.device.memory_bytes = 1e8 * pick({1, 3, 6, 10, 20, 50, 200});
  query.island.device.supports_flash_attention = random() % 2 == 0;
  return query;
}

TEST(SearchUniformPropertyTest, AnswerIsTheParetoSetOfAllChoices) {
  int with_plans = 0;
  int without = 0;
  for (int seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Query query = RandomQuery(seed);
    const ModelSlice slice = WholeSlice(query.model);
    const SlicePlanSet answer =
        SearchUniform(slice, query.island, query.options);
    (answer.plans.empty() ? without : with_plans)++;

    EqualStagesEvaluator evaluator(slice, query.island, query.options);
    for (const EqualStagesChoice& choice :
         AllChoices(evaluator, query.island, query.options)) {
      const PlanMerits merits = evaluator.Evaluate(choice);
      if (merits.max_trailing_stages < query.options.trailing_stages) continue;
      EXPECT_TRUE(absl::c_any_of(answer.plans, [&](const SlicePlan& plan) {
        return Covers(plan, merits) &&
               (!ShardsExperts(plan) || choice.parallelism.fsep);
      }));
    }
  }
  EXPECT_GT(with_plans, 30);
  EXPECT_GT(without, 10);
}

TEST(SearchUniformPropertyTest, NoPlanIsAsGoodAsAnother) {
  for (int seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Query query = RandomQuery(seed);
    const SlicePlanSet answer =
        SearchUniform(WholeSlice(query.model), query.island, query.options);
    for (const SlicePlan& a : answer.plans) {
      for (const SlicePlan& b : answer.plans) {
        if (&a == &b || (ShardsExperts(a) && !ShardsExperts(b))) continue;
        EXPECT_FALSE(a.slowest_stage_s() <= b.slowest_stage_s() &&
                     a.latency_s() <= b.latency_s() &&
                     a.latency_s() + Sync(a) <= b.latency_s() + Sync(b) &&
                     a.num_stages() <= b.num_stages() &&
                     a.max_trailing_stages >= b.max_trailing_stages);
      }
    }
  }
}

TEST(SearchUniformTest, AnswerCoversAllTrailingStages) {
  IslandSpec island = TestIsland(1, 4);
  island.device.memory_bytes = 1.5e9;
  const ModelSlice slice = WholeSlice(TestModel(8));
  const SlicePlanSet now = SearchUniform(slice, island, Options(4));
  const SlicePlanSet later = SearchUniform(slice, island, Options(4, 5));

  EXPECT_EQ(now.covers_trailing_stages, kUnlimitedTrailingStages);
  ASSERT_FALSE(later.plans.empty());
  EXPECT_LT(later.plans.size(), now.plans.size());
  for (const SlicePlan& plan : later.plans) {
    EXPECT_THAT(now.plans, ::testing::Contains(plan));
  }
}

TEST(SearchUniformTest, SaysHowFarTheClosestPlanIsFromFitting) {
  IslandSpec island = TestIsland(1, 2);
  const ModelSlice slice = WholeSlice(TestModel(8));
  island.device.memory_bytes = 1e8;
  const SlicePlanSet none = SearchUniform(slice, island, Options(4));
  ASSERT_TRUE(none.infeasible.has_value());
  EXPECT_THAT(none.plans, IsEmpty());
  EXPECT_EQ(none.infeasible->reason, "does not fit in memory");
  ASSERT_GT(none.infeasible->bytes_short, 0);

  // With as many bytes more per GPU, a plan fits; with fewer, none does.
  island.device.memory_bytes = 1e8 + none.infeasible->bytes_short - 1000;
  EXPECT_THAT(SearchUniform(slice, island, Options(4)).plans, IsEmpty());
  island.device.memory_bytes += 2000;
  EXPECT_THAT(SearchUniform(slice, island, Options(4)).plans, SizeIs(1));
}

TEST(SearchUniformTest, LeavesGpusOutWhereTheMicrobatchIsTooSmall) {
  // One sample: no data parallelism, so each of three layers has one tp group.
  const ModelSlice slice =
      MakeSlice({1, 4}, std::vector(3, TestModel(1).layers[1]));

  const SlicePlanSet answer =
      SearchUniform(slice, TestIsland(4, 2), Options(/*microbatch=*/1));

  ASSERT_FALSE(answer.plans.empty());
  for (const SlicePlan& plan : answer.plans) {
    EXPECT_LE(plan.num_stages(), 2);  // 1 and 2 divide 8, 4 is too many.
    EXPECT_EQ(plan.stages[0].plan.parallelism.dp_degree, 1);
  }
}

TEST(SearchUniformTest, StopsWhenTold) {
  ParallelizeOptions options = Options(4);
  int polls = 0;
  options.should_stop = [&polls] { return ++polls > 1; };
  const ModelSlice slice = WholeSlice(TestModel(8));

  const SlicePlanSet some = SearchUniform(slice, TestIsland(1, 4), options);
  EXPECT_TRUE(some.truncated);
  EXPECT_EQ(some.covers_trailing_stages, 0);
  EXPECT_FALSE(some.plans.empty());

  options.should_stop = [] { return true; };
  const SlicePlanSet none = SearchUniform(slice, TestIsland(1, 4), options);
  EXPECT_TRUE(none.truncated);
  EXPECT_EQ(none.search_steps, 0);
  EXPECT_EQ(none.infeasible->reason, "stopped before any plan");
}

TEST(SearchUniformTest, SplitsExpertsWhereTheyDoNotFitWhole) {
  // 8 experts · 2 · 1,024 · 4,096 parameters in each layer, 16 bytes each with
  // Adam: 1.07 GB a layer and 4.3 GB in all, on 4 GPUs of 2 GB.
  IslandSpec island = TestIsland(1, 4);
  island.device.memory_bytes = 2e9;
  const SlicePlanSet answer =
      SearchUniform(WholeSlice(TestMoeModel(4)), island, Options(4));

  std::set<int> ep_degrees;
  for (const SlicePlan& plan : answer.plans) {
    ep_degrees.insert(plan.stages[0].plan.parallelism.ep_degree);
  }
  EXPECT_GT(*ep_degrees.rbegin(), 1);
}

ProfileOptions ProfileAt(int microbatch) {
  return {.training = TestTraining(32), .pipeline_microbatch_size = microbatch};
}

// Returns the bytes of all GPUs with nothing behind the slice, without the
// reserve.
double TotalBytes(const SlicePlan& plan, const ModelSlice& slice,
                  const IslandSpec& island, const ProfileOptions& options) {
  double total = 0;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const StagePlan& stage = plan.stages[i].plan;
    const int num_gpus = stage.parallelism.num_gpus();
    const StageEnvironment environment = {
        .device = island.device,
        .training = options.training,
        .wiring = WiringOf(island, num_gpus),
        .pipeline_microbatch_size = options.pipeline_microbatch_size};
    const int in_flight = InFlightMicrobatches(
        plan.num_stages() - 1 - i,
        options.training.global_batch_size / options.pipeline_microbatch_size);
    total += num_gpus * (EstimateStage(slice.runs, stage, environment)
                             .memory.PeakBytes(in_flight) -
                         island.device.efficiency.reserved_bytes);
  }
  return total;
}

TEST(UniformPropertyTest, LowerBoundsHoldForEveryPlan) {
  int plans = 0;
  for (int seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int layers = 1 + static_cast<int>(random() % 6);
    const ModelSpec model =
        random() % 2 == 0 ? TestModel(layers) : TestMoeModel(layers);
    const ModelSlice slice = WholeSlice(model);
    IslandSpec island = TestIsland(1 << random() % 3, 1 << random() % 4);
    island.device.efficiency = {};  // Defaults: launches, reserve and the rest.
    island.device.memory_bytes = 1e9 * (2 << random() % 4);
    const int microbatch = 1 << random() % 4;

    const PerformanceProfile profile = LayerwiseLowerBounds(
        slice, island, ProfileAt(microbatch), kUniformDegrees);

    const SlicePlanSet answer = SearchUniform(
        slice, island,
        {.training = TestTraining(32), .pipeline_microbatch_size = microbatch});
    for (const SlicePlan& plan : answer.plans) {
      ++plans;
      double gpu_seconds = 0;
      for (const SliceStage& stage : plan.stages) {
        gpu_seconds += stage.plan.parallelism.num_gpus() * stage.time_s;
      }
      EXPECT_LE(profile.min_gpu_seconds, gpu_seconds);
      EXPECT_LE(profile.min_latency_s, plan.latency_s());
      EXPECT_LE(profile.min_total_bytes,
                TotalBytes(plan, slice, island, ProfileAt(microbatch)));
    }
  }
  EXPECT_GT(plans, 200);
}

}  // namespace
}  // namespace tangram
