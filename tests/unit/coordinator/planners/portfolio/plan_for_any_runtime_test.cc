#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "coordinator/planners/builtin/builtin_planners.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "frameworks/framework_catalogue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/fake_slice_plan_source.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/planners/portfolio/left_and_right.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::FakeSlicePlanSource;
using testing::GoodOn;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using testing::LeftAndRight;
using ::testing::Not;
using testing::PlanLeftAndRight;
using ::testing::StartsWith;
using testing::StatusIs;

// Returns the entry of `runtime`.
PlanAlternative EntryOf(const PlanResult& result, const std::string& runtime) {
  for (const PlanAlternative& entry : result.alternatives) {
    if (entry.runtime == runtime) return entry;
  }
  ADD_FAILURE() << "no entry of " << runtime;
  return {};
}

TEST(AutoRuntimeTest, AnswersTheFastestPlanOfAllRuntimes) {
  FakeSlicePlanSource source = GoodOn("LEFT");
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanLeftAndRight({{"own", &source}}, kAutoRuntime));

  ASSERT_TRUE(result.plan.has_value());
  double fastest_s = std::numeric_limits<double>::infinity();
  for (const PlanningRuntime* runtime : FrameworkCatalogue().All()) {
    const std::string name(runtime->name());
    ASSERT_OK_AND_ASSIGN(const PlanResult named,
                         PlanLeftAndRight({{"own", &source}}, name));
    const PlanAlternative entry = EntryOf(result, name);
    EXPECT_EQ(entry.iteration_time_s.has_value(), named.plan.has_value());
    EXPECT_EQ(entry.reason.empty(), named.plan.has_value());
    if (!named.plan.has_value()) continue;
    // Plans far behind the best are not searched on.
    EXPECT_GE(*entry.iteration_time_s, named.evaluation.iteration_time_s);
    fastest_s = std::min(fastest_s, named.evaluation.iteration_time_s);
  }
  EXPECT_EQ(result.evaluation.iteration_time_s, fastest_s);
  ASSERT_OK_AND_ASSIGN(const PlanResult free,
                       PlanLeftAndRight({{"own", &source}}));
  // Only plans faster than the answer were looked for.
  const double hinted_s = *EntryOf(result, kAnyRuntime).iteration_time_s;
  EXPECT_GE(hinted_s, free.evaluation.iteration_time_s);
  EXPECT_LE(hinted_s, fastest_s);
  EXPECT_THAT(result.notes, Contains(HasSubstr("runtime auto: planned for ")));
}

TEST(AutoRuntimeTest, SeveralMembersAreNeverSlowerThanOne) {
  FakeSlicePlanSource left = GoodOn("LEFT");
  FakeSlicePlanSource right = GoodOn("RIGHT");
  ASSERT_OK_AND_ASSIGN(
      const PlanResult both,
      PlanLeftAndRight({{"left", &left}, {"right", &right}}, kAutoRuntime));
  ASSERT_TRUE(both.plan.has_value());
  for (const PortfolioMember& member :
       {PortfolioMember{"left", &left}, PortfolioMember{"right", &right}}) {
    ASSERT_OK_AND_ASSIGN(const PlanResult alone,
                         PlanLeftAndRight({member}, kAutoRuntime));
    EXPECT_LE(both.evaluation.iteration_time_s,
              alone.evaluation.iteration_time_s);
  }
}

TEST(AutoRuntimeTest, SaysWhyNothingFits) {
  FakeSlicePlanSource none = GoodOn("LEFT");
  none.infeasible = true;
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanLeftAndRight({{"none", &none}}, kAutoRuntime));
  ASSERT_OK_AND_ASSIGN(const PlanResult free,
                       PlanLeftAndRight({{"none", &none}}));

  EXPECT_FALSE(result.plan.has_value());
  EXPECT_EQ(result.infeasible->reason, free.infeasible->reason);
}

