#include "coordinator/planners/rivals/listed/listed_search.h"

#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::IsOkAndHolds;
using ::testing::SizeIs;

// Predictions of 1, 2 and 3 seconds.
ListedPlans ThreePlans() {
  ListedPlans plans;
  for (const double predicted_s : {1.0, 2.0, 3.0}) {
    plans.proposals.push_back({.predicted_s = predicted_s});
  }
  return plans;
}

TEST(ListedSearchTest, ProposesOneByOneInOrder) {
  const std::unique_ptr<PlanSearch> search = ProposeInOrder({}, ThreePlans());
  for (const double expected_s : {1.0, 2.0, 3.0}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Proposal> next, search->Propose({}));
    ASSERT_THAT(next, SizeIs(1));
    EXPECT_EQ(next[0].predicted_s, expected_s);
  }
  EXPECT_THAT(search->Propose({}), IsOkAndHolds(SizeIs(0)));
}

TEST(ListedSearchTest, ProposesAllAtOnce) {
  const std::unique_ptr<PlanSearch> search = ProposeAtOnce({}, ThreePlans());
  EXPECT_THAT(search->Propose({}), IsOkAndHolds(SizeIs(3)));
  EXPECT_THAT(search->Propose({}), IsOkAndHolds(SizeIs(0)));
}

TEST(ListedPlannerTest, ListsForTheIslandsAndStops) {
  const PlanRequest request{
      .cluster = testing::TestCluster({{"a", 1, 2, testing::TestDevice()},
                                       {"b", 1, 4, testing::TestDevice()}}),
      .model = testing::TestModel(2),
      .training = testing::TestTraining()};
  size_t num_islands = 0;
  const std::unique_ptr<Planner> planner = CreateListedPlanner(
      [&](const PlanRequest&, const std::vector<Island>& islands,
          PlanObserver&) -> absl::StatusOr<ListedPlans> {
        num_islands = islands.size();
        return ThreePlans();
      },
      ProposeAtOnce);
  testing::SilentObserver observer;
  EXPECT_THAT(planner->Start(request, observer), testing::IsOk());
  EXPECT_EQ(num_islands, planner->Islands(request, observer)->size());
  observer.stop = true;
  EXPECT_EQ(planner->Start(request, observer).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tangram
