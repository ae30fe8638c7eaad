#include "coordinator/dispatch/remote_parallelizer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/dispatch/counting_parallelizer.h"
#include "tests/unit/coordinator/dispatch/pool_workers.h"

namespace tangram {
namespace {

using testing::IsOkAndHolds;
using testing::StatusIs;
using testing::TestIsland;
using testing::TestModel;

class RemoteParallelizerTest : public ::testing::Test {
 protected:
  testing::CountingParallelizer local_;
  WorkerPool pool_{{.now_s = [] { return 0.0; }}, nullptr};
  testing::ThreadWorker worker_{pool_, local_};
  const std::unique_ptr<Parallelizer> remote_ =
      CreateRemoteParallelizer(pool_, *pool_.FindAdapter("counting", nullptr));
  const std::vector<ModelSlice> atoms_ = SliceByLayer(TestModel(2));
};

TEST_F(RemoteParallelizerTest, AnswersAsTheOneBehindIt) {
  EXPECT_EQ(remote_->name(), local_.name());
  EXPECT_EQ(remote_->version(), local_.version());
  EXPECT_EQ(remote_->features(), local_.features());
  EXPECT_THAT(remote_->SliceModel(TestModel(2)), IsOkAndHolds(atoms_));
  EXPECT_THAT(remote_->Concatenate(atoms_[0], atoms_[1]),
              IsOkAndHolds(JoinSlices(atoms_[0], atoms_[1])));
  EXPECT_THAT(remote_->Profile(atoms_[0], TestIsland(1, 4),
                               {.pipeline_microbatch_size = 2}),
              IsOkAndHolds(PerformanceProfile{.min_gpu_seconds = 2}));
  EXPECT_THAT(remote_->Parallelize(atoms_[0], TestIsland(1, 4),
                                   {.max_search_steps = 9}),
              IsOkAndHolds(testing::CountedAnswer(9)));
}

TEST_F(RemoteParallelizerTest, PassesErrorsOn) {
  local_.fail = [](int64_t) { return true; };
  EXPECT_THAT(remote_->Parallelize(atoms_[0], TestIsland(1, 4), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "step 0"));
}

TEST_F(RemoteParallelizerTest, StoppingTruncatesTheAnswer) {
  const auto absent =
      CreateRemoteParallelizer(pool_, {.id = {"counting", "2"}});
  ASSERT_OK_AND_ASSIGN(
      const SlicePlanSet answer,
      absent->Parallelize(atoms_[0], TestIsland(1, 4),
                          {.should_stop = [] { return true; }}));
  EXPECT_TRUE(answer.truncated);
  EXPECT_TRUE(answer.infeasible.has_value());
}

}  // namespace
}  // namespace tangram
