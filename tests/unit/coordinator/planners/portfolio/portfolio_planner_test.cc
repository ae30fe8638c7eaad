#include "coordinator/planners/portfolio/portfolio_planner.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "coordinator/planners/builtin/builtin_planners.h"
#include "frameworks/framework_catalogue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/fake_slice_plan_source.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeSlicePlanSource;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::StatusIs;

// One GPU of each type on links so fast that transfers do not matter; 6 layers
// and 8 samples.
PlanRequest LeftAndRight() {
  return {.cluster =
              testing::TestCluster({{.name = "left",
                                     .gpus_per_node = 1,
                                     .device = testing::TestDevice("LEFT")},
                                    {.name = "right",
                                     .gpus_per_node = 2,
                                     .device = testing::TestDevice("RIGHT")}},
                                   1e15),
          .model = testing::TestModel(4),
          .training = testing::TestTraining(8)};
}

// A parallelizer that plans well for one type of GPU and badly for the other.
FakeSlicePlanSource GoodOn(const std::string& type, double elsewhere_s = 9) {
  FakeSlicePlanSource source;
  source.seconds_per_layer = [=](const IslandSpec& island) {
    return island.device.type == type ? 1.0 : elsewhere_s;
  };
  return source;
}

class NoSuchModel : public FakeSlicePlanSource {
 public:
  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec&) override {
    return absl::UnimplementedError("dense layers only");
  }
};

absl::StatusOr<PlanResult> Plan(std::vector<PortfolioMember> members,
                                const std::string& runtime = "",
                                const TangramOptions& search = {}) {
  testing::SilentObserver observer;
  PlanRequest request = LeftAndRight();
  request.constraints.runtime = runtime;
  return CreatePortfolioPlanner(std::move(members),
                                *BuiltinPlanners().Choose("", {}, search),
                                FrameworkCatalogue())
      ->Plan(request, observer);
}

TEST(PortfolioPlannerTest, OneMemberIsThePlannerItself) {
  FakeSlicePlanSource left = GoodOn("LEFT");
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan({{"left", &left}}));

  EXPECT_TRUE(result.plan.has_value());
  EXPECT_THAT(result.alternatives, IsEmpty());
}

// Alone: all 6 layers on the good GPU, 6 + 7 · 6 = 48, or, a little better, one
// layer less and 9 s for it. Mixed: 3 and 3 layers at 1 s, 6 + 7 · 3 = 27.
// Polished plans need not be mixes.
TEST(PortfolioPlannerTest, AMixTakesEachWhereItIsGood) {
  FakeSlicePlanSource left = GoodOn("LEFT");
  FakeSlicePlanSource right = GoodOn("RIGHT");
  ASSERT_OK_AND_ASSIGN(
      const PlanResult result,
      Plan({{"left", &left}, {"right", &right}}, "", {.polish = false}));

  ASSERT_TRUE(result.plan.has_value());
  EXPECT_NEAR(result.closed_form_s, 27, 1e-6);
  ASSERT_GT(result.alternatives.size(), 2u);
  EXPECT_THAT(result.alternatives[0].parallelizers, ElementsAre("left"));
  EXPECT_THAT(result.alternatives[0].runtime, IsEmpty());
  EXPECT_THAT(result.alternatives[2].parallelizers,
              ElementsAre("left", "right"));
  EXPECT_THAT(result.alternatives[2].runtime, Not(IsEmpty()));
  for (const PlanAlternative& alternative : result.alternatives) {
    ASSERT_TRUE(alternative.iteration_time_s.has_value());
    EXPECT_LE(result.evaluation.iteration_time_s,
              *alternative.iteration_time_s);
  }
}

TEST(PortfolioPlannerTest, AMemberThatDoesNotKnowTheModelIsLeftOut) {
  NoSuchModel dense;
  FakeSlicePlanSource left = GoodOn("LEFT");
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       Plan({{"dense", &dense}, {"left", &left}}));

  EXPECT_TRUE(result.plan.has_value());
  ASSERT_THAT(result.alternatives, SizeIs(2));
  EXPECT_EQ(result.alternatives[0].reason, "dense layers only");
  EXPECT_FALSE(result.alternatives[0].iteration_time_s.has_value());

  EXPECT_THAT(Plan({{"dense", &dense}, {"too", &dense}}).status(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("dense layers only")));
}

