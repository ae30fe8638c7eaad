#include "coordinator/planners/tangram/tangram_planner.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/infinity.h"
#include "coordinator/planners/judge/judged_planner.h"
#include "coordinator/planners/tangram/pair_search.h"
#include "coordinator/planners/tangram/search_space.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/fake_slice_plan_source.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/planners/tangram/fast_and_slow.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::FakeSlicePlanSource;
using testing::FastAndSlow;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Judged;
using ::testing::Not;
using testing::Plan;
using ::testing::SizeIs;
using testing::SlowIsHalfAsFast;
using testing::StatusIs;

TEST(TangramPlannerTest, TheFasterGpuGetsMoreLayers) {
  FakeSlicePlanSource source;
  source.seconds_per_layer = SlowIsHalfAsFast;
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(FastAndSlow(), source));
  ASSERT_TRUE(result.plan.has_value());
  // 6 layers: 4 at 1 s on the fast GPU and 2 at 2 s on the slow one, and one
  // sample at a time: 4 + 4 + 7 · 4 = 36.
  EXPECT_NEAR(result.closed_form_s, 36, 1e-6);
  EXPECT_THAT(result.plan->stages, SizeIs(2));
  EXPECT_THAT(result.unused_islands, IsEmpty());
}

TEST(TangramPlannerTest, AUselessIslandIsLeftOutWithItsReason) {
  FakeSlicePlanSource source;
  source.seconds_per_layer = [](const IslandSpec& island) {
    return island.device.type == "SLOW" ? 100 : 1;
  };
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(FastAndSlow(), source));
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_THAT(result.plan->stages, SizeIs(1));
  EXPECT_NEAR(result.closed_form_s, 48, 1e-6);  // 6 + 7 · 6
  ASSERT_THAT(result.unused_islands, SizeIs(1));
  EXPECT_THAT(result.islands[result.unused_islands[0].island].name,
              HasSubstr("SLOW"));
  EXPECT_THAT(result.unused_islands[0].reason, HasSubstr("takes"));
}

// The best pipelines have two stages and take 36 s. The best that the runtime
// accepts has one and takes 48 s.
TEST(TangramPlannerTest, LooksOnUpToTheIncumbentIfTheBestAreRefused) {
  FakeSlicePlanSource source;
  source.seconds_per_layer = SlowIsHalfAsFast;
  PipelineRules rules{
      .fit = [](const PlanRequest&,
                const PipelinePlan& plan) -> absl::StatusOr<PipelinePlan> {
        if (plan.num_stages() == 1) return plan;
        return absl::InvalidArgumentError("needs one stage");
      }};
  const auto plan = [&] {
    testing::SilentObserver observer;
    return Judged(source, {}, rules)->Plan(FastAndSlow(), observer);
  };
  for (const double incumbent_s : {kInfinity, 100.0}) {
    rules.incumbent_s = incumbent_s;
    ASSERT_OK_AND_ASSIGN(const PlanResult result, plan());
    ASSERT_TRUE(result.plan.has_value());
    EXPECT_NEAR(result.closed_form_s, 48, 1e-6);
  }
  rules.incumbent_s = 37;  // Within the slack of 3 %.
  ASSERT_OK_AND_ASSIGN(PlanResult none, plan());
  EXPECT_FALSE(none.plan.has_value());
  rules.incumbent_s = 100;
  rules.persists = false;
  ASSERT_OK_AND_ASSIGN(none, plan());
  EXPECT_FALSE(none.plan.has_value());
}

TEST(TangramPlannerTest, AsksNothingForARuntimeIfNoPlanCanBeFastEnough) {
  FakeSlicePlanSource source;
  source.seconds_per_layer = SlowIsHalfAsFast;
  PipelineRules rules{.fit = [](const PlanRequest&, const PipelinePlan& plan)
                          -> absl::StatusOr<PipelinePlan> { return plan; }};
  const auto queries_below = [&](double incumbent_s) {
    rules.incumbent_s = incumbent_s;
    testing::SilentObserver observer;
    const absl::StatusOr<PlanResult> result =
        Judged(source, {}, rules)->Plan(FastAndSlow(), observer);
    EXPECT_TRUE(result.ok());
    return result->stats.queries;
  };
  EXPECT_GT(queries_below(37), 0);
  EXPECT_EQ(queries_below(1e-3), 0);
}