// Recomputes the first two operators of every transformer layer, which leave
// more than one output. No framework does.
class RecomputesTwo : public FakeSlicePlanSource {
 public:
  absl::StatusOr<std::vector<SlicePlanSet>> Parallelize(
      const PairContext& context, absl::Span<const PairQuery> pair_queries,
      const Progress& progress) override {
    auto answers =
        FakeSlicePlanSource::Parallelize(context, pair_queries, progress);
    for (size_t i = 0; i < pair_queries.size(); ++i) {
      std::vector<RecomputeRun> masks;
      for (const LayerRun& run : context.slices[pair_queries[i].slice].runs) {
        const bool is_transformer = OperatorsOf(run.layer).size() > 4;
        masks.push_back({.num_layers = run.count,
                         .mask = is_transformer ? OpMask{3} : OpMask{0}});
      }
      for (SlicePlan& plan : (*answers)[i].plans) {
        plan.stages.front().plan.recompute = masks;
      }
    }
    return answers;
  }
};

TEST(AutoRuntimeTest, SaysWhyNoFrameworkTrainsAPlan) {
  RecomputesTwo source;
  ASSERT_OK_AND_ASSIGN(const PlanResult free,
                       PlanLeftAndRight({{"own", &source}}));
  ASSERT_TRUE(free.plan.has_value());
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanLeftAndRight({{"own", &source}}, kAutoRuntime));

  EXPECT_FALSE(result.plan.has_value());
  EXPECT_THAT(
      result.infeasible->reason,
      AllOf(HasSubstr("no framework trains a plan: "), HasSubstr("megatron: "),
            HasSubstr("; --runtime any: a plan of "),
            Not(HasSubstr("constraints"))));
}

TEST(AutoRuntimeTest, SearchesAskWhoSuitsThemIfNobodyNamedMembers) {
  FakeSlicePlanSource uniform = GoodOn("LEFT");
  FakeSlicePlanSource own = GoodOn("RIGHT");
  testing::SilentObserver observer;
  PlanRequest request = LeftAndRight();
  request.constraints.runtime = "megatron";
  const auto plan = [&] {
    return CreatePortfolioPlanner({{"uniform", &uniform}, {"own", &own}},
                                  *BuiltinPlanners().Choose("", {}, {}),
                                  FrameworkCatalogue(), MembersAsked::kSuitable)
        ->Plan(request, observer);
  };
  EXPECT_TRUE(plan().ok());
  EXPECT_THAT(uniform.queries, Not(IsEmpty()));
  EXPECT_THAT(own.queries, IsEmpty());
}

absl::StatusOr<PlanResult> PlanSuited(std::vector<PortfolioMember> members,
                                      const std::string& runtime) {
  testing::SilentObserver observer;
  PlanRequest request = LeftAndRight();
  request.constraints.runtime = runtime;
  return CreatePortfolioPlanner(std::move(members),
                                *BuiltinPlanners().Choose("", {}, {}),
                                FrameworkCatalogue(), MembersAsked::kSuitable)
      ->Plan(request, observer);
}

// Has plans either for frameworks, none of which offloads, or for none of them.
class GoodForOnly : public FakeSlicePlanSource {
 public:
  enum Whom { kRuntimes, kNoRuntime };
  explicit GoodForOnly(Whom whom) : whom_(whom) {}

  absl::StatusOr<std::vector<SlicePlanSet>> Parallelize(
      const PairContext& context, absl::Span<const PairQuery> pair_queries,
      const Progress& progress) override {
    const bool for_runtime = absl::c_any_of(
        context.islands,
        [](const IslandSpec& island) { return island.limits.no_offload; });
    infeasible = for_runtime != (whom_ == kRuntimes);
    return FakeSlicePlanSource::Parallelize(context, pair_queries, progress);
  }

 private:
  const Whom whom_;
};

