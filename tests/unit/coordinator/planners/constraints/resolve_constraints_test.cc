#include "coordinator/planners/constraints/resolve_constraints.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/planners/tangram/fast_and_slow.h"

namespace tangram {
namespace {

using ::testing::Each;
using testing::FakeSlicePlanSource;
using testing::FastAndSlow;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::Plan;
using ::testing::SizeIs;
using testing::SlowIsHalfAsFast;
using testing::StatusIs;

// Each of 6 layers takes 1 s on the fast GPU and 2 s on the slow one.
absl::StatusOr<PlanResult> PlanWithin(const PlanConstraints& constraints) {
  FakeSlicePlanSource source;
  source.seconds_per_layer = SlowIsHalfAsFast;
  PlanRequest request = FastAndSlow();
  request.constraints = constraints;
  return Plan(request, source);
}

TEST(ConstraintsTest, AnIslandThatIsKeptOutIsNotUsed) {
  for (const char* name : {"fast", "FAST", "FAST x1", "0"}) {
    ASSERT_OK_AND_ASSIGN(const PlanResult result,
                         PlanWithin({.exclude_islands = {name}}));
    ASSERT_TRUE(result.plan.has_value());
    EXPECT_NEAR(result.closed_form_s, 96, 1e-6);  // 12 + 7 · 12
    ASSERT_THAT(result.unused_islands, SizeIs(1));
    EXPECT_EQ(result.unused_islands[0].reason, "kept out by the request");
  }
}

TEST(ConstraintsTest, ANodeThatIsExcludedIsInNoIsland) {
  for (const char* name : {"fast-0", "fast"}) {
    ASSERT_OK_AND_ASSIGN(const PlanResult result,
                         PlanWithin({.exclude_nodes = {name}}));
    ASSERT_THAT(result.islands, SizeIs(1));
    EXPECT_EQ(result.islands[0].name, "SLOW x1");
    EXPECT_NEAR(result.closed_form_s, 96, 1e-6);
  }
}

TEST(ConstraintsTest, PinnedLayersRunWhereTheyArePinned) {
  // The embedding and the first two layers on the slow GPU: 6 s, and 3 s for
  // the others: 6 + 3 + 7 · 6.
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanWithin({.pins = {{0, 2, "slow"}}}));
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_NEAR(result.closed_form_s, 51, 1e-6);
  const PlacedStage& first = result.plan->stages.front();
  EXPECT_EQ(result.islands[first.island].name, "SLOW x1");
  EXPECT_GE(first.plan.end.layer, 3);
}

TEST(ConstraintsTest, DepthIsCapped) {
  ASSERT_OK_AND_ASSIGN(const PlanResult result,
                       PlanWithin({.max_stages = {{"", 1}}}));
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_THAT(result.plan->stages, SizeIs(1));
  EXPECT_NEAR(result.closed_form_s, 48, 1e-6);  // 6 + 7 · 6
}

// The source answers with one stage on each island, so there are one or two.
TEST(ConstraintsTest, DepthIsExact) {
  for (const int pp : {1, 2}) {
    ASSERT_OK_AND_ASSIGN(const PlanResult result,
                         PlanWithin({.pp_degree = pp}));
    ASSERT_TRUE(result.plan.has_value());
    EXPECT_THAT(result.plan->stages, SizeIs(pp));
  }
}

TEST(ConstraintsTest, WhatNoPipelineCanBeIsRefusedByField) {
  const auto refuses = [](const PlanConstraints& constraints,
                          const std::string& message) {
    EXPECT_THAT(PlanWithin(constraints),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("constraints." + message)));
  };
  refuses({.pp_degree = 3}, "pp_degree: 3; expected a positive integer, at");
  refuses({.max_stages = {{"", 1}}, .pp_degree = 2},
          "pp_degree: 2; expected at most max_stages, 1");
  refuses({.ep_degree = 2}, "ep_degree: 2; expected 1, as ");
  refuses({.zero_stage = 4}, "zero_stage: 4; expected 0, 1, 2 or 3");
  refuses({.schedule = PipelineSchedule::kOneFOneB, .virtual_stages = 2},
          "virtual_stages: 2; expected 1, as the schedule is 1f1b");
  refuses({.schedule = PipelineSchedule::kInterleaved, .virtual_stages = 1},
          "virtual_stages: 1; expected at least 2");
  refuses({.pp_degree = 1, .virtual_stages = 2},
          "pp_degree: 1; expected at least 2");
}

TEST(ConstraintsTest, PlansOutsideTheLimitsAreDropped) {
  // The source knows no limits: its stages have tp 1.
  ASSERT_OK_AND_ASSIGN(const PlanResult one,
                       PlanWithin({.tp_degrees = {{"", 1}}}));
  EXPECT_TRUE(one.plan.has_value());
  ASSERT_OK_AND_ASSIGN(const PlanResult slow,
                       PlanWithin({.tp_degrees = {{"fast", 2}}}));
  ASSERT_TRUE(slow.plan.has_value());
  EXPECT_NEAR(slow.closed_form_s, 96, 1e-6);
  EXPECT_GT(slow.stats.incompatible_plans, 0);
  ASSERT_OK_AND_ASSIGN(const PlanResult none,
                       PlanWithin({.tp_degrees = {{"", 2}}}));
  EXPECT_FALSE(none.plan.has_value());
  EXPECT_THAT(none.infeasible->reason, HasSubstr("tp 1, expected 2"));
}

