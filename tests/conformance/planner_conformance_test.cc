// The promises of Planner (common/planner/planner.h), demanded of every planner
// of the registry. A planner's features say which of them apply.

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "coordinator/dispatch/local_slice_plan_source.h"
#include "coordinator/planners/builtin/builtin_planners.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "formats/config/device_catalogue.h"
#include "frameworks/framework_catalogue.h"
#include "frameworks/runtime_rules.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/planning/planning.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PlanLocally;
using testing::TestGroup;
using testing::TestRequest;

constexpr int kPlannerSeeds = 12;
constexpr int64_t kEffort = 64;

TestGroup GroupOf(const std::string& name, const std::string& type,
                  int num_nodes, int gpus_per_node) {
  return {.name = name,
          .num_nodes = num_nodes,
          .gpus_per_node = gpus_per_node,
          .device = FindDevice(type)->device};
}

// One to three groups; nodes of 1, 2 or 4 GPUs.
std::vector<TestGroup> MixedGroups(uint32_t seed) {
  std::mt19937 rng(seed);
  const std::vector<std::string> types = {"T4", "V100-16", "A100-40", "L4"};
  std::vector<TestGroup> groups;
  const int num_groups = 1 + static_cast<int>(rng() % 3);
  for (int g = 0; g < num_groups; ++g) {
    groups.push_back(
        GroupOf("g" + std::to_string(g), types[(rng() + g) % types.size()],
                1 + static_cast<int>(rng() % 2), 1 << (rng() % 3)));
  }
  return groups;
}

// Says stop at the `stop_at`-th time it is asked.
class StoppingObserver : public PlanObserver {
 public:
  explicit StoppingObserver(int stop_at) : left_(stop_at) {}
  void OnPhase(PlanPhase) override {}
  void OnPairs(int, int) override {}
  void OnBest(double) override {}
  bool ShouldStop() override { return --left_ < 0; }
  bool told() const { return left_ < 0; }

 private:
  int left_;
};

struct Conforming {
  std::string planner;
  std::string parallelizer;
};

class PlannerConformanceTest : public ::testing::TestWithParam<Conforming> {
 protected:
  const PlannerInfo& planner() const {
    return **BuiltinPlanners().Find(GetParam().planner);
  }

  absl::StatusOr<PlanResult> Plan(const PlanRequest& request,
                                  int num_threads = 1) const {
    return PlanLocally(request, GetParam().parallelizer,
                       {.max_search_steps = kEffort}, num_threads,
                       GetParam().planner);
  }
};

// The plan has several pipelines.
void ExpectValidAndFits(const PlanRequest& request, const PlanResult& result) {
  ASSERT_OK_AND_ASSIGN(
      const ReplicatedEvaluation evaluation,
      EvaluateReplicatedPlan(request.model, request.cluster, request.training,
                             *result.replicated_plan));
  EXPECT_TRUE(evaluation.fits());
  EXPECT_EQ(evaluation.iteration_time_s, result.iteration_time_s());
  for (const PipelineReplica& replica : result.replicated_plan->pipelines) {
    for (const PlacedStage& stage : replica.plan.stages) {
      ASSERT_GE(stage.island, 0);
      ASSERT_LT(stage.island, static_cast<int>(result.islands.size()));
    }
  }
}

TEST_P(PlannerConformanceTest, EveryPlanIsValidAndFits) {
  for (uint32_t seed = 0; seed < kPlannerSeeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const PlanRequest request = TestRequest(MixedGroups(seed));
    ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
    ASSERT_TRUE(result.has_plan());
    if (result.replicated_plan.has_value()) {
      ExpectValidAndFits(request, result);
      continue;
    }
    EXPECT_THAT(ValidatePlan(request.model, request.cluster, request.training,
                             *result.plan),
                testing::IsOk());
    ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                         EvaluatePlan(request.model, request.cluster,
                                      request.training, *result.plan));
    EXPECT_THAT(evaluation.violations, IsEmpty());
    EXPECT_EQ(evaluation.iteration_time_s, result.evaluation.iteration_time_s);
    for (const PlacedStage& stage : result.plan->stages) {
      ASSERT_GE(stage.island, 0);
      ASSERT_LT(stage.island, static_cast<int>(result.islands.size()));
    }
  }
}

