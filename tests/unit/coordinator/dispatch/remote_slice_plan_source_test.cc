#include "coordinator/dispatch/remote_slice_plan_source.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/dispatch/counting_parallelizer.h"
#include "tests/unit/coordinator/dispatch/pool_workers.h"

namespace tangram {
namespace {

using testing::CountingParallelizer;
using testing::IsOkAndHolds;
using testing::StatusIs;
using testing::TestModel;
using testing::ThreadWorker;

class RemoteSlicePlanSourceTest : public ::testing::Test {
 protected:
  CountingParallelizer parallelizer_;
  WorkerPool pool_{{.now_s = [] { return 0.0; }}, nullptr};
  ThreadWorker worker_{pool_, parallelizer_};
  const std::unique_ptr<RemoteSlicePlanSource> source_ =
      CreateRemoteSlicePlanSource(pool_, {"counting", "1"});
};

TEST_F(RemoteSlicePlanSourceTest, AsksAllFourQuestions) {
  EXPECT_THAT(source_->SliceModel(TestModel(2)),
              IsOkAndHolds(SliceByLayer(TestModel(2))));
  const PairContext context = testing::CountingContext();
  ASSERT_OK_AND_ASSIGN(
      const std::vector<PerformanceProfile> profiles,
      source_->Profile(
          context, std::vector<ProfileQuery>{{.pipeline_microbatch_size = 3}}));
  EXPECT_EQ(profiles[0].min_gpu_seconds, 3);
  ASSERT_OK_AND_ASSIGN(
      const std::vector<SlicePlanSet> answers,
      source_->Parallelize(
          context, std::vector<PairQuery>{{.max_search_steps = 5}}, nullptr));
  EXPECT_EQ(answers[0].search_steps, 5);
}

TEST(RemoteSlicePlanSourceNamesTest, WorkersDoNotLearnThoseOfModels) {
  class Eavesdropper : public CountingParallelizer {
   public:
    absl::StatusOr<std::vector<ModelSlice>> SliceModel(
        const ModelSpec& model) const override {
      heard = model;
      return CountingParallelizer::SliceModel(model);
    }
    mutable ModelSpec heard;
  } eavesdropper;
  WorkerPool pool({.now_s = [] { return 0.0; }}, nullptr);
  const ThreadWorker worker(pool, eavesdropper);
  ModelSpec model = TestModel(2);
  model.name = "secret";
  model.details.unplanned = {"secret"};
  EXPECT_THAT(
      CreateRemoteSlicePlanSource(pool, {"counting", "1"})->SliceModel(model),
      IsOkAndHolds(SliceByLayer(model)));
  EXPECT_EQ(eavesdropper.heard.layers, model.layers);
  EXPECT_EQ(eavesdropper.heard.name, "");
  EXPECT_EQ(eavesdropper.heard.details, ModelDetails());
}

TEST_F(RemoteSlicePlanSourceTest, JoinsEqualSlicesOnceWhereverTheyStand) {
  const std::vector<ModelSlice> atoms = SliceByLayer(TestModel(4));
  for (const int at : {1, 3}) {
    EXPECT_THAT(source_->Concatenate(
                    std::vector<ConcatenateQuery>{{atoms[at], atoms[at + 1]}}),
                IsOkAndHolds(::testing::ElementsAre(
                    JoinSlices(atoms[at], atoms[at + 1]))));
  }
  EXPECT_EQ(parallelizer_.num_calls, 1);
  EXPECT_EQ(source_->cache_hits(), 1);
}

TEST_F(RemoteSlicePlanSourceTest, PassesErrorsOn) {
  parallelizer_.fail = [](int64_t) { return true; };
  EXPECT_THAT(source_->Parallelize(
                  testing::CountingContext(),
                  std::vector<PairQuery>{{.max_search_steps = 0}}, nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "worker test, adapter counting 1: step 0"));
}

TEST_F(RemoteSlicePlanSourceTest, StopsWhenToldTo) {
  const auto stopped = CreateRemoteSlicePlanSource(pool_, {"counting", "2"},
                                                   [] { return true; });
  EXPECT_THAT(stopped->SliceModel(TestModel(2)),
              StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

}  // namespace
}  // namespace tangram
