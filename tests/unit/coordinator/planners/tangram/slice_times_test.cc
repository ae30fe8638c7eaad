#include "coordinator/planners/tangram/slice_times.h"

#include <set>
#include <vector>

#include "common/sim/evaluate_plan.h"
#include "coordinator/planners/tangram/order_finalists.h"
#include "coordinator/planners/tangram/pair_search.h"
#include "coordinator/planners/tangram/place_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/fake_slice_plan_source.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

class QuietObserver : public PlanObserver {
 public:
  void OnPhase(PlanPhase) override {}
  void OnPairs(int, int) override {}
  void OnBest(double) override {}
  bool ShouldStop() override { return false; }
};

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
  const PlanRequest request = TwoIslands();
  const TangramOptions options{.finalist_slack = 1};
  const PipelineRules rules;
  testing::FakeSlicePlanSource source;
  QuietObserver observer;
  ASSERT_OK_AND_ASSIGN(
      const SearchSpace space,
      BuildSearchSpace(request, options, rules, source, observer));
  PairSearch search(space, request, options, rules, source, observer);
  ASSERT_THAT(search.Run(), testing::IsOk());
  SliceTimes times(space, search.store(), request);
  int num_cut = 0;
  for (const Finalist& finalist : search.finalists()) {
    ASSERT_OK_AND_ASSIGN(
        const Evaluation evaluation,
        EvaluatePlan(request.model, request.cluster, request.training,
                     PlacePlan(space, search.store(), finalist)));
    EXPECT_EQ(PlayedFinalistSeconds(space, search.store(), finalist, times),
              evaluation.iteration_time_s);
    EXPECT_DOUBLE_EQ(search.ClosedFormOf(finalist), finalist.closed_form_s);
    num_cut += finalist.slices.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(num_cut, 0);
}

TEST(OrderFinalistsTest, ReturnsCompositionsInOrder) {
  const PlanRequest request = TwoIslands();
  const TangramOptions options{.finalist_slack = 0};
  const PipelineRules rules;
  testing::FakeSlicePlanSource source;
  QuietObserver observer;
  ASSERT_OK_AND_ASSIGN(
      const SearchSpace space,
      BuildSearchSpace(request, options, rules, source, observer));
  PairSearch search(space, request, options, rules, source, observer);
  ASSERT_THAT(search.Run(), testing::IsOk());
  SliceTimes times(space, search.store(), request);
  OrderFinalists ordered(space, search, times, observer);
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
        PlayedFinalistSeconds(space, search.store(), *next, times);
    EXPECT_LE(before_s, seconds);
    before_s = seconds;
    ++found;
  }
  EXPECT_GT(found, 10);
}

}  // namespace
}  // namespace tangram
