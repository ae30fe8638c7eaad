#include "coordinator/planners/registry/planner_registry.h"

#include <limits>

#include "coordinator/planners/builtin/builtin_planners.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

TEST(PlannerRegistryTest, TheEmptyNameIsTangram) {
  ASSERT_OK_AND_ASSIGN(const PlannerChoice choice,
                       BuiltinPlanners().Choose("", {}, {}));
  EXPECT_EQ(choice.planner->name, "tangram");
}

TEST(PlannerRegistryTest, AnUnknownPlannerIsRefusedWithThoseThereAre) {
  EXPECT_THAT(BuiltinPlanners().Find("oobleck"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("planner: oobleck"),
                             HasSubstr("tangram or whole-cluster"))));
}

TEST(PlannerRegistryTest, OptionsOverrideTheTypedFields) {
  ASSERT_OK_AND_ASSIGN(const PlannerChoice choice,
                       BuiltinPlanners().Choose(
                           "tangram",
                           {{"finalist_slack", "0.1"},
                            {"max_search_steps", "9007199254740993"},
                            {"early_stop", "false"}},
                           {.max_search_steps = 7, .min_island_gain = 0.5}));
  EXPECT_EQ(choice.search.finalist_slack, 0.1);
  EXPECT_EQ(choice.search.max_search_steps, 9007199254740993);  // 2^53 + 1
  EXPECT_FALSE(choice.search.pruning.early_stop);
  EXPECT_EQ(choice.search.min_island_gain, 0.5);
}

TEST(PlannerRegistryTest, DefaultsAreThoseOfTheTypedFields) {
  const TangramOptions usual;
  ASSERT_OK_AND_ASSIGN(const PlannerChoice choice,
                       BuiltinPlanners().Choose("tangram", {}, {}));
  EXPECT_EQ(choice.options.Number("finalist_slack"), usual.finalist_slack);
  EXPECT_EQ(choice.options.Integer("max_search_steps"), usual.max_search_steps);
  EXPECT_EQ(choice.options.Bool("early_stop"), usual.pruning.early_stop);
}

TEST(PlannerRegistryTest, BadValuesNameTheOptionAndItsRange) {
  const struct {
    const char* planner;
    const char* name;
    const char* value;
    const char* message;
  } cases[] = {
      {"tangram", "finalist_slack", "20", "20; expected a number from 0 to 1"},
      {"tangram", "finalist_slack", "nan", "nan; expected a number from 0"},
      {"tangram", "finalist_slack", "-1", "-1; expected a number from 0"},
      {"tangram", "max_search_steps", "0", "0; expected a whole number"},
      {"tangram", "max_search_steps", "1.5", "1.5; expected a whole number"},
      {"tangram", "early_stop", "perhaps", "perhaps; expected true or false"},
      {"tangram", "node_order", "listed", "an option of planner tangram"},
      {"whole-cluster", "node_order", "random",
       "random; expected listed or fastest-first or slowest-first"},
  };
  for (const auto& bad : cases) {
    SCOPED_TRACE(::testing::Message() << bad.name << "=" << bad.value);
    EXPECT_THAT(
        BuiltinPlanners().Choose(bad.planner, {{bad.name, bad.value}}, {}),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr(std::string("planner_options.") + bad.name),
                       HasSubstr(bad.message))));
  }
}

}  // namespace
}  // namespace tangram
