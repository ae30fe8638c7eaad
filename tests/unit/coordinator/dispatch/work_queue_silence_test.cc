// How long workers without tasks may be silent, and when they are lost.
#include <optional>

#include "coordinator/dispatch/work_queue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

// A queue whose worker may be silent for 100 s.
class WorkQueueSilenceTest : public ::testing::Test {
 protected:
  WorkQueueSilenceTest()
      : queue_({.silence_limit_s = 25, .max_idle_beats_per_s = 0.01}),
        worker_(queue_.AddWorker({kAdapter}, 1, 0)) {}

  // Returns the first second at which the worker is lost.
  int LostAtS() {
    int now_s = 0;
    while (queue_.SilentWorkers(now_s).empty()) ++now_s;
    queue_.CheckInvariants();
    return now_s;
  }

  const AdapterId kAdapter{"aceso", "1"};
  WorkQueue queue_;
  const WorkerId worker_;
};

TEST_F(WorkQueueSilenceTest, HeartbeatsKeepAWorker) {
  WorkQueue queue({.silence_limit_s = 15});
  const WorkerId heard = queue.AddWorker({kAdapter}, 1, 0);
  const WorkerId silent = queue.AddWorker({kAdapter}, 1, 0);
  queue.Heard(heard, 14);
  EXPECT_THAT(queue.SilentWorkers(15), IsEmpty());
  EXPECT_THAT(queue.SilentWorkers(15.1), ElementsAre(silent));
  EXPECT_THAT(queue.SilentWorkers(29.1), ElementsAre(heard, silent));
}

// One message a second, of all workers together.
TEST_F(WorkQueueSilenceTest, TheMoreWorkersTheLongerTheirSilences) {
  WorkQueue queue({.silence_limit_s = 25, .max_idle_beats_per_s = 1});
  WorkerId worker = 0;
  for (int i = 0; i < 15; ++i) worker = queue.AddWorker({kAdapter}, 1, 0);
  EXPECT_THAT(queue.AllowSilence(worker), Optional(15.0));
  for (int i = 0; i < 5; ++i) worker = queue.AddWorker({kAdapter}, 1, 0);
  EXPECT_THAT(queue.AllowSilence(worker), Optional(20.0));
  for (int i = 0; i < 1000; ++i) worker = queue.AddWorker({kAdapter}, 1, 0);
  EXPECT_THAT(queue.AllowSilence(worker), Optional(kMaxSilenceS));
  queue.CheckInvariants();
}

TEST_F(WorkQueueSilenceTest, AnAllowedSilenceCountsFromTheLastMessage) {
  queue_.Heard(worker_, 10);
  EXPECT_THAT(queue_.AllowSilence(worker_), Optional(100.0));
  EXPECT_EQ(LostAtS(), 121);
}

TEST_F(WorkQueueSilenceTest, ATaskEndsAnAllowedSilence) {
  queue_.Heard(worker_, 10);
  queue_.AllowSilence(worker_);
  const TaskId task = queue_.AddTask(queue_.OpenBatch(kAdapter));
  ASSERT_THAT(queue_.LeaseTo(worker_, 60), ElementsAre(task));
  EXPECT_EQ(queue_.AllowSilence(worker_), std::nullopt);
  EXPECT_EQ(LostAtS(), 86);
}

// Else a worker that is gone could be leased tasks for ever, one after another.
TEST_F(WorkQueueSilenceTest, OnlyAMessageMovesTheEndOfASilence) {
  queue_.Heard(worker_, 10);
  queue_.AllowSilence(worker_);
  for (const double now_s : {60, 70, 80}) {
    const BatchId batch = queue_.OpenBatch(kAdapter);
    const TaskId task = queue_.AddTask(batch);
    ASSERT_THAT(queue_.LeaseTo(worker_, now_s), ElementsAre(task));
    queue_.CloseBatch(batch);
  }
  EXPECT_EQ(LostAtS(), 86);
}

TEST_F(WorkQueueSilenceTest, ATaskMovesNoEarlierEnd) {
  queue_.Heard(worker_, 10);
  queue_.AllowSilence(worker_);
  const TaskId task = queue_.AddTask(queue_.OpenBatch(kAdapter));
  ASSERT_THAT(queue_.LeaseTo(worker_, 118), ElementsAre(task));
  EXPECT_EQ(LostAtS(), 121);
}

// It does not know that it might be silent.
TEST_F(WorkQueueSilenceTest, AWorkerThatSendsHeartbeatsKeepsItsTask) {
  queue_.Heard(worker_, 10);
  queue_.AllowSilence(worker_);
  const TaskId task = queue_.AddTask(queue_.OpenBatch(kAdapter));
  ASSERT_THAT(queue_.LeaseTo(worker_, 24.9), ElementsAre(task));
  for (const double now_s : {25, 40, 55, 70}) {
    queue_.Heard(worker_, now_s);
    EXPECT_EQ(queue_.AllowSilence(worker_), std::nullopt);
  }
  EXPECT_EQ(LostAtS(), 96);
}

}  // namespace
}  // namespace tangram
