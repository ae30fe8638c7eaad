#include "coordinator/dispatch/local_slice_plan_source.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/dispatch/counting_parallelizer.h"

namespace tangram {
namespace {

using testing::CountingParallelizer;
using testing::StatusIs;

std::vector<PairQuery> Queries(int count) {
  std::vector<PairQuery> queries(count);
  for (int i = 0; i < count; ++i) queries[i].max_search_steps = i;
  return queries;
}

class LocalSlicePlanSourceTest : public ::testing::TestWithParam<int> {
 protected:
  std::unique_ptr<SlicePlanSource> Source(
      std::function<bool()> should_stop = nullptr) {
    return CreateLocalSlicePlanSource(parallelizer_, GetParam(),
                                      std::move(should_stop));
  }

  CountingParallelizer parallelizer_;
  const PairContext context_ = testing::CountingContext();
};

INSTANTIATE_TEST_SUITE_P(Threads, LocalSlicePlanSourceTest,
                         ::testing::Values(0, 1, 2, 7));

TEST_P(LocalSlicePlanSourceTest, AnswersInTheOrderOfTheQueries) {
  int last_done = 0;
  ASSERT_OK_AND_ASSIGN(
      const std::vector<SlicePlanSet> answers,
      Source()->Parallelize(context_, Queries(100), [&](int done, int total) {
        EXPECT_EQ(done, ++last_done);  // One call at a time.
        EXPECT_EQ(total, 100);
      }));
  ASSERT_EQ(answers.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(answers[i].search_steps, i);
  EXPECT_EQ(last_done, 100);
}

TEST_P(LocalSlicePlanSourceTest, TheFirstFailingQueryDecidesTheError) {
  // With two threads, the first in order is not the first in time.
  std::atomic<bool> second_failed = GetParam() < 2;
  parallelizer_.fail = [&](int64_t step) {
    if (step == 60) second_failed.wait(false);
    if (step == 61) second_failed = true;
    second_failed.notify_all();
    return step == 60 || step == 61;
  };
  EXPECT_THAT(Source()->Parallelize(context_, Queries(100), nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument, "step 60"));
}

TEST_P(LocalSlicePlanSourceTest, AnswersNothingForNothing) {
  ASSERT_OK_AND_ASSIGN(const std::vector<SlicePlanSet> answers,
                       Source()->Parallelize(context_, {}, nullptr));
  EXPECT_TRUE(answers.empty());
}

TEST_P(LocalSlicePlanSourceTest, StopsWhenToldTo) {
  std::atomic<int> polls = 0;
  EXPECT_THAT(Source([&] {
                return ++polls > 20;
              })->Parallelize(context_, Queries(1000), nullptr),
              StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_LT(parallelizer_.num_calls, 50);
}

TEST_P(LocalSlicePlanSourceTest, PassesTheOtherFunctionsOn) {
  const auto source = Source();
  ASSERT_OK_AND_ASSIGN(const std::vector<ModelSlice> atoms,
                       source->SliceModel(testing::TestModel(2)));
  ASSERT_EQ(atoms.size(), 4u);
  EXPECT_THAT(
      source->Concatenate(std::vector<ConcatenateQuery>{{atoms[0], atoms[1]},
                                                        {atoms[2], atoms[3]}}),
      testing::IsOkAndHolds(::testing::ElementsAre(
          JoinSlices(atoms[0], atoms[1]), JoinSlices(atoms[2], atoms[3]))));
  ASSERT_OK_AND_ASSIGN(
      const std::vector<PerformanceProfile> profiles,
      source->Profile(context_, std::vector<ProfileQuery>{
                                    {.pipeline_microbatch_size = 3},
                                    {.pipeline_microbatch_size = 1}}));
  EXPECT_EQ(profiles[0].min_gpu_seconds, 3);
  EXPECT_EQ(profiles[1].min_gpu_seconds, 1);
}

}  // namespace
}  // namespace tangram