TEST_P(PlannerConformanceTest, TheBoundIsAtMostTheSimulatedTime) {
  for (uint32_t seed = 0; seed < kPlannerSeeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(const PlanResult result,
                         Plan(TestRequest(MixedGroups(seed))));
    EXPECT_EQ(result.lower_bound_s > 0, planner().features.lower_bound);
    EXPECT_LE(result.lower_bound_s, result.iteration_time_s());
    for (const RunnerUp& other : result.runners_up) {
      EXPECT_LE(result.lower_bound_s, other.iteration_time_s);
    }
  }
}

TEST_P(PlannerConformanceTest, TheNumberOfThreadsChangesNothing) {
  const PlanRequest request = TestRequest(MixedGroups(3));
  ASSERT_OK_AND_ASSIGN(const PlanResult one, Plan(request, 1));
  ASSERT_OK_AND_ASSIGN(const PlanResult four, Plan(request, 4));
  EXPECT_EQ(one.plan, four.plan);
  EXPECT_EQ(one.replicated_plan, four.replicated_plan);
  EXPECT_EQ(one.lower_bound_s, four.lower_bound_s);
  EXPECT_EQ(one.certificate, four.certificate);
  EXPECT_EQ(one.closed_form_s, four.closed_form_s);
  EXPECT_EQ(one.runners_up, four.runners_up);
  EXPECT_EQ(one.notes, four.notes);
  EXPECT_EQ(one.stats.queries, four.stats.queries);
}

TEST_P(PlannerConformanceTest, StopsWheneverItIsTold) {
  const PlanRequest request = TestRequest(MixedGroups(4));
  const auto adapter = *CreateBuiltinParallelizer(GetParam().parallelizer);
  const auto source = CreateLocalSlicePlanSource(*adapter, /*num_threads=*/1);
  const auto planner = CreatePortfolioPlanner(
      {{.parallelizer = "it", .source = source.get()}},
      *BuiltinPlanners().Choose(GetParam().planner, {},
                                {.max_search_steps = kEffort}),
      FrameworkCatalogue());
  int stopped = 0;
  for (int stop_at = 0;; stop_at = stop_at * 2 + 1) {
    StoppingObserver observer(stop_at);
    const auto result = planner->Plan(request, observer);
    if (!observer.told()) {
      EXPECT_THAT(result, testing::IsOk());
      break;
    }
    EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled)
        << "stopped at poll " << stop_at;
    ++stopped;
  }
  EXPECT_GE(stopped, 2);
}

TEST_P(PlannerConformanceTest, NoPlanHasAReason) {
  PlanRequest request = TestRequest(MixedGroups(5));
  Cluster& cluster = request.cluster.MakeOwn();
  for (Node& node : cluster.nodes) node.device.memory_bytes = 1.2e9;
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  EXPECT_FALSE(result.has_plan());
  ASSERT_TRUE(result.infeasible.has_value());
  EXPECT_THAT(result.infeasible->reason, ::testing::Not(IsEmpty()));
  EXPECT_GT(result.infeasible->bytes_short, 0);
  EXPECT_EQ(result.lower_bound_s, 0);
}

// The parallelizer is asked for the whole model on the one island. The plan
// must be one of its answers, as no planner can know better without changing
// them.
TEST_P(PlannerConformanceTest, OnOneIslandThePlanIsTheParallelizersOwn) {
  if (!planner().features.parallelizers) return;
  const PlanRequest request =
      TestRequest({GroupOf("only", "V100-32", /*num_nodes=*/2, 4)});
  ASSERT_OK_AND_ASSIGN(
      const PlanResult result,
      PlanLocally(request, GetParam().parallelizer,
                  {.max_search_steps = kEffort, .polish = false},
                  /*num_threads=*/1, GetParam().planner));
  ASSERT_TRUE(result.plan.has_value());
  ASSERT_EQ(result.islands.size(), 1);

  const auto adapter = *CreateBuiltinParallelizer(GetParam().parallelizer);
  ASSERT_OK_AND_ASSIGN(
      const SlicePlanSet answer,
      adapter->Parallelize(
          testing::WholeSlice(request.model), result.islands[0].spec,
          {.training = request.training,
           .pipeline_microbatch_size = result.plan->pipeline_microbatch_size,
           .max_search_steps = kEffort}));
  const bool is_one_of_them = std::any_of(
      answer.plans.begin(), answer.plans.end(), [&](const SlicePlan& plan) {
        return std::equal(plan.stages.begin(), plan.stages.end(),
                          result.plan->stages.begin(),
                          result.plan->stages.end(),
                          [](const SliceStage& own, const PlacedStage& placed) {
                            return own.plan == placed.plan;
                          });
      });
  EXPECT_TRUE(is_one_of_them);
}

