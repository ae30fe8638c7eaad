// Islands that can change places: which ones a plan uses, and what is said of
// the others.

#include "coordinator/planners/tangram/pair_search.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

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

using ::testing::ElementsAre;
using testing::FakeSlicePlanSource;
using testing::FastAndSlow;
using testing::Plan;
using ::testing::SizeIs;
using testing::SlowIsHalfAsFast;

// One fast GPU, island 0, and eight slow ones, each an island, as the links of
// their group are slower than those to the fast one.
PlanRequest FastAndAlike() {
  PlanRequest request = FastAndSlow();
  testing::TestGroup slow{.name = "slow", .num_nodes = 8, .gpus_per_node = 1};
  slow.device = request.cluster->nodes[1].device;
  request.cluster =
      testing::TestCluster({{.name = "fast",
                             .gpus_per_node = 1,
                             .device = request.cluster->nodes[0].device},
                            slow},
                           1e15);
  return request;
}

std::set<int> IslandsOfStages(const PlanResult& result) {
  std::set<int> islands;
  for (const PlacedStage& stage : result.plan->stages) {
    islands.insert(stage.island);
  }
  return islands;
}

// A search of a request whose slow GPUs take twice as long.
class PairSearchTest : public ::testing::Test {
 protected:
  PairSearchTest() { source_.seconds_per_layer = SlowIsHalfAsFast; }

  absl::StatusOr<SearchSpace> SpaceOf(const PlanRequest& request) {
    return BuildSearchSpace(request, options_, rules_, source_, observer_);
  }

  PairSearch SearchOf(const SearchSpace& space, const PlanRequest& request) {
    return PairSearch(space, request, options_, rules_, source_, observer_);
  }

  FakeSlicePlanSource source_;

 private:
  const TangramOptions options_;
  const PipelineRules rules_;
  testing::SilentObserver observer_;
};

TEST_F(PairSearchTest, TheFirstAlikeIslandsAreUsedAndTheOthersHaveOneReason) {
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(FastAndAlike(), source_));
  ASSERT_TRUE(result.plan.has_value());
  ASSERT_THAT(result.islands, SizeIs(9));
  const std::set<int> used = IslandsOfStages(result);
  ASSERT_GT(used.size(), 2);
  ASSERT_LT(used.size(), 8);
  EXPECT_EQ(*used.begin(), 0);
  EXPECT_EQ(*used.rbegin(), used.size() - 1);
  ASSERT_THAT(result.unused_islands, SizeIs(9 - used.size()));
  // An island in use could give its place to one that is left out.
  for (const UnusedIsland& unused : result.unused_islands) {
    EXPECT_EQ(unused.reason, result.unused_islands[0].reason);
    EXPECT_EQ(unused.best_with_it_s, result.evaluation.iteration_time_s);
  }
}

// One microbatch of all samples keeps one GPU busy at a time, which the lower
// bound knows once a pipeline of small ones is known.
TEST_F(PairSearchTest, SeedsOfSlowMicrobatchSizesAreNotAsked) {
  const PlanRequest request = FastAndSlow();
  ASSERT_OK_AND_ASSIGN(const SearchSpace space, SpaceOf(request));
  PairSearch search = SearchOf(space, request);
  ASSERT_THAT(search.Run(), testing::IsOk());
  ASSERT_FALSE(search.finalists().empty());
  ASSERT_EQ(space.microbatch_sizes.back(), 8);
  const auto last = static_cast<int>(space.microbatch_sizes.size()) - 1;
  int num_asked = 0;
  for (int m = 0; m <= last; ++m) {
    for (int s = 0; s < space.slices.num_classes(); ++s) {
      for (int i = 0; i < static_cast<int>(space.island_classes.size()); ++i) {
        const bool is_asked = search.store().Asked({m, s, i});
        num_asked += is_asked ? 1 : 0;
        EXPECT_FALSE(is_asked && m == last);
      }
    }
  }
  EXPECT_GT(num_asked, 0);
}

TEST_F(PairSearchTest, APinTellsAnIslandApart) {
  PlanRequest request = FastAndAlike();
  request.constraints.pins = {
      {.first_layer = 2, .last_layer = 2, .island = "6"}};
  ASSERT_OK_AND_ASSIGN(const PlanResult result, Plan(request, source_));
  ASSERT_TRUE(result.plan.has_value());
  const std::set<int> used = IslandsOfStages(result);
  EXPECT_TRUE(used.contains(6));
  EXPECT_FALSE(used.contains(5));
  EXPECT_TRUE(used.contains(1));
}

TEST_F(PairSearchTest, ALessonHoldsForAllIslandsThatAreAlike) {
  const PlanRequest request = FastAndAlike();
  ASSERT_OK_AND_ASSIGN(const SearchSpace space, SpaceOf(request));
  EXPECT_THAT(space.first_alike, ElementsAre(0, 1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_EQ(space.AlikeTo(3), 0b111111110);
  PairSearch search = SearchOf(space, request);
  ASSERT_THAT(search.Run(), testing::IsOk());
  ASSERT_FALSE(search.finalists().empty());
  const ChosenSlice* on_slow = nullptr;
  for (const ChosenSlice& slice : search.finalists()[0].slices) {
    if (slice.island > 0) on_slow = &slice;
  }
  ASSERT_NE(on_slow, nullptr);
  const ChosenSlice slice = *on_slow;
  ASSERT_THAT(search.Widen({{.pair = slice.pair,
                             .island = slice.island,
                             .plan = slice.plan,
                             .trailing_stages = 1}}),
              testing::IsOk());
  for (int island = 1; island <= 8; ++island) {
    EXPECT_EQ(search.CandidatesOn(slice.pair, island)
                  .candidates[slice.plan]
                  .max_trailing_stages,
              0);
  }
}

}  // namespace
}  // namespace tangram
