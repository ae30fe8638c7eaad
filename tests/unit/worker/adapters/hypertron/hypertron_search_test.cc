#include "worker/adapters/hypertron/hypertron_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "formats/catalogue/models.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "worker/adapters/hypertron/hypertron_space.h"
#include "worker/adapters/search/equal_stages_evaluator.h"
#include "worker/adapters/search/lower_bounds.h"

namespace tangram {
namespace {

using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::tangram::testing::TestTraining;
using ::tangram::testing::WholeSlice;

struct Query {
  ModelSlice slice;
  IslandSpec island;
  ParallelizeOptions options;
};

// Iteration time if the slice is the whole pipeline.
double IterationSeconds(const PlanMerits& merits,
                        const ParallelizeOptions& options) {
  const int num_microbatches =
      options.training.global_batch_size / options.pipeline_microbatch_size;
  return merits.latency_s + (num_microbatches - 1) * merits.slowest_stage_s +
         merits.most_sync_s;
}

// The best of all points, found without the search's space and moves. Infinite
// if none fits.
struct Enumerated {
  double best_s = std::numeric_limits<double>::infinity();
  int points = 0;
};

Enumerated EnumerateAll(const Query& query) {
  EqualStagesEvaluator evaluator(query.slice, query.island, query.options);
  const SplitLimits limits(evaluator.layers().kinds(),
                           query.options.pipeline_microbatch_size,
                           query.options.training);
  Enumerated all;
  for (const EqualStages& layout :
       LayoutsOf(query.island, evaluator.layers().size(),
                 StageSizes(query.island, limits, kHypertronDegrees))) {
    for (const StageParallelism& parallelism : ParallelismsOf(
             layout.gpus_per_stage, query.island, limits, kHypertronDegrees)) {
      if (parallelism.fsep) continue;
      ++all.points;
      const PlanMerits merits = evaluator.Evaluate({layout, parallelism});
      if (merits.max_trailing_stages < query.options.trailing_stages) continue;
      all.best_s =
          std::min(all.best_s, IterationSeconds(merits, query.options));
    }
  }
  return all;
}

double BestOf(const SlicePlanSet& answer, const ParallelizeOptions& options) {
  double best_s = std::numeric_limits<double>::infinity();
  for (const SlicePlan& plan : answer.plans) {
    best_s = std::min(best_s, IterationSeconds(MeritsOf(plan), options));
  }
  return best_s;
}

// At most 8 layers on at most 64 GPUs, short and long sequences.
Query RandomQuery(int seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::vector<int> values) {
    return values[random() % values.size()];
  };
  const int layers = 1 + static_cast<int>(random() % 8);
  Query query = {
      .slice = WholeSlice(random() % 3 == 0 ? TestMoeModel(layers)
                                            : TestModel(layers, 2048)),
      .island = TestIsland(pick({1, 2, 3, 4, 8}), pick({2, 4, 8})),
      .options = {.training = TestTraining(32),
                  .pipeline_microbatch_size = pick({1, 2, 4, 8}),
                  .trailing_stages = pick({0, 1, 3})}};
  query.options.training.sequence_length = pick({512, 2048, 32768});
  query.island.device.memory_bytes = 1e8 * pick({3, 6, 10, 20, 50, 200, 800});
  query.island.device.efficiency = {};
  return query;
}

// Returns whether the answer is within 2 % of enumeration.
bool FindsTheBest(const Query& query, const Enumerated& all) {
  const SlicePlanSet answer =
      SearchHypertron(query.slice, query.island, query.options);
  const double best_s = BestOf(answer, query.options);
  EXPECT_GE(best_s, all.best_s * (1 - 1e-9));
  if (query.options.max_search_steps > 0) {
    EXPECT_LE(answer.search_steps, query.options.max_search_steps);
  }
  return best_s == all.best_s || best_s <= 1.02 * all.best_s;
}

TEST(SearchHypertronPropertyTest, FindsWhatEnumerationFinds) {
  constexpr int kInstances = 200;
  constexpr int kEnough = 190;
  constexpr int kEnoughInHalf = 180;
  constexpr int kFewestSteps = 16;
  int found = 0;
  int found_in_half = 0;
  int feasible = 0;
  for (int seed = 0; seed < kInstances; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Query query = RandomQuery(seed);
    const Enumerated all = EnumerateAll(query);
    feasible += std::isfinite(all.best_s);
    found += FindsTheBest(query, all);
    query.options.max_search_steps = std::max(kFewestSteps, all.points / 2);
    found_in_half += FindsTheBest(query, all);
  }
  EXPECT_GE(found, kEnough);
  EXPECT_GE(found_in_half, kEnoughInHalf);
  EXPECT_GT(feasible, 60);
  EXPECT_LT(feasible, 140);
}

// A query on `num_nodes` nodes of 8 GPUs of 80 GB with NVLink and 8 x 400
// Gbit/s.
Query LargeQuery(const char* model, int num_nodes, int microbatch) {
  Query query = {.slice = WholeSlice(*BuiltinModel(model)),
                 .island = TestIsland(num_nodes, 8),
                 .options = {.training = TestTraining(1024),
                             .pipeline_microbatch_size = microbatch}};
  query.options.training.sequence_length = 4096;
  query.island.intra_node = {.bandwidth_bytes_per_s = 400e9,
                             .pair_bandwidth_bytes_per_s = 400e9,
                             .latency_s = 5e-6};
  query.island.inter_node = {.bandwidth_bytes_per_s = 400e9,
                             .pair_bandwidth_bytes_per_s = 50e9,
                             .latency_s = 1e-5};
  query.island.device.memory_bytes = 80e9;
  query.island.device.efficiency = {};
  return query;
}

TEST(SearchHypertronTest, FindsWhatEnumerationFindsOnManyGpus) {
  for (const char* model : {"llama3-8b", "llama3-70b", "mixtral-8x7b"}) {
    for (const int num_nodes : {8, 32, 128}) {
      for (const int microbatch : {1, 16, 128}) {
        SCOPED_TRACE(absl::StrCat(model, " on ", 8 * num_nodes,
                                  " GPUs, microbatch ", microbatch));
        const Query query = LargeQuery(model, num_nodes, microbatch);
        EXPECT_TRUE(FindsTheBest(query, EnumerateAll(query)));
      }
    }
  }
}

TEST(SearchHypertronTest, EvaluatesLessThanThereIs) {
  const Query query = LargeQuery("llama3-8b", 128, 128);

  const SlicePlanSet answer =
      SearchHypertron(query.slice, query.island, query.options);

  EXPECT_LT(answer.search_steps, EnumerateAll(query).points * 3 / 4);
  EXPECT_FALSE(answer.plans.empty());
}

TEST(SearchHypertronTest, HasPlansOfSeveralDepths) {
  const Query query = LargeQuery("llama3-8b", 8, 16);
  std::set<int> depths;
  for (const SlicePlan& plan :
       SearchHypertron(query.slice, query.island, query.options).plans) {
    depths.insert(plan.num_stages());
  }
  EXPECT_GE(depths.size(), 3);
}

// A tp of 16 takes two nodes of 8. For one sample of a large model, it is in
// two dimensions or not used.
TEST(SearchHypertronTest, SplitsTensorsInTwoDimensionsBeyondANode) {
  Query query = LargeQuery("llama3-70b", 2, 1);
  query.island.device.memory_bytes = 141e9;
  query.options.max_search_steps = 1000;
  bool planar = false;
  for (const SlicePlan& plan :
       SearchHypertron(query.slice, query.island, query.options).plans) {
    const StageParallelism& p = plan.stages[0].plan.parallelism;
    planar |= p.tp_degree == 16 && p.tp_y_degree > 1 && !p.sequence_parallel;
  }
  EXPECT_TRUE(planar);
}

TEST(SearchHypertronTest, NeitherRecomputesNorShardsStates) {
  const Query query = LargeQuery("mixtral-8x7b", 8, 16);
  const SlicePlanSet answer =
      SearchHypertron(query.slice, query.island, query.options);
  ASSERT_FALSE(answer.plans.empty());
  for (const SlicePlan& plan : answer.plans) {
    for (const SliceStage& stage : plan.stages) {
      EXPECT_EQ(stage.plan.parallelism.zero_stage, 0);
      EXPECT_FALSE(stage.plan.parallelism.fsep);
      EXPECT_THAT(stage.plan.recompute,
                  ::testing::Each(
                      ::testing::Field(&RecomputeRun::mask, kRecomputeNone)));
    }
  }
}

TEST(SearchHypertronTest, SaysHowFarTheClosestPlanIsFromFitting) {
  Query query = {.slice = WholeSlice(TestModel(8)),
                 .island = TestIsland(1, 2),
                 .options = {.training = TestTraining(32),
                             .pipeline_microbatch_size = 4,
                             .trailing_stages = 1}};
  const auto ask = [&] {
    return SearchHypertron(query.slice, query.island, query.options);
  };
  query.island.device.memory_bytes = 1e8;
  const SlicePlanSet none = ask();
  ASSERT_TRUE(none.infeasible.has_value());
  EXPECT_EQ(none.infeasible->reason, "does not fit in memory");

  // With as many bytes more per GPU, a plan fits; with fewer, none does.
  query.island.device.memory_bytes = 1e8 + none.infeasible->bytes_short - 1000;
  EXPECT_TRUE(ask().plans.empty());
  query.island.device.memory_bytes += 2000;
  EXPECT_FALSE(ask().plans.empty());
}

TEST(SearchHypertronTest, StopsWhenTold) {
  Query query = LargeQuery("llama3-8b", 8, 16);
  int polls = 0;
  query.options.should_stop = [&polls] { return ++polls > 20; };
  const SlicePlanSet some =
      SearchHypertron(query.slice, query.island, query.options);
  EXPECT_TRUE(some.truncated);
  EXPECT_EQ(some.search_steps, 20);
  EXPECT_EQ(some.covers_trailing_stages, 0);

  query.options.should_stop = [] { return true; };
  const SlicePlanSet none =
      SearchHypertron(query.slice, query.island, query.options);
  EXPECT_EQ(none.search_steps, 0);
  EXPECT_EQ(none.infeasible->reason, "stopped before any plan");
}

TEST(HypertronPropertyTest, LowerBoundsHoldForEveryPlan) {
  int planar = 0;
  int context = 0;
  for (int seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Query query = RandomQuery(seed);
    query.options.trailing_stages = 0;
    query.island.device.memory_bytes = 80e9;
    const PerformanceProfile profile = LayerwiseLowerBounds(
        query.slice, query.island,
        {.training = query.options.training,
         .pipeline_microbatch_size = query.options.pipeline_microbatch_size},
        kHypertronDegrees);
    for (const SlicePlan& plan :
         SearchHypertron(query.slice, query.island, query.options).plans) {
      const StageParallelism& p = plan.stages[0].plan.parallelism;
      planar += p.tp_y_degree > 1;
      context += p.cp_degree > 1;
      double gpu_seconds = 0;
      double latency_s = 0;
      double bytes = 0;
      for (int i = 0; i < plan.num_stages(); ++i) {
        const SliceStage& stage = plan.stages[i];
        const StageEnvironment environment = {
            .device = query.island.device,
            .training = query.options.training,
            .wiring = WiringOf(query.island, p.num_gpus()),
            .pipeline_microbatch_size = query.options.pipeline_microbatch_size};
        const StageMemory memory =
            EstimateStage(query.slice.runs, stage.plan, environment).memory;
        gpu_seconds += p.num_gpus() * stage.time_s;
        latency_s += stage.time_s;
        bytes += p.num_gpus() * (memory.PeakBytes(1) -
                                 query.island.device.efficiency.reserved_bytes);
      }
      EXPECT_LE(profile.min_gpu_seconds, gpu_seconds);
      EXPECT_LE(profile.min_latency_s, latency_s);
      EXPECT_LE(profile.min_total_bytes, bytes);
    }
  }
  EXPECT_GT(planar, 50);
  EXPECT_GT(context, 50);
}

}  // namespace
}  // namespace tangram