TEST(TangramPlannerTest, TellsWhatTheNextBestPlansCost) {
  FakeSlicePlanSource source;
  source.seconds_per_layer = SlowIsHalfAsFast;
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(FastAndSlow(), source));
  EXPECT_THAT(result.runners_up,
              SizeIs(std::min<int64_t>(5, result.stats.finalists - 1)));
  ASSERT_THAT(result.runners_up, Not(IsEmpty()));
  for (size_t i = 0; i < result.runners_up.size(); ++i) {
    const RunnerUp& other = result.runners_up[i];
    EXPECT_THAT(other.islands, Not(IsEmpty()));
    EXPECT_GE(other.num_stages, static_cast<int>(other.islands.size()));
    EXPECT_EQ(8 % other.pipeline_microbatch_size, 0);
    if (i > 0) {
      EXPECT_GE(other.iteration_time_s,
                result.runners_up[i - 1].iteration_time_s);
    }
  }
}

TEST(TangramPlannerTest, AsksAgainOnlyWhereTrailingStagesDoNotFit) {
  FakeSlicePlanSource source;
  source.seconds_per_layer = SlowIsHalfAsFast;
  // Slices that may stand last are asked with no stage behind them first.
  source.bears = [](int trailing) { return trailing; };
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(FastAndSlow(), source));
  EXPECT_NEAR(result.closed_form_s, 36, 1e-6);
  EXPECT_EQ(result.stats.requeries, 0);  // Two slices: never more than one.
}

TEST(TangramPlannerTest, ReusesPlansUntilTheyStopFitting) {
  // Three equal GPUs on different networks are three islands.
  PlanRequest request = FastAndSlow();
  request.cluster = testing::TestCluster(
      {{.name = "a", .gpus_per_node = 1, .device = testing::TestDevice("A")},
       {.name = "b", .gpus_per_node = 2, .device = testing::TestDevice("B")},
       {.name = "c", .gpus_per_node = 4, .device = testing::TestDevice("C")}},
      1e15);
  FakeSlicePlanSource source;
  source.bears = [](int trailing) { return trailing; };
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request, source));
  // 2 + 2 + 2 layers: 6 + 7 · 2 = 20. The first of three slices was asked for
  // one trailing stage and is asked again for two.
  EXPECT_NEAR(result.closed_form_s, 20, 1e-6);
  EXPECT_GT(result.stats.requeries, 0);
}

TEST(TangramPlannerTest, NothingFitsIsAnAnswer) {
  FakeSlicePlanSource source;
  source.infeasible = true;
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(FastAndSlow(), source));
  EXPECT_FALSE(result.plan.has_value());
  ASSERT_TRUE(result.infeasible.has_value());
  EXPECT_THAT(result.infeasible->reason, HasSubstr("does not fit in memory"));
  EXPECT_DOUBLE_EQ(result.infeasible->bytes_short, 5e9);
}

TEST(TangramPlannerTest, SaysWhyNoGpuIsLeft) {
  FakeSlicePlanSource source;
  testing::SilentObserver observer;
  PipelineRules rules;
  rules.why_not_device = [](const DeviceSpec& device) {
    return device.type + " is too old";
  };
  ASSERT_OK_AND_ASSIGN(
      const PlanResult result,
      Judged(source, {}, rules)->Plan(FastAndSlow(), observer));
  ASSERT_TRUE(result.infeasible.has_value());
  EXPECT_THAT(
      result.infeasible->reason,
      AllOf(HasSubstr("no GPUs are left: "), HasSubstr("FAST is too old"),
            HasSubstr("SLOW is too old"), Not(HasSubstr("GB"))));
  EXPECT_EQ(result.infeasible->bytes_short, 0);
}

