#include "coordinator/planners/portfolio/portfolio_planner.h"

#include <string>
#include <vector>

#include "coordinator/planners/builtin/builtin_planners.h"
#include "frameworks/framework_catalogue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/fake_slice_plan_source.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/planners/portfolio/left_and_right.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeSlicePlanSource;
using testing::GoodOn;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LeftAndRight;
using ::testing::Not;
using testing::PlanLeftAndRight;
using ::testing::SizeIs;
using testing::StatusIs;

class NoSuchModel : public FakeSlicePlanSource {
 public:
  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec&) override {
    return absl::UnimplementedError("dense layers only");
  }
};

TEST(PortfolioPlannerTest, OneMemberIsThePlannerItself) {
  FakeSlicePlanSource left = GoodOn("LEFT");
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanLeftAndRight({{"left", &left}}));

  EXPECT_TRUE(result.plan.has_value());
  EXPECT_THAT(result.alternatives, IsEmpty());
}

// Alone: all 6 layers on the good GPU, 6 + 7 · 6 = 48, or, a little better, one
// layer less and 9 s for it. Mixed: 3 and 3 layers at 1 s, 6 + 7 · 3 = 27.
// Polished plans need not be mixes.
TEST(PortfolioPlannerTest, AMixTakesEachWhereItIsGood) {
  FakeSlicePlanSource left = GoodOn("LEFT");
  FakeSlicePlanSource right = GoodOn("RIGHT");
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanLeftAndRight({{"left", &left}, {"right", &right}},
                                        "", {.polish = false}));

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
                       PlanLeftAndRight({{"dense", &dense}, {"left", &left}}));

  EXPECT_TRUE(result.plan.has_value());
  ASSERT_THAT(result.alternatives, SizeIs(2));
  EXPECT_EQ(result.alternatives[0].reason, "dense layers only");
  EXPECT_FALSE(result.alternatives[0].iteration_time_s.has_value());

  EXPECT_THAT(PlanLeftAndRight({{"dense", &dense}, {"too", &dense}}).status(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("dense layers only")));
}

TEST(PortfolioPlannerTest, AMemberWithoutAPlanDoesNotHideAnothers) {
  FakeSlicePlanSource none = GoodOn("LEFT");
  none.infeasible = true;
  FakeSlicePlanSource left = GoodOn("LEFT");
  ASSERT_OK_AND_ASSIGN(PlanResult result,
                       PlanLeftAndRight({{"none", &none}, {"left", &left}}));
  EXPECT_TRUE(result.plan.has_value());
  EXPECT_THAT(result.alternatives[0].reason, Not(IsEmpty()));

  ASSERT_OK_AND_ASSIGN(result,
                       PlanLeftAndRight({{"none", &none}, {"nil", &none}}));
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
                       PlanLeftAndRight({{"left", &left}, {"two", &by_two}}));
  EXPECT_TRUE(result.plan.has_value());
  EXPECT_THAT(result.limits, IsEmpty());
  EXPECT_THAT(result.notes, Contains(names_it));

  left.infeasible = true;
  by_two.infeasible = true;
  ASSERT_OK_AND_ASSIGN(result,
                       PlanLeftAndRight({{"left", &left}, {"two", &by_two}}));
  EXPECT_FALSE(result.plan.has_value());
  EXPECT_THAT(result.infeasible->reason,
              AllOf(HasSubstr("; a plan may exist: "), names_it));

  ASSERT_OK_AND_ASSIGN(
      result,
      PlanLeftAndRight({{"left", &left}, {"two", &by_two}}, "megatron"));
  EXPECT_FALSE(result.plan.has_value());
  EXPECT_THAT(result.infeasible->reason, names_it);
}

TEST(PortfolioPlannerTest, ASearchThatWasCutShortProvesNothing) {
  FakeSlicePlanSource none = GoodOn("LEFT");
  none.infeasible = true;
  ASSERT_OK_AND_ASSIGN(PlanResult result, PlanLeftAndRight({{"none", &none}}));
  EXPECT_THAT(result.infeasible->reason, Not(HasSubstr("a plan may exist")));
  none.truncated = true;
  for (const std::string runtime : {"", "megatron"}) {
    ASSERT_OK_AND_ASSIGN(result, PlanLeftAndRight({{"none", &none}}, runtime));
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

TEST(PortfolioPlannerTest, ErrorsAreNotHidden) {
  FakeSlicePlanSource broken = GoodOn("LEFT");
  broken.parallelize_status = absl::InternalError("broken");
  FakeSlicePlanSource left = GoodOn("LEFT");

  EXPECT_THAT(PlanLeftAndRight({{"left", &left}, {"broken", &broken}}).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("broken")));
}

}  // namespace
}  // namespace tangram
