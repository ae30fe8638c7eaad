#include "coordinator/planners/tangram/slice_times.h"

#include <optional>
#include <set>
#include <vector>

#include "common/base/status_macros.h"
#include "common/sim/evaluate_plan.h"
#include "coordinator/planners/tangram/order_finalists.h"
#include "coordinator/planners/tangram/pair_search.h"
#include "coordinator/planners/tangram/place_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/fake_slice_plan_source.h"
#include "tests/testing/planning/planning.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

// Two islands with a slow link between them.
PlanRequest TwoIslands() {
  DeviceSpec slow = testing::TestDevice("SLOW");
  slow.peak_flops.fp16 = 40e12;
  return {.cluster = testing::TestCluster(
              {{.name = "fast",
                .num_nodes = 2,
                .gpus_per_node = 2,
                .device = testing::TestDevice("FAST")},
               {.name = "slow", .gpus_per_node = 4, .device = slow}},
              2e9),
          .model = testing::TestModel(5),
          .training = testing::TestTraining(8)};
}

// A search of TwoIslands. Run it before asking it.
class TwoIslandSearch {
 public:
  explicit TwoIslandSearch(double finalist_slack)
      : options_{.finalist_slack = finalist_slack} {}

  absl::Status Run() {
    TANGRAM_ASSIGN_OR_RETURN(
        space_,
        BuildSearchSpace(request_, options_, rules_, source_, observer_));
    pairs_.emplace(*space_, request_, options_, rules_, source_, observer_);
    TANGRAM_RETURN_IF_ERROR(pairs_->Run());
    times_.emplace(*space_, pairs_->store(), request_);
    return absl::OkStatus();
  }
  const PlanRequest& request() const { return request_; }
  const SearchSpace& space() const { return *space_; }
  PairSearch& pairs() { return *pairs_; }
  SliceTimes& times() { return *times_; }
  PlanObserver& observer() { return observer_; }

 private:
  const PlanRequest request_ = TwoIslands();
  const TangramOptions options_;
  const PipelineRules rules_;
  testing::FakeSlicePlanSource source_;
  testing::SilentObserver observer_;
  std::optional<SearchSpace> space_;
  std::optional<PairSearch> pairs_;
  std::optional<SliceTimes> times_;
};

// Plays a finalist by SliceTimes.
double PlayedFinalistSeconds(const SearchSpace& space, const PairStore& store,
                             const Finalist& finalist, SliceTimes& times) {
  std::vector<StageTimes> stages;
  for (size_t i = 0; i < finalist.slices.size(); ++i) {
    const ChosenSlice& slice = finalist.slices[i];
    for (const StageTimes& stage :
         times.StagesOf(slice.pair, slice.island, slice.plan)) {
      stages.push_back(stage);
    }
    if (i + 1 == finalist.slices.size()) continue;
    const SlicePlan& plan = store.PlansOf(slice.pair)[slice.plan];
    SliceTimes::Boundary boundary{
        .microbatch = finalist.microbatch,
        .atom = slice.atoms.end,
        .from_island = slice.island,
        .from_count = plan.stages.back().plan.parallelism.num_gpus(),
        .to_island = finalist.slices[i + 1].island,
        .to_count = 1};
    times.SetTransfers(boundary, stages.back());
  }
  return PlayPipeline(
             {.num_devices = static_cast<int>(stages.size()),
              .num_microbatches =
                  space.bounds[finalist.microbatch].num_microbatches()},
             stages)
      .iteration_time_s;
}

TEST(SliceTimesTest, AreThoseOfTheEvaluator) {
  TwoIslandSearch two(/*finalist_slack=*/1);
  ASSERT_THAT(two.Run(), testing::IsOk());
  const PairSearch& search = two.pairs();
  int num_cut = 0;
  for (const Finalist& finalist : search.finalists()) {
    ASSERT_OK_AND_ASSIGN(
        const Evaluation evaluation,
        EvaluatePlan(two.request().model, two.request().cluster,
                     two.request().training,
                     PlacePlan(two.space(), search.store(), finalist)));
    EXPECT_EQ(PlayedFinalistSeconds(two.space(), search.store(), finalist,
                                    two.times()),
              evaluation.iteration_time_s);
    EXPECT_DOUBLE_EQ(search.ClosedFormOf(finalist), finalist.closed_form_s);
    num_cut += finalist.slices.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(num_cut, 0);
}

TEST(OrderFinalistsTest, ReturnsCompositionsInOrder) {
  TwoIslandSearch two(/*finalist_slack=*/0);
  ASSERT_THAT(two.Run(), testing::IsOk());
  const PairSearch& search = two.pairs();
  OrderFinalists ordered(two.space(), two.pairs(), two.times(), two.observer());
  std::set<std::vector<ChosenSlice>> finalists;
  for (const Finalist& finalist : search.finalists()) {
    finalists.insert(finalist.slices);
  }
  double before_s = 0;
  int found = 0;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto next, ordered.Next(1));
    if (!next.has_value()) break;
    EXPECT_EQ(search.WasFinalist(*next), finalists.contains(next->slices));
    const double seconds =
        PlayedFinalistSeconds(two.space(), search.store(), *next, two.times());
    EXPECT_LE(before_s, seconds);
    before_s = seconds;
    ++found;
  }
  EXPECT_GT(found, 10);
}

}  // namespace
}  // namespace tangram