TEST(TangramPlannerTest, MicrobatchMustDivideTheBatch) {
  FakeSlicePlanSource source;
  PlanRequest request = FastAndSlow();
  request.pipeline_microbatch_size = 3;
  EXPECT_THAT(Plan(request, source),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("pipeline_microbatch_size: 3"),
                             HasSubstr("1, 2, 4, 8"))));
}

TEST(TangramPlannerTest, AGivenMicrobatchIsTheOnlyOneTried) {
  FakeSlicePlanSource source;
  PlanRequest request = FastAndSlow();
  request.pipeline_microbatch_size = 4;
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request, source));
  EXPECT_EQ(result.plan->pipeline_microbatch_size, 4);
  EXPECT_THAT(source.queries,
              Each(Field(&PairQuery::pipeline_microbatch_size, 4)));
}

TEST(TangramPlannerTest, ErrorsOfTheSourceAreReturned) {
  FakeSlicePlanSource source;
  source.parallelize_status = absl::UnavailableError("no worker");
  EXPECT_THAT(Plan(FastAndSlow(), source),
              StatusIs(absl::StatusCode::kUnavailable, "no worker"));
}

TEST(TangramPlannerTest, StopsWhenTold) {
  FakeSlicePlanSource source;
  testing::SilentObserver observer;
  observer.stop = true;
  EXPECT_THAT(Judged(source)->Plan(FastAndSlow(), observer),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
}

TEST(TangramPlannerTest, EarlyStopScalesEffortWithTheSlice) {
  FakeSlicePlanSource source;
  ASSERT_OK_AND_ASSIGN(const PlanResult scaled,
                       Plan(FastAndSlow(), source, {.max_search_steps = 600}));
  int64_t least = 600, most = 0;
  for (const PairQuery& query : source.queries) {
    least = std::min(least, query.max_search_steps);
    most = std::max(most, query.max_search_steps);
  }
  EXPECT_EQ(most, 600);  // The whole model.
  EXPECT_EQ(least % 100, 0);
  EXPECT_LT(least, 600);

  source.queries.clear();
  ASSERT_OK_AND_ASSIGN(
      const PlanResult full,
      Plan(FastAndSlow(), source,
           {.pruning = {.early_stop = false}, .max_search_steps = 600}));
  EXPECT_THAT(source.queries, Each(Field(&PairQuery::max_search_steps, 600)));
}

TEST(TangramPlannerTest, RedundancyAsksOnceForEachComposition) {
  FakeSlicePlanSource merged;
  FakeSlicePlanSource all;
  const TangramOptions no_bounds = {
      .pruning = {.imbalance = false, .incompatibility = false}};
  TangramOptions naive = no_bounds;
  naive.pruning.redundancy = false;
  PlanRequest request = FastAndSlow();
  request.pipeline_microbatch_size = 1;
  ASSERT_OK_AND_ASSIGN(const PlanResult once, Plan(request, merged, no_bounds));
  ASSERT_OK_AND_ASSIGN(const PlanResult every, Plan(request, all, naive));
  EXPECT_THAT(all.queries, SizeIs(2 * 21));     // 2 islands · 6 · 7 / 2
  EXPECT_THAT(merged.queries, SizeIs(2 * 15));  // 4 + 4 + 4 + 1 + 2
  EXPECT_EQ(once.stats.pruned_redundant, 2 * 6);
  EXPECT_EQ(once.plan, every.plan);
}

// More islands than the search takes, each of one GPU of its own speed.
PlanRequest ManyIslands(int count) {
  std::vector<testing::TestGroup> groups;
  for (int i = 0; i < count; ++i) {
    DeviceSpec device = testing::TestDevice("D" + std::to_string(i));
    const double flops = 100e12 * std::pow(1.06, i);
    device.peak_flops = {.fp32 = flops, .fp16 = flops, .bf16 = flops};
    groups.push_back({.name = "g" + std::to_string(i),
                      .gpus_per_node = 1,
                      .device = device});
  }
  return {.cluster = testing::TestCluster(groups, 1e15),
          .model = testing::TestModel(4),
          .training = testing::TestTraining(8)};
}

TEST(TangramPlannerTest, BuildingIslandsStopsWhenTold) {
  FakeSlicePlanSource source;
  testing::SilentObserver observer;
  observer.stop = true;
  EXPECT_THAT(
      CreateTangramPlanner(source, {})->Islands(ManyIslands(20), observer),
      StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
}

TEST(TangramPlannerTest, BoundsOfAnIslandStopWhenTold) {
  const PlanRequest request = FastAndSlow();
  FakeSlicePlanSource source;
  testing::SilentObserver observer;
  ASSERT_OK_AND_ASSIGN(const SearchSpace space,
                       BuildSearchSpace(request, {}, {}, source, observer));
  const TangramOptions options;
  const PipelineRules rules;
  const PairSearch search(space, request, options, rules, source, observer);
  EXPECT_THAT(search.LeastWithIsland(0), testing::IsOk());
  observer.stop = true;
  EXPECT_THAT(search.LeastWithIsland(0),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
}

TEST(TangramPlannerTest, MoreIslandsThanAreSearchedAreMergedWithANote) {
  FakeSlicePlanSource source;
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(ManyIslands(20), source));
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_THAT(result.islands, SizeIs(16));
  EXPECT_THAT(result.notes,
              ::testing::Contains(HasSubstr("20 islands were merged into 16")));
  EXPECT_THAT(result.evaluation.violations, IsEmpty());
}

TEST(TangramPlannerTest, PruningChangesNoPlanOfMergedIslands) {
  PlanRequest request = ManyIslands(18);
  request.model = testing::TestModel(2);
  FakeSlicePlanSource source;
  source.seconds_per_layer = [](const IslandSpec& island) {
    return 1e14 / island.device.peak_flops.fp16;
  };
  ASSERT_OK_AND_ASSIGN(const PlanResult pruned, Plan(request, source));
  ASSERT_OK_AND_ASSIGN(const PlanResult naive,
                       Plan(request, source,
                            {.pruning = {.redundancy = false,
                                         .imbalance = false,
                                         .infeasibility = false,
                                         .incompatibility = false}}));
  ASSERT_TRUE(pruned.plan.has_value());
  EXPECT_LT(pruned.stats.queries, naive.stats.queries);
  EXPECT_EQ(pruned.closed_form_s, naive.closed_form_s);
  EXPECT_EQ(pruned.evaluation.iteration_time_s,
            naive.evaluation.iteration_time_s);
}

TEST(TangramPlannerTest, IslandsThatConstraintsNameStayApart) {
  // A merge of the two slowest loses least.
  PlanRequest request = ManyIslands(17);
  request.constraints.exclude_islands = {"g0"};
  FakeSlicePlanSource source;
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request, source));
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_THAT(result.islands[0].nodes, ::testing::ElementsAre(0));
  for (const PlacedStage& stage : result.plan->stages) {
    EXPECT_NE(stage.island, 0);
  }
}

