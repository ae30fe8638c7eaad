#include "coordinator/planners/tangram/slice_times.h"

#include <map>
#include <optional>
#include <set>
#include <utility>
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
PlanRequest TwoIslands(bool has_tied_matrix) {
  DeviceSpec slow = testing::TestDevice("SLOW");
  slow.peak_flops.fp16 = 40e12;
  PlanRequest request{
      .cluster = testing::TestCluster(
          {{.name = "fast",
            .num_nodes = 2,
            .gpus_per_node = 2,
            .device = testing::TestDevice("FAST")},
           {.name = "slow", .gpus_per_node = 4, .device = slow}},
          2e9),
      .model = testing::TestModel(5),
      .training = testing::TestTraining(8)};
  for (LayerSpec* layer :
       {&request.model.layers.front(), &request.model.layers.back()}) {
    layer->tied_embeddings = has_tied_matrix;
  }
  return request;
}

// A search of TwoIslands. Run it before asking it.
class TwoIslandSearch {
 public:
  explicit TwoIslandSearch(double finalist_slack, bool has_tied_matrix = false)
      : request_(TwoIslands(has_tied_matrix)),
        options_{.finalist_slack = finalist_slack} {}

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
  const PlanRequest request_;
  const TangramOptions options_;
  const PipelineRules rules_;
  testing::FakeSlicePlanSource source_;
  testing::SilentObserver observer_;
  std::optional<SearchSpace> space_;
  std::optional<PairSearch> pairs_;
  std::optional<SliceTimes> times_;
};

SliceTimes::EndStage EndOf(const SliceStage& stage, int island, int first_gpu) {
  const StageParallelism& parallelism = stage.plan.parallelism;
  return {.island = island,
          .first_gpu = first_gpu,
          .num_gpus = parallelism.num_gpus(),
          .replicas = parallelism.dp_degree};
}

// Returns the exchange between the ends of a finalist.
double ExchangeSeconds(const PairStore& store, const Finalist& finalist,
                       SliceTimes& times) {
  const ChosenSlice& first = finalist.slices.front();
  const ChosenSlice& last = finalist.slices.back();
  const auto& stages = store.PlansOf(last.pair)[last.plan].stages;
  int first_gpu = 0;
  for (size_t s = 0; s + 1 < stages.size(); ++s) {
    first_gpu += stages[s].plan.parallelism.num_gpus();
  }
  return times.ExchangeSeconds(
      EndOf(store.PlansOf(first.pair)[first.plan].stages.front(), first.island,
            0),
      EndOf(stages.back(), last.island, first_gpu));
}

// Plays a finalist by SliceTimes.
double PlayedFinalistSeconds(const SearchSpace& space, const PairStore& store,
                             const Finalist& finalist, SliceTimes& times) {
  std::vector<StageTimes> stages;
  for (size_t i = 0; i < finalist.slices.size(); ++i) {
    const ChosenSlice& slice = finalist.slices[i];
    for (const StageTimes& stage :
         times.TimesOf(slice.pair, slice.island)[slice.plan]) {
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
  if (stages.size() > 1) {
    const double exchange_s = ExchangeSeconds(store, finalist, times);
    stages.front().sync_s += exchange_s;
    stages.back().sync_s += exchange_s;
  }
  return PlayPipeline(
             {.num_devices = static_cast<int>(stages.size()),
              .num_microbatches =
                  space.bounds[finalist.microbatch].num_microbatches()},
             stages)
      .iteration_time_s;
}

class SliceTimesAndTies : public ::testing::TestWithParam<bool> {};

TEST_P(SliceTimesAndTies, AreThoseOfTheEvaluator) {
  TwoIslandSearch two(/*finalist_slack=*/1, /*has_tied_matrix=*/GetParam());
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

INSTANTIATE_TEST_SUITE_P(TiedOrNot, SliceTimesAndTies, ::testing::Bool());

// Keeps all times, and counts how often they were known.
class KeepAllTimes : public SharedStageTimes {
 public:
  const TimesOfPlans* Find(const Key& key) override {
    const auto it = times_.find({key.high, key.low});
    if (it == times_.end()) return nullptr;
    ++num_known;
    return &it->second;
  }
  const TimesOfPlans* Insert(const Key& key,
                             const TimesOfPlans& times) override {
    ++num_kept;
    return &(times_[{key.high, key.low}] = times);
  }

  int num_known = 0;
  int num_kept = 0;

 private:
  std::map<std::pair<uint64_t, uint64_t>, TimesOfPlans> times_;
};

// Returns all times of the plans that a search has, by their pairs.
std::vector<std::vector<StageTimes>> AllTimes(TwoIslandSearch& two,
                                              SliceTimes& times) {
  std::vector<std::vector<StageTimes>> all;
  const SearchSpace& space = two.space();
  for (int m = 0; m < static_cast<int>(space.microbatch_sizes.size()); ++m) {
    for (int s = 0; s < space.slices.num_classes(); ++s) {
      for (int island = 0; island < space.num_islands(); ++island) {
        const PairId pair{m, s, space.class_of_island[island]};
        const auto num_plans = two.pairs().store().PlansOf(pair).size();
        for (size_t p = 0; p < num_plans; ++p) {
          all.push_back(times.TimesOf(pair, island)[p]);
        }
      }
    }
  }
  return all;
}

TEST(SliceTimesTest, SharedTimesAreThoseOfTheSearchItself) {
  TwoIslandSearch two(/*finalist_slack=*/1);
  ASSERT_THAT(two.Run(), testing::IsOk());
  const std::vector<std::vector<StageTimes>> own = AllTimes(two, two.times());
  ASSERT_GT(own.size(), 10);
  KeepAllTimes shared;
  for (const bool is_again : {false, true}) {
    SliceTimes times(two.space(), two.pairs().store(), two.request(), &shared);
    const std::vector<std::vector<StageTimes>> all = AllTimes(two, times);
    ASSERT_EQ(all.size(), own.size());
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(all[i].size(), own[i].size());
      for (size_t stage = 0; stage < all[i].size(); ++stage) {
        EXPECT_EQ(all[i][stage].forward_s, own[i][stage].forward_s);
        EXPECT_EQ(all[i][stage].backward_s, own[i][stage].backward_s);
        EXPECT_EQ(all[i][stage].send_forward_s, own[i][stage].send_forward_s);
        EXPECT_EQ(all[i][stage].sync_s, own[i][stage].sync_s);
      }
    }
    EXPECT_GT(shared.num_kept, 1);
    EXPECT_EQ(shared.num_known, is_again ? shared.num_kept : 0);
  }
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
    if (!next->is_fastest) continue;
    const Finalist& finalist = next->finalist;
    EXPECT_EQ(search.WasFinalist(finalist),
              finalists.contains(finalist.slices));
    const double seconds = PlayedFinalistSeconds(two.space(), search.store(),
                                                 finalist, two.times());
    EXPECT_LE(before_s, seconds);
    before_s = seconds;
    ++found;
  }
  EXPECT_GT(found, 10);
}

}  // namespace
}  // namespace tangram