TEST(ConstraintsTest, PlansThatRecomputeOtherwiseAreDropped) {
  // The source knows no limits: its stages recompute nothing.
  ASSERT_OK_AND_ASSIGN(const PlanResult none,
                       PlanWithin({.recompute = LayerRecompute::kNone}));
  EXPECT_TRUE(none.plan.has_value());
  ASSERT_OK_AND_ASSIGN(const PlanResult full,
                       PlanWithin({.recompute = LayerRecompute::kWholeLayer}));
  EXPECT_FALSE(full.plan.has_value());
  EXPECT_THAT(full.infeasible->reason,
              HasSubstr("recomputation, expected full"));
}

TEST(ConstraintsTest, WhatIsAskedForReachesTheSource) {
  FakeSlicePlanSource source;
  PlanRequest request = FastAndSlow();
  request.constraints = {.tp_degrees = {{"", 1}, {"slow", 1}},
                         .max_stages = {{"slow", 3}}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request, source));
  EXPECT_THAT(
      result.islands,
      Each(Field(&Island::spec, Field(&IslandSpec::limits, StageLimits()))));
  EXPECT_THAT(source.limits, ::testing::UnorderedElementsAre(
                                 StageLimits{.tp_degree = 1},
                                 StageLimits{.tp_degree = 1, .max_stages = 3}));
}

TEST(ConstraintsTest, PinsKeepLayersOffTheOtherIslands) {
  const PlanRequest request = FastAndSlow();
  testing::SilentObserver observer;
  FakeSlicePlanSource source;
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Island> islands,
      CreateTangramPlanner(source, {})->Islands(request, observer));
  const int num_layers = request.model.num_layers();
  std::mt19937 rng(3);
  for (int round = 0; round < 200; ++round) {
    PlanConstraints constraints;
    const size_t num_pins = rng() % 4;
    for (size_t p = 0; p < num_pins; ++p) {
      const int first = static_cast<int>(rng() % num_layers);
      const int last = first + static_cast<int>(rng() % (num_layers - first));
      constraints.pins.push_back({first, last, rng() % 2 == 0 ? "0" : "SLOW"});
    }
    ASSERT_OK_AND_ASSIGN(const IslandRules rules,
                         ResolveConstraints(constraints, request.cluster,
                                            request.model, islands));
    for (int begin = 0; begin < num_layers; ++begin) {
      for (int end = begin + 1; end <= num_layers; ++end) {
        for (const int island : {0, 1}) {
          const bool allowed = std::none_of(
              constraints.pins.begin(), constraints.pins.end(),
              [&](const LayerPin& pin) {
                const bool overlaps =
                    begin <= pin.last_layer && pin.first_layer < end;
                return overlaps && (pin.island == "0") != (island == 0);
              });
          EXPECT_EQ(rules.Allows(begin, end, island), allowed);
        }
      }
    }
  }
}

TEST(ConstraintsTest, BadNamesListWhatThereIs) {
  const auto refuses = [](const PlanConstraints& constraints,
                          const std::string& message) {
    EXPECT_THAT(
        PlanWithin(constraints),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refuses({.exclude_nodes = {"fast", "x"}},
          "constraints.exclude_nodes[1]: x; expected a node, such as fast-0, "
          "or a group of nodes: fast, slow");
  refuses({.exclude_nodes = {"fast", "slow-0"}},
          "exclude_nodes: every node; expected at least one");
  refuses({.exclude_islands = {"x"}},
          "constraints.exclude_islands[0]: x; expected an island by number, "
          "name, type of GPU or group: 0 (FAST x1), 1 (SLOW x1)");
  refuses({.exclude_islands = {"0", "1"}},
          "exclude_islands: every island; expected at least one");
  refuses({.tp_degrees = {{"x", 2}}}, "constraints.tp_degrees: x; expected");
  refuses({.tp_degrees = {{"", 0}}},
          "constraints.tp_degrees: 0; expected a positive integer");
  refuses({.zero_degree = 1}, "constraints.zero_degree: 1; expected at least");
  refuses({.zero_stage = 0, .zero_degree = 2},
          "constraints.zero_degree: 2; expected none, as zero_stage is 0");
  refuses({.max_stages = {{"2", 2}}}, "constraints.max_stages: 2; expected");
  refuses({.pins = {{0, 6, "0"}}},
          "constraints.pins[0]: 0-6; expected layers from 0, the embedding, to "
          "5, the head");
  refuses({.pins = {{0, 1, "0"}, {2, 3, "x"}}},
          "constraints.pins[1]: x; expected an island");
}

}  // namespace
}  // namespace tangram