TEST(PortfolioPlannerTest, AMemberWithoutAPlanDoesNotHideAnothers) {
  FakeSlicePlanSource none = GoodOn("LEFT");
  none.infeasible = true;
  FakeSlicePlanSource left = GoodOn("LEFT");
  ASSERT_OK_AND_ASSIGN(PlanResult result,
                       Plan({{"none", &none}, {"left", &left}}));
  EXPECT_TRUE(result.plan.has_value());
  EXPECT_THAT(result.alternatives[0].reason, Not(IsEmpty()));

  ASSERT_OK_AND_ASSIGN(result, Plan({{"none", &none}, {"nil", &none}}));
  EXPECT_FALSE(result.plan.has_value());
  EXPECT_TRUE(result.infeasible.has_value());
}

// Cuts the model into atoms of two layers.
class CutsByTwo : public FakeSlicePlanSource {
 public:
  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) override {
    std::vector<ModelSlice> atoms;
    const auto layers = absl::MakeConstSpan(model.layers);
    for (int begin = 0; begin < model.num_layers(); begin += 2) {
      const int atom = begin / 2;
      atoms.push_back(MakeSlice({atom, atom + 1}, layers.subspan(begin, 2)));
    }
    return atoms;
  }
};

TEST(PortfolioPlannerTest, AMemberThatNoMixHoldsIsNamed) {
  FakeSlicePlanSource left = GoodOn("LEFT");
  CutsByTwo by_two;
  const auto names_it = HasSubstr(
      "parallelizer two is left out, because it cuts the model into "
      "other atoms than left: --parallelizer two plans with it alone");
  ASSERT_OK_AND_ASSIGN(PlanResult result,
                       Plan({{"left", &left}, {"two", &by_two}}));
  EXPECT_TRUE(result.plan.has_value());
  EXPECT_THAT(result.limits, IsEmpty());
  EXPECT_THAT(result.notes, Contains(names_it));

  left.infeasible = true;
  by_two.infeasible = true;
  ASSERT_OK_AND_ASSIGN(result, Plan({{"left", &left}, {"two", &by_two}}));
  EXPECT_FALSE(result.plan.has_value());
  EXPECT_THAT(result.infeasible->reason,
              AllOf(HasSubstr("; a plan may exist: "), names_it));

  ASSERT_OK_AND_ASSIGN(result,
                       Plan({{"left", &left}, {"two", &by_two}}, "megatron"));
  EXPECT_FALSE(result.plan.has_value());
  EXPECT_THAT(result.infeasible->reason, names_it);
}

TEST(PortfolioPlannerTest, ASearchThatWasCutShortProvesNothing) {
  FakeSlicePlanSource none = GoodOn("LEFT");
  none.infeasible = true;
  ASSERT_OK_AND_ASSIGN(PlanResult result, Plan({{"none", &none}}));
  EXPECT_THAT(result.infeasible->reason, Not(HasSubstr("a plan may exist")));
  none.truncated = true;
  for (const std::string runtime : {"", "megatron"}) {
    ASSERT_OK_AND_ASSIGN(result, Plan({{"none", &none}}, runtime));
    EXPECT_THAT(result.infeasible->reason,
                AllOf(HasSubstr("; a plan may exist: the parallelizer cut "),
                      HasSubstr("more --effort")));
  }
}

// Cuts answers short for islands of one node only.
class CutsShortOnOneNode : public FakeSlicePlanSource {
 public:
  absl::StatusOr<std::vector<SlicePlanSet>> Parallelize(
      const PairContext& context, absl::Span<const PairQuery> pair_queries,
      const Progress& progress) override {
    auto answers =
        FakeSlicePlanSource::Parallelize(context, pair_queries, progress);
    for (size_t i = 0; i < pair_queries.size(); ++i) {
      (*answers)[i].truncated =
          context.islands[pair_queries[i].island].num_nodes == 1;
    }
    return answers;
  }
};

