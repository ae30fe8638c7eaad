// Workers that take queries and give nothing for them.
#include <future>
#include <string>
#include <thread>
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
using testing::StatusIs;
using testing::WorkerPoolTest;

class BreakerTest : public WorkerPoolTest {
 protected:
  BreakerTest()
      : WorkerPoolTest({.queue = {.new_hedge_after_s = 1.5},
                        .quarantine = {.first_hold_s = 10},
                        .worker_wait_s = 1000}) {}

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

// Workers that go away with their queries.
class LossesTest : public WorkerPoolTest {
 protected:
  // A worker takes a query and hangs up; `honest` answers.
  void HangUp(const std::string& name, int number, Peer& honest) {
    Peer bad;
    Connect(name, bad);
    auto run = RunAside(Queries(1, number));
    const TaskId task = bad.connection.AwaitLeases(1)[0];
    Connect("honest", honest);
    pool_.Disconnect(bad.id);
    EXPECT_THAT(honest.connection.AwaitLeases(1), ElementsAre(task));
    AnswerWith(honest.id, task, number);
    EXPECT_THAT(StepsOf(*run.get()), ElementsAre(number));
    pool_.Disconnect(honest.id);
  }
};

TEST_F(LossesTest, AWorkerThatGoesAwayWithQueriesIsQuarantined) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(observer_.quarantines, IsEmpty());
    now_s_ = 30 * i;
    Peer honest;
    HangUp("bad", i, honest);
  }
  ASSERT_THAT(observer_.quarantines, ElementsAre("bad held"));
  EXPECT_THAT(
      pool_.Workers()[0].last_fault,
      HasSubstr("worker bad (tangram 1.2): lost while it held queries"));
}

// Nobody has answered its last query, and perhaps nobody will.
TEST_F(LossesTest, AWorkerThatNeverAnswersAndGoesAwayIsQuarantinedAtOnce) {
  Peer honest;
  Connect("honest", honest);
  auto first = RunAside(Queries(1, 100));
  AnswerWith(honest.id, honest.connection.AwaitLeases(1)[0], 0);
  EXPECT_THAT(first.get(), IsOk());
  auto long_search = RunAside(Queries(1, 101));
  const TaskId held = honest.connection.AwaitLeases(2)[1];
  std::vector<std::future<absl::StatusOr<WorkerPool::BatchResult>>> runs;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(observer_.quarantines, IsEmpty());
    now_s_ = 31 * i;
    pool_.Heard(honest.id);
    Peer bad;
    Connect("bad", bad);
    runs.push_back(RunAside(Queries(1, i)));
    bad.connection.AwaitLeases(1);
    pool_.Disconnect(bad.id);
  }
  EXPECT_THAT(observer_.quarantines, ElementsAre("bad held"));
  AnswerWith(honest.id, held, 0);
  for (int i = 0; i < 3; ++i) {
    AnswerWith(honest.id, honest.connection.AwaitLeases(3 + i).back(), i);
  }
  for (auto& run : runs) EXPECT_THAT(run.get(), IsOk());
}

TEST_F(LossesTest, AWorkerThatAnswersInBetweenIsNotQuarantined) {
  for (int i = 0; i < 10; ++i) {
    now_s_ = 30 * i;
    Peer honest;
    HangUp("killed", i, honest);
    Peer restarted;
    Connect("killed", restarted);
    auto run = RunAside(Queries(1, 100 + i));
    AnswerWith(restarted.id, restarted.connection.AwaitLeases(1)[0], i);
    EXPECT_THAT(run.get(), IsOk());
    pool_.Disconnect(restarted.id);
  }
  EXPECT_THAT(observer_.quarantines, IsEmpty());
}

// Others take long to answer what it was lost with.
TEST_F(LossesTest, AnAnswerBeforeALossIsBlamedCountsToo) {
  Peer honest[3];
  Peer killed[4];
  std::vector<std::future<absl::StatusOr<WorkerPool::BatchResult>>> runs;
  for (int i = 0; i < 4; ++i) {
    now_s_ = 30 * i;
    runs.push_back(RunAside(Queries(1, i)));
    while (pool_.Counts().pending == 0) std::this_thread::yield();
    Connect("killed", killed[i]);
    const TaskId task = killed[i].connection.AwaitLeases(1)[0];
    if (i == 3) {
      AnswerWith(killed[i].id, task, i);
    } else {
      Connect("honest", honest[i]);
      pool_.Disconnect(killed[i].id);
    }
  }
  for (Peer& peer : honest) {
    AnswerWith(peer.id, peer.connection.AwaitLeases(1)[0], 0);
  }
  for (auto& run : runs) EXPECT_THAT(run.get(), IsOk());
  EXPECT_THAT(observer_.quarantines, IsEmpty());
}

TEST_F(LossesTest, AHostThatIsCutOffIsBlamedOnceForAllItsConnections) {
  for (int i = 0; i < 10; ++i) {
    now_s_ = 2 * i;
    Peer honest;
    HangUp("restarting", i, honest);
  }
  EXPECT_THAT(observer_.quarantines, IsEmpty());
  Peer again;
  Connect("restarting", again);
  EXPECT_EQ(pool_.Workers()[0].rejected, 1);
}

TEST_F(LossesTest, AWorkerThatIsRestartedAndAnswersIsNotBlamed) {
  auto run = RunAside(Queries(1));
  for (int i = 0; i < 2; ++i) {
    Peer restarting;
    Connect("w1", restarting);
    const TaskId task = restarting.connection.AwaitLeases(1)[0];
    if (i == 1) AnswerWith(restarting.id, task, 5);
    pool_.Disconnect(restarting.id);
  }
  EXPECT_THAT(StepsOf(*run.get()), ElementsAre(5));
  EXPECT_THAT(pool_.Workers(), IsEmpty());
  Peer again;
  Connect("w1", again);
  EXPECT_EQ(pool_.Workers()[0].rejected, 0);
}

}  // namespace
}  // namespace tangram
