// A plan with a violation is never returned as a success. Checked on random
// clusters, models and adapters, also with adapters whose memory figures are
// wrong.
//
// TANGRAM_ANSWER_CASES sets the number of cases; 500 take minutes.

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/sim/evaluate_plan.h"
#include "coordinator/dispatch/local_slice_plan_source.h"
#include "coordinator/planners/builtin/builtin_planners.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "formats/config/device_catalogue.h"
#include "frameworks/framework_catalogue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/lying_parallelizer.h"
#include "tests/testing/number_from_environment.h"
#include "tests/testing/planning/planning.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram {
namespace {

using ::testing::IsEmpty;
using testing::LyingParallelizer;
using testing::SilentObserver;
using testing::TestGroup;

constexpr int kUsualCases = 60;

int NumCases() {
  return testing::NumberFromEnvironment("TANGRAM_ANSWER_CASES", kUsualCases);
}

double Uniform(std::mt19937& rng, double low, double high) {
  return low + (high - low) * (static_cast<double>(rng() % 10000) / 10000);
}

struct AnswerCase {
  PlanRequest request;
  std::string adapter;
  double memory_factor = 1;  // Above 1, the adapter states too little memory.
  std::string planner;
};

// Returns a case whose GPUs have so little memory that many plans do not fit.
AnswerCase RandomCase(uint32_t seed) {
  std::mt19937 rng(seed);
  const std::vector<std::string> types = {"T4", "V100-16", "V100-32", "A100-40",
                                          "L4"};
  std::vector<TestGroup> groups;
  const int num_groups = 1 + static_cast<int>(rng() % 3);
  for (int g = 0; g < num_groups; ++g) {
    DeviceSpec device = FindDevice(types[rng() % types.size()])->device;
    const double reserved = device.efficiency.reserved_bytes;
    device.memory_bytes = reserved + Uniform(rng, 0.1e9, 2.5e9);
    groups.push_back({.name = "g" + std::to_string(g),
                      .num_nodes = 1 + static_cast<int>(rng() % 2),
                      .gpus_per_node = 1 << (rng() % 3),
                      .device = device});
  }
  const std::vector<std::string> dense = {"aceso", "alpa",      "galvatron",
                                          "mist",  "hypertron", "uniform"};
  const std::vector<std::string> moe = {"uniform"};
  const bool experts = rng() % 5 == 0;
  const std::vector<double> factors = {1, 1, 1.3, 2, 4};
  const int layers = 2 + static_cast<int>(rng() % 5);
  const int hidden = 512 << (rng() % 3);
  AnswerCase answer{
      .request = {.cluster = testing::TestCluster(groups, 2e9),
                  .model = experts ? testing::TestMoeModel(layers, hidden / 2)
                                   : testing::TestModel(layers, hidden),
                  .training = testing::TestTraining(4 << (rng() % 2))},
      .memory_factor = factors[rng() % factors.size()],
      .planner = rng() % 4 == 0 ? "whole-cluster" : "tangram"};
  const auto& adapters = experts ? moe : dense;
  answer.adapter = adapters[rng() % adapters.size()];
  return answer;
}

absl::StatusOr<PlanResult> PlanCase(const AnswerCase& asked) {
  const LyingParallelizer adapter(*CreateBuiltinParallelizer(asked.adapter),
                                  asked.memory_factor);
  const auto source = CreateLocalSlicePlanSource(adapter, /*num_threads=*/1);
  SilentObserver observer;
  return CreatePortfolioPlanner(
             {{.parallelizer = asked.adapter, .source = source.get()}},
             *BuiltinPlanners().Choose(asked.planner, {},
                                       {.max_search_steps = 64}),
             FrameworkCatalogue())
      ->Plan(asked.request, observer);
}

TEST(AnswersFitTest, APlanInAnAnswerFits) {
  int num_plans = 0;
  int num_none = 0;
  int num_saved = 0;  // Plans despite adapters with wrong memory figures.
  for (int seed = 0; seed < NumCases(); ++seed) {
    const AnswerCase asked = RandomCase(seed);
    SCOPED_TRACE(::testing::Message()
                 << "seed " << seed << ", " << asked.adapter << " x "
                 << asked.memory_factor << ", " << asked.planner);
    ASSERT_OK_AND_ASSIGN(const PlanResult result, PlanCase(asked));
    EXPECT_NE(result.plan.has_value(), result.infeasible.has_value());
    if (!result.plan.has_value()) {
      ++num_none;
      EXPECT_FALSE(result.infeasible->reason.empty());
      continue;
    }
    ++num_plans;
    num_saved += asked.memory_factor > 1 ? 1 : 0;
    // Evaluate again, to trust nothing in the answer.
    ASSERT_OK_AND_ASSIGN(
        const Evaluation evaluation,
        EvaluatePlan(asked.request.model, asked.request.cluster,
                     asked.request.training, *result.plan));
    EXPECT_THAT(evaluation.violations, IsEmpty());
    EXPECT_EQ(evaluation.iteration_time_s, result.evaluation.iteration_time_s);
    EXPECT_LE(result.lower_bound_s, evaluation.iteration_time_s);
  }
  std::printf("%d plans, %d of them from adapters that lie; %d without\n",
              num_plans, num_saved, num_none);
  EXPECT_GT(num_plans, 0);
  EXPECT_GT(num_none, 0);
  EXPECT_GT(num_saved, 0);
}

// Answers every pair with a few kinds of plans at random times, and claims that
// each fits with any number of trailing stages.
class BoastfulSource : public SlicePlanSource {
 public:
  explicit BoastfulSource(uint32_t seed) : seed_(seed) {}

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) override {
    return SliceByLayer(model);
  }
  absl::StatusOr<std::vector<ModelSlice>> Concatenate(
      absl::Span<const ConcatenateQuery> queries) override {
    std::vector<ModelSlice> joined;
    for (const ConcatenateQuery& query : queries) {
      joined.push_back(JoinSlices(query.head, query.tail));
    }
    return joined;
  }
  absl::StatusOr<std::vector<PerformanceProfile>> Profile(
      const PairContext&, absl::Span<const ProfileQuery> queries) override {
    // Profiles without values prune nothing, so every pair is asked.
    return std::vector<PerformanceProfile>(queries.size());
  }
  absl::StatusOr<std::vector<SlicePlanSet>> Parallelize(
      const PairContext& context, absl::Span<const PairQuery> queries,
      const Progress& progress) override {
    std::vector<SlicePlanSet> answers;
    for (const PairQuery& query : queries) {
      answers.push_back(
          {.plans = PlansOf(context.slices[query.slice].num_layers(),
                            context.islands[query.island])});
    }
    const int done = static_cast<int>(queries.size());
    progress(done, done);
    return answers;
  }

