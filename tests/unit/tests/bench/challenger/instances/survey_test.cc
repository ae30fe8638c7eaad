#include "tests/bench/challenger/instances/survey.h"

#include "common/base/infinity.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/bench/challenger/instances/plan_instances.h"
#include "tests/bench/challenger/instances/variations.h"
#include "tests/testing/status_matchers.h"

namespace tangram::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Instance SomeInstance() {
  Draw draw(1);
  Instance instance = DrawInstance(draw, {"uniform"});
  instance.groups.resize(2);
  instance.groups[0].num_nodes = 2;
  instance.groups[1].num_nodes = 2;
  instance.batch = 6;
  return instance;
}

int NumNodes(const Instance& instance) {
  int sum = 0;
  for (const DrawnGroup& group : instance.groups) sum += group.num_nodes;
  return sum;
}

TEST(SurveyTest, EqualAnswersViolateNothing) {
  Survey survey([](const Instance&) { return Answer{2.0, 2.0}; }, {}, 0);
  EXPECT_THAT(survey.Check(SomeInstance()), testing::IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(survey.tallies().at("node").num_checked, 2);
  EXPECT_EQ(survey.tallies().at(kBoundCheck).num_checked, 1);
}

TEST(SurveyTest, FindsThatMoreIsSlower) {
  // A node of the second group more makes 5 s of 4 s: 25 %.
  Survey survey(
      [](const Instance& instance) {
        return Answer{instance.groups.back().num_nodes == 3 ? 5.0 : 4.0};
      },
      {}, 0.005);
  ASSERT_OK_AND_ASSIGN(const std::vector<Violation> violations,
                       survey.Check(SomeInstance()));
  EXPECT_THAT(violations,
              ElementsAre(Field(&Violation::what, "a node more in g1")));
  EXPECT_DOUBLE_EQ(violations.front().loss, 0.25);
  EXPECT_EQ(NumNodes(violations.front().more), 5);
  EXPECT_EQ(survey.tallies().at("node").num_failed, 1);
  EXPECT_THAT(Describe(survey.tallies()), HasSubstr("25.0 %"));
}

TEST(SurveyTest, ForgivesWhatIsTolerated) {
  const auto plan = [](const Instance& instance) {
    return Answer{instance.microbatch == 3 ? 1.0 : 1.01};
  };
  EXPECT_THAT(Survey(plan, {"microbatch"}, 0.02).Check(SomeInstance()),
              testing::IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(Survey(plan, {"microbatch"}, 0.005).Check(SomeInstance()),
              testing::IsOkAndHolds(ElementsAre(
                  Field(&Violation::what, "any microbatch, not 3"))));
}

TEST(SurveyTest, FindsThatNothingFitsMore) {
  const auto plan = [](const Instance& instance) {
    return NumNodes(instance) == 4 ? Answer{1.0} : Answer{};
  };
  ASSERT_OK_AND_ASSIGN(const std::vector<Violation> violations,
                       Survey(plan, {"node"}, 0.005).Check(SomeInstance()));
  ASSERT_EQ(violations.size(), 2u);
  EXPECT_EQ(violations.front().loss, kInfinity);
}

TEST(SurveyTest, FindsPlansThatBeatTheirBound) {
  Survey survey(
      [](const Instance&) {
        return Answer{1.0, 1.5};
      },
      {kBoundCheck}, 0.005);
  EXPECT_THAT(survey.Check(SomeInstance()),
              testing::IsOkAndHolds(ElementsAre(Field(&Violation::loss, 0.5))));
}

TEST(PlanInProcessTest, AnswersAreFastAndRepeatable) {
  const Instance instance = SomeInstance();
  ASSERT_OK_AND_ASSIGN(const Answer first, PlanInProcess({})(instance));
  ASSERT_OK_AND_ASSIGN(const Answer second, PlanInProcess({})(instance));
  ASSERT_TRUE(first.iteration_time_s.has_value());
  EXPECT_EQ(first.iteration_time_s, second.iteration_time_s);
  EXPECT_LE(first.lower_bound_s, *first.iteration_time_s);
}

}  // namespace
}  // namespace tangram::bench