TEST_P(PlannerConformanceTest, MoreGpusNeverMakeItSlower) {
  if (!planner().features.leaves_out_gpus) return;
  for (uint32_t seed = 0; seed < kPlannerSeeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::vector<TestGroup> groups = MixedGroups(seed);
    ASSERT_OK_AND_ASSIGN(const PlanResult before, Plan(TestRequest(groups)));
    groups.push_back(GroupOf("more", "T4", 1, 4));
    ASSERT_OK_AND_ASSIGN(const PlanResult after, Plan(TestRequest(groups)));
    EXPECT_LE(after.evaluation.iteration_time_s,
              before.evaluation.iteration_time_s * (1 + 1e-9));
  }
}

TEST_P(PlannerConformanceTest, KeepsNodesOut) {
  if (!planner().features.constraints) return;
  PlanRequest request = TestRequest(
      {GroupOf("a", "V100-16", 2, 2), GroupOf("b", "V100-16", 2, 2)});
  request.constraints.exclude_nodes = {request.cluster->nodes[1].name};
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  ASSERT_TRUE(result.plan.has_value());
  for (const PlacedStage& stage : result.plan->stages) {
    for (const GpuId& gpu : stage.gpus) EXPECT_NE(gpu.node, 1);
  }
}

TEST_P(PlannerConformanceTest, EveryLayerRecomputesAsDemanded) {
  if (!planner().features.constraints) return;
  for (const char* runtime : {"", "megatron"}) {
    if (*runtime != 0 && !planner().features.runtimes) continue;
    PlanRequest request =
        TestRequest({GroupOf("a", "V100-16", 1, 4), GroupOf("b", "T4", 1, 4)});
    request.constraints.runtime = runtime;
    const std::vector<LayerRun> runs =
        MakeSlice({0, request.model.num_layers()}, request.model.layers).runs;
    for (const LayerRecompute recompute : kLayerRecomputes) {
      request.constraints.recompute = recompute;
      ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
      ASSERT_TRUE(result.plan.has_value());
      for (const PlacedStage& stage : result.plan->stages) {
        EXPECT_EQ(WhyOutside({.recompute = recompute}, stage.plan, runs), "");
      }
    }
  }
}

TEST_P(PlannerConformanceTest, PipelinesAreAsDemanded) {
  if (!planner().features.constraints) return;
  const PlanConstraints all[] = {
      {.pp_degree = 3},
      {.pp_degree = 2, .zero_stage = 1},
      {.zero_stage = 1, .zero_degree = 2},
      {.pp_degree = 2, .schedule = PipelineSchedule::kGpipe},
      {.pp_degree = 2, .virtual_stages = 2}};
  for (const PlanConstraints& constraints : all) {
    SCOPED_TRACE(DescribeConstraints(constraints).front());
    PlanRequest request =
        TestRequest({GroupOf("a", "V100-16", 1, 4), GroupOf("b", "T4", 1, 4)});
    request.constraints = constraints;
    const std::vector<LayerRun> runs =
        MakeSlice({0, request.model.num_layers()}, request.model.layers).runs;
    ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
    if (!result.plan.has_value()) {
      // A parallelizer may know no stages of such sizes.
      EXPECT_FALSE(planner().features.heterogeneous)
          << result.infeasible->reason;
      continue;
    }
    EXPECT_EQ(WhyNotAsked(constraints, *result.plan), "");
    for (const PlacedStage& stage : result.plan->stages) {
      EXPECT_EQ(WhyOutside(LimitsOfAllStages(constraints), stage.plan, runs),
                "");
    }
  }
}