TEST(AnyRuntimeTest, IsNeverSlowerThanTheBestPlanForARuntime) {
  FakeSlicePlanSource none = GoodOn("LEFT");
  none.infeasible = true;
  GoodForOnly good(GoodForOnly::kRuntimes);
  const std::vector<PortfolioMember> members = {{"aceso", &none},
                                                {"galvatron", &good}};
  ASSERT_OK_AND_ASSIGN(const PlanResult any, PlanSuited(members, ""));
  ASSERT_OK_AND_ASSIGN(const PlanResult best,
                       PlanSuited(members, kAutoRuntime));
  ASSERT_TRUE(any.plan.has_value());
  EXPECT_LE(any.evaluation.iteration_time_s, best.evaluation.iteration_time_s);
  EXPECT_EQ(any.lower_bound_s, 0);
  EXPECT_EQ(any.training, std::nullopt);
  EXPECT_THAT(any.notes, Contains(HasSubstr("runtime any: the plan for ")));
  // The entry says what any plan brings at least.
  EXPECT_GE(*EntryOf(best, kAnyRuntime).iteration_time_s,
            any.evaluation.iteration_time_s);
}

// Whole plans are annealed, from what the parallelizers bring on.
constexpr double kSearchNoise = 0.005;

// A runtime, "" for none, and a parallelizer that is asked for it.
using Asked = std::pair<std::string, std::string>;

TEST(ScoutTest, ItsPlanLimitsTheSearchOfAMember) {
  for (const auto& [runtime, name] :
       {Asked{"", "aceso"}, Asked{"megatron", "galvatron"}}) {
    SCOPED_TRACE(name);
    FakeSlicePlanSource alone = GoodOn("LEFT");
    FakeSlicePlanSource after = GoodOn("LEFT");
    FakeSlicePlanSource scout = GoodOn("LEFT");
    ASSERT_OK_AND_ASSIGN(const PlanResult without,
                         PlanSuited({{name, &alone}}, runtime));
    ASSERT_OK_AND_ASSIGN(
        const PlanResult with,
        PlanSuited({{name, &after}, {"uniform", &scout}}, runtime));
    ASSERT_TRUE(without.plan.has_value());
    ASSERT_TRUE(with.plan.has_value());
    EXPECT_NEAR(with.evaluation.iteration_time_s,
                without.evaluation.iteration_time_s,
                kSearchNoise * without.evaluation.iteration_time_s);
    EXPECT_THAT(scout.queries, Not(IsEmpty()));
    // Without a runtime, both are mixed too, which asks again.
    if (runtime.empty()) continue;
    EXPECT_LE(after.queries.size(), alone.queries.size());
  }
}

TEST(ScoutTest, TheAnswerIsNeverSlowerThanItsPlan) {
  for (const auto& [runtime, name] :
       {Asked{"", "aceso"}, Asked{"megatron", "galvatron"}}) {
    SCOPED_TRACE(name);
    FakeSlicePlanSource slow;
    slow.seconds_per_layer = [](const IslandSpec&) { return 5; };
    FakeSlicePlanSource scout = GoodOn("LEFT");
    ASSERT_OK_AND_ASSIGN(
        const PlanResult result,
        PlanSuited({{name, &slow}, {"uniform", &scout}}, runtime));
    ASSERT_OK_AND_ASSIGN(const PlanResult best,
                         PlanLeftAndRight({{"uniform", &scout}}, runtime));
    ASSERT_TRUE(result.plan.has_value());
    EXPECT_LE(result.evaluation.iteration_time_s,
              best.evaluation.iteration_time_s);
    EXPECT_LE(result.lower_bound_s, result.evaluation.iteration_time_s);
    ASSERT_TRUE(result.certificate.has_value());
    EXPECT_GT(result.certificate->any_plan_s, 0);
    EXPECT_LE(result.certificate->any_plan_s, result.certificate->asked_s);
    EXPECT_LE(result.certificate->any_plan_s,
              result.evaluation.iteration_time_s);
  }
}