// Each of 6 atoms needs at least source.min_total_bytes; a GPU has 16 GB.
TEST(TangramPlannerTest, OnlyGpusOfEqualMemoryProveThatNoShardingFits) {
  FakeSlicePlanSource source;
  source.min_total_bytes = 6e9;
  PlanRequest request = FastAndSlow();
  ASSERT_OK_AND_ASSIGN(PlanResult result, Plan(request, source));
  EXPECT_THAT(result.infeasible->reason, HasSubstr("however it is sharded"));
  EXPECT_THAT(result.limits, IsEmpty());

  // The second node has 17 GB, and their island counts 16.5 GB twice.
  Cluster cluster =
      testing::TestCluster({{.name = "fast",
                             .num_nodes = 2,
                             .gpus_per_node = 1,
                             .device = testing::TestDevice("FAST")},
                            {.name = "slow",
                             .gpus_per_node = 1,
                             .device = request.cluster->nodes[1].device}});
  cluster.nodes[0].device.memory_bytes = 16.5e9;
  cluster.nodes[1].device.memory_bytes = 17e9;
  request.cluster = std::move(cluster);
  source.min_total_bytes = 8.2e9;  // 49.2 GB; 49 GB counted, 49.5 GB in all.
  ASSERT_OK_AND_ASSIGN(result, Plan(request, source));
  EXPECT_THAT(result.infeasible->reason,
              HasSubstr("each taken for the weakest of its island"));
  EXPECT_THAT(result.limits, ElementsAre(HasSubstr("--memory-tolerance 0")));
  source.min_total_bytes = 9e9;
  ASSERT_OK_AND_ASSIGN(result, Plan(request, source));
  EXPECT_THAT(result.infeasible->reason, HasSubstr("however it is sharded"));

  source.min_total_bytes = 1e12;
  ASSERT_OK_AND_ASSIGN(result, Plan(ManyIslands(20), source));
  EXPECT_THAT(result.infeasible->reason,
              HasSubstr("each taken for the weakest of its island"));
  EXPECT_THAT(result.limits, ElementsAre(HasSubstr("--exclude-node")));
}