TEST_P(PlannerConformanceTest, KeepsLimitsOfStages) {
  if (!planner().features.constraints) return;
  PlanRequest request = TestRequest({GroupOf("a", "V100-16", 2, 4)});
  request.constraints.tp_degrees = {{.value = 2}};
  request.constraints.max_stages = {{.value = 2}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_LE(result.plan->num_stages(), 2);
  for (const PlacedStage& stage : result.plan->stages) {
    EXPECT_EQ(stage.plan.parallelism.tp_degree, 2);
  }
}

TEST_P(PlannerConformanceTest, RefusesConstraintsThatItDoesNotMeet) {
  if (planner().features.constraints) return;
  PlanRequest request = TestRequest({GroupOf("a", "V100-16", 2, 4)});
  const auto refuses = [](const std::string& field) {
    return testing::StatusIs(absl::StatusCode::kInvalidArgument,
                             HasSubstr(field));
  };
  request.constraints.exclude_nodes = {request.cluster->nodes[1].name};
  EXPECT_THAT(Plan(request), refuses("constraints: without node "));
  request.constraints = {};
  request.pipeline_microbatch_size = 2;
  EXPECT_THAT(Plan(request), refuses("pipeline_microbatch_size: 2; planner"));
}

TEST_P(PlannerConformanceTest, RefusesRuntimesThatItDoesNotPlanFor) {
  if (planner().features.runtimes) return;
  PlanRequest request = TestRequest({GroupOf("a", "V100-32", 1, 4)});
  request.constraints.runtime = "megatron";
  EXPECT_THAT(Plan(request),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("megatron; planner")));
}

TEST_P(PlannerConformanceTest, PlansForARuntime) {
  if (!planner().features.runtimes) return;
  PlanRequest request = TestRequest({GroupOf("a", "V100-32", 1, 4)});
  request.constraints.runtime = "megatron";
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  if (!result.plan.has_value()) {
    EXPECT_THAT(result.infeasible->reason, ::testing::Not(IsEmpty()));
    return;
  }
  ASSERT_OK_AND_ASSIGN(
      const Framework* rules,
      FindFramework(PlanningRuntimes(), kRuntimeField, "megatron"));
  EXPECT_THAT(
      FitPlan(*rules, {.cluster = request.cluster,
                       .model = request.model,
                       .training = result.training.value_or(request.training),
                       .plan = *result.plan}),
      testing::IsOkAndHolds(*result.plan));
}

// Two nodes of another vendor, which are faster.
TEST_P(PlannerConformanceTest, PlansARuntimeOnOneCollectiveLibrary) {
  if (!planner().features.runtimes) return;
  PlanRequest request = TestRequest(
      {GroupOf("a", "A100-80", 1, 4), GroupOf("b", "MI300X", 1, 4)});
  request.constraints.runtime = "megatron";
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  if (!result.plan.has_value()) {
    EXPECT_THAT(result.infeasible->reason, HasSubstr("a launch over"));
    return;
  }
  std::set<CollectiveLibrary> used;
  for (const PlacedStage& stage : result.plan->stages) {
    for (const GpuId& gpu : stage.gpus) {
      used.insert(request.cluster->nodes[gpu.node].device.collective_library);
    }
  }
  EXPECT_EQ(used.size(), 1u);
  EXPECT_THAT(result.notes,
              ::testing::Contains(HasSubstr("planned for the GPUs of nccl, of "
                                            "rccl alone")));
}

TEST_P(PlannerConformanceTest, SaysWhyARuntimeRunsOnNoGpu) {
  if (!planner().features.runtimes) return;
  PlanRequest request = TestRequest({GroupOf("a", "V100-32", 1, 4)});
  request.constraints.runtime = "galvatron";
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request));
  ASSERT_FALSE(result.plan.has_value());
  EXPECT_THAT(result.infeasible->reason,
              HasSubstr("galvatron: flash attention does not run on V100-32"));
}

TEST_P(PlannerConformanceTest, RefusesOptionsThatItDoesNotHave) {
  const auto result =
      PlanLocally(TestRequest(MixedGroups(1)), GetParam().parallelizer, {}, 1,
                  GetParam().planner, {{"speed", "11"}});
  EXPECT_THAT(result, testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("planner_options.speed: 11; "
                                                  "expected an option of")));
}

// Every planner, with two parallelizers if it asks any.
std::vector<Conforming> AllPlanners() {
  std::vector<Conforming> all;
  for (const PlannerInfo& planner : BuiltinPlanners().planners()) {
    all.push_back({planner.name, "uniform"});
    if (planner.features.parallelizers) all.push_back({planner.name, "aceso"});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Planners, PlannerConformanceTest,
                         ::testing::ValuesIn(AllPlanners()),
                         [](const auto& test) {
                           std::string name = test.param.planner + "_" +
                                              test.param.parallelizer;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tangram