TEST(AnyRuntimeTest, NamedMembersAreAskedForPlansOfAnyKindAlone) {
  FakeSlicePlanSource free = GoodOn("LEFT");
  FakeSlicePlanSource for_runtimes = GoodOn("LEFT");
  ASSERT_TRUE(PlanLeftAndRight({{"uniform", &free}}).ok());
  ASSERT_TRUE(
      PlanLeftAndRight({{"uniform", &for_runtimes}}, kAutoRuntime).ok());
  EXPECT_LT(free.queries.size(), for_runtimes.queries.size());
}

TEST(AnyRuntimeTest, SaysThatNothingFitsOnlyAfterEveryoneWasAsked) {
  FakeSlicePlanSource nothing;
  nothing.infeasible = true;
  GoodForOnly mist(GoodForOnly::kNoRuntime);
  ASSERT_OK_AND_ASSIGN(const PlanResult any,
                       PlanSuited({{"aceso", &nothing}, {"mist", &mist}}, ""));
  EXPECT_TRUE(any.plan.has_value());
  ASSERT_OK_AND_ASSIGN(
      const PlanResult best,
      PlanSuited({{"aceso", &nothing}, {"mist", &mist}}, kAutoRuntime));
  EXPECT_FALSE(best.plan.has_value());
  EXPECT_GE(EntryOf(best, kAnyRuntime).iteration_time_s,
            any.evaluation.iteration_time_s);
  EXPECT_THAT(best.infeasible->reason,
              HasSubstr("no framework trains a plan: "));
}

// By default, no runtime asks mist.
TEST(AnyRuntimeTest, AsksEveryoneForARuntimeBeforeItSaysThatNoneRunsAPlan) {
  FakeSlicePlanSource nothing;
  nothing.infeasible = true;
  FakeSlicePlanSource mist = GoodOn("LEFT");
  ASSERT_OK_AND_ASSIGN(
      const PlanResult best,
      PlanSuited({{"aceso", &nothing}, {"mist", &mist}}, kAutoRuntime));
  EXPECT_TRUE(best.plan.has_value());
}

TEST(AnyRuntimeTest, PlansOfAnyKindAreLookedForOnlyIfTheyAreFaster) {
  FakeSlicePlanSource of_auto = GoodOn("LEFT");
  FakeSlicePlanSource of_any = GoodOn("LEFT");
  ASSERT_OK_AND_ASSIGN(const PlanResult best,
                       PlanSuited({{"uniform", &of_auto}}, kAutoRuntime));
  ASSERT_OK_AND_ASSIGN(const PlanResult any,
                       PlanSuited({{"uniform", &of_any}}, ""));
  EXPECT_GE(*EntryOf(best, kAnyRuntime).iteration_time_s,
            any.evaluation.iteration_time_s);
  EXPECT_LE(of_auto.queries.size(), of_any.queries.size());
}

TEST(AnyRuntimeTest, NeedsNobodyWhoPlansWithoutARuntime) {
  FakeSlicePlanSource source = GoodOn("LEFT");
  for (const std::string runtime : {"", kAutoRuntime}) {
    ASSERT_OK_AND_ASSIGN(const PlanResult result,
                         PlanSuited({{"uniform", &source}}, runtime));
    EXPECT_TRUE(result.plan.has_value());
  }
  EXPECT_THAT(PlanSuited({{"own", &source}}, kAutoRuntime).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("parallelizer: aceso: not offered; expected "
                                 "one of own")));
}

TEST(AutoRuntimeTest, AsksAcesoForOtherFrameworksOnlyIfItsOwnHasNoPlan) {
  FakeSlicePlanSource source = GoodOn("LEFT");
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanLeftAndRight({{"aceso", &source}}, kAutoRuntime));
  ASSERT_TRUE(result.plan.has_value());
  const bool own = EntryOf(result, "aceso").iteration_time_s.has_value();
  EXPECT_EQ(EntryOf(result, "megatron").iteration_time_s.has_value(), !own);
}