TEST(TangramPlannerTest, GroupsOfAtomsProveNothing) {
  PlanRequest request = FastAndSlow();
  request.model = testing::TestModel(300);
  FakeSlicePlanSource source;
  source.infeasible = true;
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request, source));
  EXPECT_THAT(result.limits, ElementsAre(AllOf(HasSubstr("groups of 2 atoms"),
                                               HasSubstr("--microbatch"))));
}

TEST(TangramPlannerTest, DeepModelsArePlannedInGroupsOfLayers) {
  PlanRequest request = FastAndSlow();
  request.model = testing::TestModel(3000);
  for (Node& node : request.cluster.MakeOwn().nodes) {
    node.device.memory_bytes = 1e15;
  }
  FakeSlicePlanSource source;
  source.seconds_per_layer = SlowIsHalfAsFast;
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request, source));
  EXPECT_THAT(result.notes,
              ::testing::Contains(HasSubstr("the model has 3002 atoms")));
  EXPECT_LE(source.queries.size(), 2u * 4 * 800);
  ASSERT_TRUE(result.plan.has_value());
  // The source says that the fast GPU is twice as fast, which gives it two
  // thirds of the layers, to a group of 12. The simulator knows that both GPUs
  // have the same memory bandwidth, so the slow one takes up to two more
  // groups.
  ASSERT_THAT(result.plan->stages, SizeIs(2));
  EXPECT_EQ(result.plan->stages.back().plan.end.layer, 3002);
  int on_fast = 0;
  for (const PlacedStage& stage : result.plan->stages) {
    if (result.islands[stage.island].name != "FAST x1") continue;
    on_fast = stage.plan.end.layer - stage.plan.begin.layer;
  }
  EXPECT_NEAR(on_fast, 2.0 * 3002 / 3, 3 * 12);
}

TEST(TangramPlannerTest, PollsBetweenBatchesOfQuestions) {
  class Counting : public testing::SilentObserver {
   public:
    explicit Counting(const FakeSlicePlanSource& source) : source_(source) {}
    bool ShouldStop() override {
      most_between_ = std::max(most_between_, source_.queries.size() - seen_);
      seen_ = source_.queries.size();
      return false;
    }
    size_t most_between() const { return most_between_; }

   private:
    const FakeSlicePlanSource& source_;
    size_t seen_ = 0;
    size_t most_between_ = 0;
  };
  // Without pruning every pair is asked in one wave: 1,711 slices twice.
  PlanRequest request = FastAndSlow();
  request.model = testing::TestModel(56);
  FakeSlicePlanSource source;
  Counting observer(source);
  EXPECT_THAT(Judged(source, {.pruning = {.redundancy = false,
                                          .imbalance = false,
                                          .incompatibility = false}})
                  ->Plan(request, observer),
              testing::IsOk());
  EXPECT_GT(source.queries.size(), 10'000u);
  EXPECT_LE(observer.most_between(), 1024u);
}

}  // namespace
}  // namespace tangram
