// Workers that take queries and give nothing for them.
#include <future>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/dispatch/worker_pool_fixture.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::Named;
using testing::RecordingWorker;
using testing::StatusIs;
using testing::WorkerPoolTest;

class BreakerTest : public WorkerPoolTest {
 protected:
  struct Peer {
    RecordingWorker connection;
    WorkerId id = 0;
  };

  BreakerTest()
      : WorkerPoolTest({.queue = {.new_hedge_after_s = 1.5},
                        .quarantine = {.first_hold_s = 10},
                        .worker_wait_s = 1000}) {}

  void Connect(const WorkerInfo& info, Peer& peer) {
    peer.id = pool_.Connect(info, peer.connection);
  }
  // Lets time pass. All workers send heartbeats.
  void PassTo(double now_s) {
    now_s_ = now_s;
    for (const Peer* peer : {&bad_, &good_}) pool_.Heard(peer->id);
    pool_.Tick();
  }
  TaskId LastLease(Peer& peer, size_t count) {
    return peer.connection.AwaitLeases(count).back();
  }
  // The bad one takes a query, and the good one too after a while.
  std::future<absl::StatusOr<WorkerPool::BatchResult>> AskBoth() {
    Connect(Named("bad"), bad_);
    auto run = RunAside(Queries(1));
    LastLease(bad_, 1);
    Connect(Named("good"), good_);
    PassTo(1.6);
    LastLease(good_, 1);
    return run;
  }

  Peer bad_;
  Peer good_;
};

TEST_F(BreakerTest, ANewWorkerThatStaysSilentIsHeldForAWhile) {
  auto run = AskBoth();
  now_s_ = 1.7;
  AnswerWith(good_.id, LastLease(good_, 1), 7);
  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(7));
  EXPECT_THAT(observer_.quarantines, ElementsAre("bad held"));
  const PoolWorkerStatus status = pool_.Workers()[0];
  EXPECT_TRUE(status.quarantined);
  EXPECT_DOUBLE_EQ(status.quarantine_left_s, 10);
  EXPECT_THAT(status.last_fault,
              HasSubstr("no answer for 1.7 s to a query that another worker "
                        "answered in 0.1 s"));
  PassTo(11.6);
  EXPECT_EQ(pool_.Counts().quarantined, 1);
  PassTo(11.8);
  EXPECT_THAT(observer_.quarantines, ElementsAre("bad held", "bad released"));
}

// A slow machine, say: the other was not much quicker.
TEST_F(BreakerTest, AWorkerThatIsSomewhatSlowerIsNotHeld) {
  auto run = AskBoth();
  now_s_ = 2.6;
  AnswerWith(good_.id, LastLease(good_, 1), 7);
  EXPECT_THAT(run.get(), IsOk());
  EXPECT_THAT(observer_.quarantines, IsEmpty());
}

TEST_F(BreakerTest, AWorkerThatNobodyCanReplaceIsNotHeld) {
  auto run = AskBoth();
  now_s_ = 1.7;
  AnswerWith(good_.id, LastLease(good_, 1), 7);
  EXPECT_THAT(run.get(), IsOk());
  pool_.Disconnect(good_.id);
  PassTo(2);
  EXPECT_THAT(observer_.quarantines, ElementsAre("bad held", "bad released"));
  // It pauses, but gets what no other can take.
  auto later = RunAside(Queries(1, 1));
  AnswerWith(bad_.id, LastLease(bad_, 2), 3);
  EXPECT_THAT(later.get(), IsOk());
}

TEST_F(BreakerTest, AWorkerThatHandsBackWhatOthersAnswerIsHeld) {
  Connect(Named("bad"), bad_);
  auto run = RunAside(Queries(1));
  const TaskId task = LastLease(bad_, 1);
  Connect(Named("good"), good_);
  pool_.OnHandedBack(bad_.id, task);
  AnswerWith(good_.id, LastLease(good_, 1), 7);
  EXPECT_THAT(run.get(), IsOk());
  EXPECT_THAT(observer_.quarantines, ElementsAre("bad held"));
  EXPECT_THAT(pool_.Workers()[0].last_fault,
              HasSubstr("worker bad (tangram 1.2): handed back queries that "
                        "others answer"));
}

TEST_F(BreakerTest, MessagesThatCannotBeReadLeadToQuarantine) {
  Connect(Named("good"), good_);
  Connect(Named("bad"), bad_);
  pool_.OnProtocolFault(bad_.id, absl::InvalidArgumentError("no message"));
  EXPECT_THAT(observer_.quarantines, ElementsAre("bad held"));
  EXPECT_EQ(observer_.rejections.back().reason, RejectionReason::kMessage);
}

// Without credentials, both are one worker.
TEST_F(BreakerTest, AFaultyConnectionDoesNotStopASoundOneOfItsHost) {
  WorkerInfo sound = Named("sound");
  WorkerInfo faulty = Named("faulty");
  sound.identity = faulty.identity = {.host = "shared"};
  Connect(sound, good_);
  auto first = RunAside(Queries(1));
  AnswerWith(good_.id, LastLease(good_, 1), 0);
  EXPECT_THAT(first.get(), IsOk());
  Connect(faulty, bad_);
  for (int i = 1; i <= 3; ++i) {
    // The sound one is busy with the first, and answers both.
    auto run = RunAside(Queries(2, 10 * i));
    const TaskId task = LastLease(bad_, i);
    const TaskId other = LastLease(good_, 2 * i);
    pool_.OnAnswers(bad_.id, {{task, Answer(PerformanceProfile())}});
    AnswerWith(good_.id, other, 1);
    AnswerWith(good_.id, LastLease(good_, 2 * i + 1), 1);
    EXPECT_THAT(run.get(), IsOk());
  }
  EXPECT_THAT(observer_.quarantines, ElementsAre("faulty held"));
  EXPECT_EQ(pool_.Counts().quarantined, 1);
  EXPECT_TRUE(pool_.HasWorkers());
  EXPECT_THAT(pool_.ReleaseWorker("shared"), IsOk());
  EXPECT_EQ(pool_.Counts().quarantined, 0);
}

TEST_F(BreakerTest, AQueryThatNobodyAnswersEndsInTheEnd) {
  Connect(Named("bad"), bad_);
  auto run = RunAside(Queries(1));
  LastLease(bad_, 1);
  PassTo(3599);
  EXPECT_EQ(pool_.Counts().leased, 1);
  EXPECT_EQ(pool_.Counts().oldest_lease_s, 3599);
  PassTo(3601);
  EXPECT_THAT(run.get(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "parallelizer counting: no worker answered a query in "
                       "time (the last one: bad)"));
  EXPECT_EQ(observer_.events[QueryEvent::kTimedOut], 1);
}

}  // namespace
}  // namespace tangram