  // Returns plans of one stage on one or two GPUs, without and with
  // recomputation. Without it, a plan is usually faster and needs more memory.
  std::vector<SlicePlan> PlansOf(int layers, const IslandSpec& island) const {
    std::vector<SlicePlan> plans;
    std::mt19937 rng(seed_ + layers * 31 + island.gpus_per_node * 7);
    for (int tp = 1; tp <= std::min(2, island.gpus_per_node); ++tp) {
      for (const bool recompute : {false, true}) {
        const double seconds =
            layers * (recompute ? 1.3 : 1.0) * Uniform(rng, 0.5, 1.5) / tp;
        const OpMask mask = recompute ? OpMask{1} : kRecomputeNone;
        plans.push_back({.stages = {{.plan = {.end = {layers, 0},
                                              .parallelism = {.tp_degree = tp},
                                              .recompute = {{layers, mask}}},
                                     .time_s = seconds,
                                     .backward_s = seconds / 2}},
                         .max_trailing_stages = kUnlimitedTrailingStages,
                         .made_by = "boastful"});
      }
    }
    return plans;
  }

 private:
  const uint32_t seed_;
};

// Tries every composition of the source's plans.
class EveryComposition {
 public:
  EveryComposition(const PlanRequest& request,
                   const std::vector<Island>& islands,
                   const BoastfulSource& source)
      : request_(request), islands_(islands), source_(source) {}

  bool AnyFits() {
    plan_.pipeline_microbatch_size = request_.pipeline_microbatch_size;
    return Extend(0, 0);
  }
  int num_tried() const { return num_tried_; }

 private:
  bool Extend(int layer, int used) {
    const int num_layers = request_.model.num_layers();
    if (layer == num_layers) {
      ++num_tried_;
      const auto evaluation = EvaluatePlan(request_.model, request_.cluster,
                                           request_.training, plan_);
      return evaluation->violations.empty();
    }
    for (const Island& island : islands_) {
      if ((used >> island.id & 1) != 0) continue;
      for (int end = layer + 1; end <= num_layers; ++end) {
        for (const SlicePlan& slice :
             source_.PlansOf(end - layer, island.spec)) {
          Place(slice.stages.front().plan, layer, island);
          const bool fits = Extend(end, used | 1 << island.id);
          plan_.stages.pop_back();
          if (fits) return true;
        }
      }
    }
    return false;
  }

  void Place(StagePlan stage, int layer, const Island& island) {
    stage.begin.layer += layer;
    stage.end.layer += layer;
    PlacedStage& placed = plan_.stages.emplace_back(
        PlacedStage{.plan = stage, .island = island.id});
    for (int i = 0; i < stage.parallelism.num_gpus(); ++i) {
      placed.gpus.push_back({.node = island.nodes.front(), .index = i});
    }
  }

  const PlanRequest& request_;
  const std::vector<Island>& islands_;
  const BoastfulSource& source_;
  PipelinePlan plan_;
  int num_tried_ = 0;
};

TEST(AnswersFitTest, ThereIsAPlanIfAndOnlyIfACompositionFits) {
  int num_plans = 0;
  int num_none = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    std::vector<TestGroup> groups;
    for (int g = 0; g < 2; ++g) {
      DeviceSpec device = testing::TestDevice("G" + std::to_string(g));
      device.memory_bytes =
          device.efficiency.reserved_bytes + Uniform(rng, 0.02e9, 0.2e9);
      groups.push_back({.name = "g" + std::to_string(g),
                        .gpus_per_node = 1 + g,
                        .device = device});
    }
    PlanRequest request{.cluster = testing::TestCluster(groups, 2e9),
                        .model = testing::TestModel(3, 512),
                        .training = testing::TestTraining(8),
                        .pipeline_microbatch_size = 2};
    BoastfulSource source(seed);
    SilentObserver observer;
    ASSERT_OK_AND_ASSIGN(
        const PlanResult result,
        CreatePortfolioPlanner(
            {{.parallelizer = "boastful", .source = &source}},
            *BuiltinPlanners().Choose("", {}, {}), FrameworkCatalogue())
            ->Plan(request, observer));
    EveryComposition every(request, result.islands, source);
    EXPECT_EQ(result.plan.has_value(), every.AnyFits());
    (result.plan.has_value() ? num_plans : num_none)++;
  }
  EXPECT_GT(num_plans, 10);
  EXPECT_GT(num_none, 5);
}

}  // namespace
}  // namespace tangram