TEST(PortfolioPlannerTest, LimitsOfDividedIslandsCountToo) {
  const DeviceSpec device = testing::TestDevice("SAME");
  PlanRequest request = LeftAndRight();
  // Two groups of equal nodes on equal links are one island, which is also
  // planned divided.
  request.cluster = testing::TestCluster(
      {{.name = "a", .gpus_per_node = 1, .device = device},
       {.name = "b", .gpus_per_node = 1, .device = device}},
      10e9);
  CutsShortOnOneNode none;
  none.infeasible = true;
  testing::SilentObserver observer;
  ASSERT_OK_AND_ASSIGN(
      const PlanResult result,
      CreatePortfolioPlanner({{"none", &none}},
                             *BuiltinPlanners().Choose("", {}, {}),
                             FrameworkCatalogue())
          ->Plan(request, observer));
  EXPECT_FALSE(result.plan.has_value());
  EXPECT_THAT(result.infeasible->reason,
              HasSubstr("; a plan may exist: the parallelizer cut "));
}

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
                       Plan({{"own", &source}}, kAutoRuntime));

  ASSERT_TRUE(result.plan.has_value());
  double fastest_s = std::numeric_limits<double>::infinity();
  for (const PlanningRuntime* runtime : FrameworkCatalogue().All()) {
    const std::string name(runtime->name());
    ASSERT_OK_AND_ASSIGN(const PlanResult named,
                         Plan({{"own", &source}}, name));
    const PlanAlternative entry = EntryOf(result, name);
    EXPECT_EQ(entry.iteration_time_s.has_value(), named.plan.has_value());
    EXPECT_EQ(entry.reason.empty(), named.plan.has_value());
    if (!named.plan.has_value()) continue;
    // Plans far behind the best are not searched on.
    EXPECT_GE(*entry.iteration_time_s, named.evaluation.iteration_time_s);
    fastest_s = std::min(fastest_s, named.evaluation.iteration_time_s);
  }
  EXPECT_EQ(result.evaluation.iteration_time_s, fastest_s);
  ASSERT_OK_AND_ASSIGN(const PlanResult free, Plan({{"own", &source}}));
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
      Plan({{"left", &left}, {"right", &right}}, kAutoRuntime));
  ASSERT_TRUE(both.plan.has_value());
  for (const PortfolioMember& member :
       {PortfolioMember{"left", &left}, PortfolioMember{"right", &right}}) {
    ASSERT_OK_AND_ASSIGN(const PlanResult alone, Plan({member}, kAutoRuntime));
    EXPECT_LE(both.evaluation.iteration_time_s,
              alone.evaluation.iteration_time_s);
  }
}

TEST(AutoRuntimeTest, SaysWhyNothingFits) {
  FakeSlicePlanSource none = GoodOn("LEFT");
  none.infeasible = true;
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       Plan({{"none", &none}}, kAutoRuntime));
  ASSERT_OK_AND_ASSIGN(const PlanResult free, Plan({{"none", &none}}));

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
  ASSERT_OK_AND_ASSIGN(const PlanResult free, Plan({{"own", &source}}));
  ASSERT_TRUE(free.plan.has_value());
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       Plan({{"own", &source}}, kAutoRuntime));

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
                         Plan({{"uniform", &scout}}, runtime));
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
  ASSERT_TRUE(Plan({{"uniform", &free}}).ok());
  ASSERT_TRUE(Plan({{"uniform", &for_runtimes}}, kAutoRuntime).ok());
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
                       Plan({{"aceso", &source}}, kAutoRuntime));
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
                       Plan({{"own", &source}}, "sailor"));
  ASSERT_FALSE(result.plan.has_value());
  EXPECT_THAT(
      result.infeasible->reason,
      AllOf(HasSubstr("with all constraints but \"runtime sailor\" there is a "
                      "plan of "),
            HasSubstr(". What to do: plan with --runtime auto, which finds the "
                      "fastest plan for flagscale, megatron, "),
            Not(HasSubstr(", sailor"))));
}

TEST(PortfolioPlannerTest, ErrorsAreNotHidden) {
  FakeSlicePlanSource broken = GoodOn("LEFT");
  broken.parallelize_status = absl::InternalError("broken");
  FakeSlicePlanSource left = GoodOn("LEFT");

  EXPECT_THAT(Plan({{"left", &left}, {"broken", &broken}}).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("broken")));
}

}  // namespace
}  // namespace tangram
