#include "coordinator/planners/tangram/pair_reach.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "coordinator/planners/tangram/pair_search.h"
#include "coordinator/planners/tangram/seed_pairs.h"
#include "gtest/gtest.h"
#include "tests/testing/fake_slice_plan_source.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/planners/tangram/fast_and_slow.h"

namespace tangram {
namespace {

// The search space of two islands and 40 layers.
class PairReachTest : public ::testing::Test {
 protected:
  void SetUp() override {
    request_ = testing::FastAndSlow();
    request_.model = testing::TestModel(40);
    ASSERT_OK_AND_ASSIGN(
        space_, BuildSearchSpace(request_, options_, {}, source_, observer_));
  }

  // All pairs of slices that leave at most one other island a slice.
  std::vector<PairId> Pairs() const {
    std::vector<PairId> pairs;
    for (int m = 0; m < static_cast<int>(space_->microbatch_sizes.size());
         ++m) {
      for (int s = 0; s < space_->slices.num_classes(); ++s) {
        if (!space_->HasPosition(s)) continue;
        for (const int island : {0, 1}) pairs.push_back({m, s, island});
      }
    }
    return pairs;
  }

  double WorkOf(const PairId& pair) const {
    const AtomRange range = space_->slices.MembersOf(pair.slice_class).front();
    const WorkBounds& bounds = space_->bounds[pair.microbatch];
    return bounds.MeanWork(range.end) - bounds.MeanWork(range.begin);
  }
  double AllWork(const PairId& pair) const {
    return space_->bounds[pair.microbatch].MeanWork(space_->num_atoms());
  }

  PlanRequest request_;
  TangramOptions options_;
  testing::FakeSlicePlanSource source_;
  testing::SilentObserver observer_;
  std::optional<SearchSpace> space_;
};

TEST_F(PairReachTest, FewProbesFindWhatTwoIslandsReachTogether) {
  // Island 0 runs up to 0.7 of the model, island 1 up to 0.4.
  const auto share_of = [](const PairId& pair) {
    return pair.island_class == 0 ? 0.7 : 0.4;
  };
  const auto has_plans = [&](const PairId& pair) {
    return WorkOf(pair) <= share_of(pair) * AllWork(pair);
  };
  const std::vector<PairId> pairs = Pairs();
  PairReach reach(*space_, pairs);
  size_t num_probes = 0;
  while (true) {
    const std::vector<PairId> probes = reach.NextProbes(has_plans);
    if (probes.empty()) break;
    num_probes += probes.size();
  }
  EXPECT_LT(num_probes, pairs.size() / 3);
  for (const PairId& pair : pairs) {
    const double share = WorkOf(pair) / AllWork(pair);
    const double other = 1.1 - share_of(pair);
    // The rest may exceed the other island by half an atom.
    if (has_plans(pair) && 1 - share <= other) {
      EXPECT_TRUE(reach.Reaches(pair)) << share;
    } else if (!has_plans(pair) || 1 - share > other + 1.0 / 40) {
      EXPECT_FALSE(reach.Reaches(pair)) << share;
    }
  }
}

TEST_F(PairReachTest, WithoutPlansNothingIsReached) {
  const std::vector<PairId> pairs = Pairs();
  PairReach reach(*space_, pairs);
  const auto none = [](const PairId&) { return false; };
  while (!reach.NextProbes(none).empty()) {
  }
  for (const PairId& pair : pairs) EXPECT_FALSE(reach.Reaches(pair));
}

TEST_F(PairReachTest, MeasuredSeedsCutTheModelByWhatIslandsDo) {
  PairStore store(static_cast<int>(space_->microbatch_sizes.size()),
                  space_->slices.num_classes(), 2);
  // Island 0 runs 20 layers in 1 s, island 1 in 3 s.
  for (const int island : {0, 1}) {
    const SlicePlan plan{.stages = {{.time_s = island == 0 ? 1.0 : 3.0}}};
    store.Add({0, space_->slices.ClassOf({1, 21}), island}, 10,
              {.plans = {plan}});
  }
  const WorkBounds& bounds = space_->bounds[0];
  int cut = 0;  // Nearest to three quarters; of two, the later.
  for (int end = 1; end <= space_->num_atoms(); ++end) {
    const double wanted = 0.75 * bounds.MeanWork(space_->num_atoms());
    if (std::abs(bounds.MeanWork(end) - wanted) <=
        std::abs(bounds.MeanWork(cut) - wanted)) {
      cut = end;
    }
  }
  const int all = space_->num_atoms();
  std::vector<PairId> expected = {{0, space_->slices.ClassOf({0, cut}), 0},
                                  {0, space_->slices.ClassOf({cut, all}), 1},
                                  {0, space_->slices.ClassOf({0, all}), 0}};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(MeasuredSeedPairs(*space_, store), expected);
}

TEST_F(PairReachTest, ASearchForARuntimeAsksLessAndFindsTheSame) {
  source_.seconds_per_layer = testing::SlowIsHalfAsFast;
  const auto search = [&](const PipelineRules& rules) {
    PairSearch pairs(*space_, request_, options_, rules, source_, observer_);
    EXPECT_TRUE(pairs.Run().ok());
    return std::pair(pairs.stats().queries,
                     pairs.finalists().front().closed_form_s);
  };
  PipelineRules rules;
  const auto [all_queries, all_s] = search(rules);
  rules.fit = [](const PlanRequest&, const PipelinePlan& plan) { return plan; };
  const auto [queries, seconds] = search(rules);
  rules.effort = PipelineRules::Effort::kSeeds;
  const auto [seed_queries, seeds_s] = search(rules);
  EXPECT_LT(queries, all_queries);
  EXPECT_LT(seed_queries, queries);
  EXPECT_DOUBLE_EQ(seconds, all_s);
  EXPECT_GE(seeds_s, seconds);
  EXPECT_LT(seeds_s, 1.05 * seconds);
}

}  // namespace
}  // namespace tangram
