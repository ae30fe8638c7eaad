#include "coordinator/planners/tangram/measured_latency.h"

#include <optional>

#include "coordinator/planners/tangram/slice_plan_limit.h"
#include "gtest/gtest.h"
#include "tests/testing/fake_slice_plan_source.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/planners/tangram/fast_and_slow.h"

namespace tangram {
namespace {

// The search space of two islands and 40 layers.
class MeasuredLatencyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    request_ = testing::FastAndSlow();
    request_.model = testing::TestModel(40);
    ASSERT_OK_AND_ASSIGN(
        space_, BuildSearchSpace(request_, {}, {}, source_, observer_));
  }

  PairStore Store() const {
    return PairStore(static_cast<int>(space_->microbatch_sizes.size()),
                     space_->slices.num_classes(), 2);
  }
  double WorkOf(AtomRange range) const {
    return space_->bounds[0].MeanWork(range.end) -
           space_->bounds[0].MeanWork(range.begin);
  }
  PairId Pair(AtomRange range, int island) const {
    return {0, space_->slices.ClassOf(range), island};
  }

  PlanRequest request_;
  testing::FakeSlicePlanSource source_;
  testing::SilentObserver observer_;
  std::optional<SearchSpace> space_;
};

constexpr AtomRange kAnswered{1, 21};
constexpr AtomRange kOwn{30, 40};  // Leaves 30 atoms and the last one.

TEST_F(MeasuredLatencyTest, TheRestTakesTheLeastLatencyOfTheAnswers) {
  PairStore store = Store();
  // Two stages of 1 s, and one of 3 s.
  for (const int stages : {2, 1}) {
    SlicePlan plan;
    plan.stages.resize(stages);
    for (SliceStage& stage : plan.stages) {
      stage.time_s = stages == 2 ? 1.0 : 3.0;
    }
    store.Add(Pair(kAnswered, 1), 10, {.plans = {plan}});
  }
  const MeasuredLatency latency(*space_, store);
  const double rest = WorkOf({0, space_->num_atoms()}) - WorkOf(kOwn);
  const double microbatches = space_->bounds[0].num_microbatches();
  EXPECT_DOUBLE_EQ(latency.RestSeconds(Pair(kOwn, 0), 100 * microbatches),
                   rest / WorkOf(kAnswered) * 2);
}

TEST_F(MeasuredLatencyTest, AnIslandHoldsNoMoreThanItsSlowestStageAllows) {
  PairStore store = Store();
  store.Add(Pair(kAnswered, 1), 10, {.plans = {{.stages = {{.time_s = 2.0}}}}});
  const MeasuredLatency latency(*space_, store);
  const double microbatches = space_->bounds[0].num_microbatches();
  // In 1 s, the island runs half of the answered slice.
  EXPECT_DOUBLE_EQ(latency.RestSeconds(Pair(kOwn, 0), microbatches), 1);
}

TEST_F(MeasuredLatencyTest, WithoutAnswersProfilesStandIn) {
  const MeasuredLatency latency(*space_, Store());
  const double rest = WorkOf({0, space_->num_atoms()}) - WorkOf(kOwn);
  const WorkBounds& bounds = space_->bounds[0];
  EXPECT_DOUBLE_EQ(
      latency.RestSeconds(Pair(kOwn, 0), 100.0 * bounds.num_microbatches() *
                                             rest / bounds.Capacity(2)),
      rest / bounds.Capacity(2));
}

TEST_F(MeasuredLatencyTest, TheLimitOfAPlanIsWhatTheRestLeaves) {
  const PairId pair = Pair(kOwn, 0);
  const double limit_s = SlicePlanLimitBeside(*space_, pair, 100, 40);
  EXPECT_GE(limit_s, 60);
  EXPECT_LE(limit_s, 60 * (1 + 1.0 / 32));
  EXPECT_LE(limit_s, SlicePlanLimit(*space_, pair, 100));
  EXPECT_GT(SlicePlanLimitBeside(*space_, pair, 100, 200), 0);
}

}  // namespace
}  // namespace tangram