TEST(AutoRuntimeTest, DoesNotCallPlanlessWhatWasNotSearched) {
  FakeSlicePlanSource source = GoodOn("LEFT");
  testing::SilentObserver observer;
  PlanRequest request = LeftAndRight();
  request.constraints.runtime = kAutoRuntime;
  request.model.layers.front().max_position_embeddings = 512;
  for (LayerSpec& layer : request.model.layers) {
    layer.linear_bias = layer.norm_bias = true;  // As FlexPipe builds it.
  }
  ASSERT_OK_AND_ASSIGN(
      const PlanResult result,
      CreatePortfolioPlanner({{"aceso", &source}},
                             *BuiltinPlanners().Choose("", {}, {}),
                             FrameworkCatalogue())
          ->Plan(request, observer));
  ASSERT_TRUE(EntryOf(result, "aceso").iteration_time_s.has_value());
  EXPECT_FALSE(EntryOf(result, "megatron").was_searched());
  EXPECT_THAT(result.notes,
              IsSupersetOf({
                  std::string("runtime auto: planned for aceso, the only "
                              "framework that was searched"),
                  std::string("runtime auto: aceso reads no data of yours; of "
                              "the frameworks that do, none that was searched "
                              "has a plan"),
                  absl::StrCat("runtime auto: not searched: flagscale, "
                               "megatron, galvatron, sailor, flashflex, "
                               "torchtitan, alpa: ",
                               EntryOf(result, "megatron").reason),
              }));
  EXPECT_EQ(EntryOf(result, "megatron").reason,
            "aceso makes plans for other frameworks; --runtime NAME searches "
            "one with it, and without --parallelizer all are searched");
}

TEST(RefusedRuntimeTest, NamesAllObstaclesAndWhatToDo) {
  FakeSlicePlanSource source = GoodOn("LEFT");
  testing::SilentObserver observer;
  PlanRequest request = LeftAndRight();
  request.constraints.runtime = "galvatron";
  request.constraints.tp_degrees = {{.value = 1}};
  request.training.optimizer = Optimizer::kSgd;
  Cluster& cluster = request.cluster.MakeOwn();
  for (Node& node : cluster.nodes) {
    node.device.supports_flash_attention = false;
  }
  ASSERT_OK_AND_ASSIGN(
      const PlanResult result,
      CreatePortfolioPlanner({{"own", &source}},
                             *BuiltinPlanners().Choose("", {}, {}),
                             FrameworkCatalogue())
          ->Plan(request, observer));
  ASSERT_FALSE(result.plan.has_value());
  EXPECT_THAT(result.infeasible->reason,
              AllOf(StartsWith("galvatron: training.optimizer: sgd; expected "),
                    HasSubstr(". Also: flash attention does not run on LEFT"),
                    HasSubstr(". Also: flash attention does not run on RIGHT"),
                    HasSubstr(". What to do: plan with --runtime auto, which "
                              "finds the fastest plan for flagscale, "),
                    Not(HasSubstr("constraints"))));
  EXPECT_THAT(source.queries, IsEmpty());
}

// Sailor takes the model, but not plans of this kind.
TEST(RefusedRuntimeTest, NamesOtherRuntimesIfItsSearchFindsNothing) {
  RecomputesTwo source;
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanLeftAndRight({{"own", &source}}, "sailor"));
  ASSERT_FALSE(result.plan.has_value());
  EXPECT_THAT(
      result.infeasible->reason,
      AllOf(HasSubstr("with all constraints but \"runtime sailor\" there is a "
                      "plan of "),
            HasSubstr(". What to do: plan with --runtime auto, which finds the "
                      "fastest plan for flagscale, megatron, "),
            Not(HasSubstr(", sailor"))));
}

}  // namespace
}  // namespace tangram
