// Workers that come back under the same identity, go away with what they hold,
// or stay silent about it.
#include <string>
#include <utility>
#include <vector>

#include "coordinator/dispatch/work_queue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class WorkQueueTurnsTest : public ::testing::Test {
 protected:
  explicit WorkQueueTurnsTest(
      const WorkQueueOptions& options = {.silence_limit_s = 15,
                                         .hedge_after_s = 30,
                                         .new_hedge_after_s = 30,
                                         .first_slots = 1 << 12,
                                         .max_losses = 3})
      : queue_(options) {}

  WorkerId Dial(const std::string& host, double now_s, int capacity = 1) {
    return queue_.AddWorker({kAdapter}, capacity, now_s, {.host = host});
  }
  TaskId AddTask() { return queue_.AddTask(queue_.OpenBatch(kAdapter)); }
  bool Complete(WorkerId worker, TaskId task, double now_s) {
    std::vector<WorkerId> others;
    queue_.Heard(worker, now_s);
    queue_.CheckInvariants();
    return queue_.Complete(worker, task, now_s, &others);
  }

  // Has `worker` answer `count` tasks that take it so long each.
  void Prove(WorkerId worker, double now_s, int count = 1, double takes_s = 0) {
    for (int i = 0; i < count; ++i, now_s += takes_s) {
      const TaskId task = AddTask();
      ASSERT_THAT(queue_.LeaseTo(worker, now_s), ElementsAre(task));
      ASSERT_TRUE(Complete(worker, task, now_s + takes_s));
    }
  }

  const AdapterId kAdapter{"aceso", "1"};
  WorkQueue queue_;
};

// Dials, takes the task and hangs up. The other worker is busy meanwhile.
TEST_F(WorkQueueTurnsTest, AWorkerThatHangsUpAgainAndAgainEndsNoTask) {
  const AdapterId other{"mist", "1"};
  const TaskId first = queue_.AddTask(queue_.OpenBatch(other));
  const WorkerId honest =
      queue_.AddWorker({kAdapter, other}, 1, 0, {.host = "honest"});
  ASSERT_THAT(queue_.LeaseTo(honest, 0), ElementsAre(first));
  const TaskId task = AddTask();
  const WorkerId bad = Dial("bad", 0);
  ASSERT_THAT(queue_.LeaseTo(bad, 0), ElementsAre(task));
  EXPECT_THAT(queue_.RemoveWorker(bad, 0).requeued, ElementsAre(task));
  for (int round = 1; round <= 10; ++round) {
    // It gets the task again only if the other has not taken it for 30 s.
    const double now_s = 31 * round;
    const WorkerId again = Dial("bad", now_s);
    EXPECT_THAT(queue_.LeaseTo(again, now_s - 1.5), IsEmpty());
    EXPECT_THAT(queue_.LeaseTo(again, now_s), ElementsAre(task));
    const auto lost = queue_.RemoveWorker(again, now_s);
    EXPECT_THAT(lost.requeued, ElementsAre(task));
    EXPECT_THAT(lost.given_up, IsEmpty());
    queue_.CheckInvariants();
  }
  EXPECT_TRUE(Complete(honest, first, 400));
  EXPECT_THAT(queue_.LeaseTo(honest, 400), ElementsAre(task));
}

TEST_F(WorkQueueTurnsTest, ASoleWorkerThatDiesOfATaskGivesItUp) {
  const TaskId task = AddTask();
  for (int loss = 1; loss <= 3; ++loss) {
    const double now_s = 30 * (loss - 1);
    const WorkerId worker = Dial("sole", now_s);
    ASSERT_THAT(queue_.LeaseTo(worker, now_s), ElementsAre(task));
    const auto lost = queue_.RemoveWorker(worker, now_s);
    ASSERT_THAT(lost.given_up, SizeIs(loss == 3 ? 1 : 0));
    if (loss == 3) {
      EXPECT_EQ(lost.given_up[0].num_losses, 3);
    }
  }
}

// Else a worker that dials again and again ends what is asked before the others
// have joined.
TEST_F(WorkQueueTurnsTest, ATaskWaitsAMinuteForAWorkerThatDoesNotDieOfIt) {
  const TaskId task = AddTask();
  int num_losses = 0;
  for (double now_s = 0; now_s < 59; now_s += 0.01) {
    const WorkerId bad = Dial("bad", now_s);
    if (queue_.LeaseTo(bad, now_s).empty()) continue;
    ASSERT_THAT(queue_.RemoveWorker(bad, now_s).given_up, IsEmpty()) << now_s;
    ++num_losses;
  }
  EXPECT_GT(num_losses, 10);
  const WorkerId honest = Dial("honest", 59);
  ASSERT_THAT(queue_.LeaseTo(honest, 59), ElementsAre(task));
  EXPECT_TRUE(Complete(honest, task, 60));
}

// One loss each is 1 + 1 < 3; two are 2 + 2.
TEST_F(WorkQueueTurnsTest, TwoWorkersThatDieOfATaskInTurnGiveItUp) {
  const TaskId task = AddTask();
  std::vector<WorkerId> workers = {Dial("a", 0), Dial("b", 0)};
  for (int loss = 1; loss <= 4; ++loss) {
    const double now_s = 20 * (loss - 1);
    const int dying = (loss + 1) % 2;
    ASSERT_THAT(queue_.LeaseTo(workers[dying], now_s), ElementsAre(task));
    const auto lost = queue_.RemoveWorker(workers[dying], now_s);
    EXPECT_THAT(lost.given_up, SizeIs(loss == 4 ? 1 : 0)) << loss;
    workers[dying] = Dial(dying == 0 ? "a" : "b", now_s);
    // The one with fewer losses comes first.
    if (loss % 2 == 1) {
      EXPECT_THAT(queue_.LeaseTo(workers[dying], now_s), IsEmpty());
    }
  }
  EXPECT_EQ(queue_.num_pending(), 0);
}

TEST_F(WorkQueueTurnsTest, ThreeProvenWorkersThatDieOfATaskGiveItUp) {
  std::vector<WorkerId> workers;
  for (const char* host : {"a", "b", "c", "spare"}) {
    workers.push_back(Dial(host, 0));
    Prove(workers.back(), 0);
  }
  const TaskId task = AddTask();
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(queue_.LeaseTo(workers[i], 0), ElementsAre(task));
    EXPECT_THAT(queue_.RemoveWorker(workers[i], 0).given_up,
                SizeIs(i == 2 ? 1 : 0));
  }
}

// They never answered anything, so they say nothing about the task.
TEST_F(WorkQueueTurnsTest,
       UnprovenWorkersThatHangUpEndNoTaskWhileAProvenOneIs) {
  const WorkerId honest = Dial("honest", 0);
  Prove(honest, 0);
  const TaskId first = AddTask();
  ASSERT_THAT(queue_.LeaseTo(honest, 0), ElementsAre(first));
  const TaskId task = AddTask();
  for (int i = 0; i < 10; ++i) {
    const WorkerId bad = Dial("bad" + std::to_string(i), 0);
    ASSERT_THAT(queue_.LeaseTo(bad, 0), ElementsAre(task));
    EXPECT_THAT(queue_.RemoveWorker(bad, 0).given_up, IsEmpty());
  }
  EXPECT_TRUE(Complete(honest, first, 1));
  // It may be restarted while it works on the task.
  ASSERT_THAT(queue_.LeaseTo(honest, 1), ElementsAre(task));
  const WorkerId restarted = Dial("honest", 1);
  EXPECT_THAT(queue_.RemoveWorker(honest, 1).given_up, IsEmpty());
  ASSERT_THAT(queue_.LeaseTo(restarted, 40), ElementsAre(task));
  EXPECT_TRUE(Complete(restarted, task, 41));
}

TEST_F(WorkQueueTurnsTest, ATaskThatKillsNewWorkersIsGivenUpOnceEachHadIt) {
  const TaskId task = AddTask();
  std::vector<WorkerId> workers;
  for (const char* host : {"a", "b", "c", "d"}) {
    workers.push_back(Dial(host, 0));
  }
  for (int i = 0; i < 4; ++i) {
    ASSERT_THAT(queue_.LeaseTo(workers[i], 20 * i), ElementsAre(task));
    const auto lost = queue_.RemoveWorker(workers[i], 20 * i);
    ASSERT_THAT(lost.given_up, SizeIs(i == 3 ? 1 : 0));
    if (i == 3) {
      EXPECT_EQ(lost.given_up[0].num_losses, 4);
    }
  }
}

// Else three sources that answer some queries could end any other, again and
// again.
TEST_F(WorkQueueTurnsTest, LossesOfWorkersThatAreLostOftenEndNoTask) {
  const WorkerId honest = Dial("honest", 0);
  Prove(honest, 0);
  for (int round = 0; round < 3; ++round) {
    const double now_s = round;
    std::vector<WorkerId> bad;
    for (const char* host : {"a", "b", "c"}) {
      bad.push_back(Dial(host, now_s));
      Prove(bad.back(), now_s);
    }
    const TaskId task = AddTask();
    for (int i = 0; i < 3; ++i) {
      ASSERT_THAT(queue_.LeaseTo(bad[i], now_s), ElementsAre(task));
      EXPECT_THAT(queue_.RemoveWorker(bad[i], now_s).given_up,
                  SizeIs(round == 0 && i == 2 ? 1 : 0));
    }
    if (round == 0) continue;
    ASSERT_THAT(queue_.LeaseTo(honest, now_s), ElementsAre(task));
    EXPECT_TRUE(Complete(honest, task, now_s));
  }
}

TEST_F(WorkQueueTurnsTest, WhatAWorkerHandsBackGoesToOthersFirst) {
  const WorkerId leaving = Dial("a", 0);
  const WorkerId also_a = Dial("a", 0);
  const WorkerId other = Dial("b", 0);
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(leaving, 0), ElementsAre(task));
  EXPECT_TRUE(queue_.HandBack(leaving, task, 0));
  EXPECT_THAT(queue_.LeaseTo(also_a, 0), IsEmpty());
  EXPECT_THAT(queue_.LeaseTo(other, 0), ElementsAre(task));
}

TEST_F(WorkQueueTurnsTest, ATaskHasOneHolderOfEachIdentity) {
  const WorkerId silent = Dial("silent", 0);
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(silent, 0), ElementsAre(task));
  const WorkerId also_silent = Dial("silent", 0);
  const WorkerId honest = Dial("honest", 0);
  EXPECT_THAT(queue_.LeaseTo(also_silent, 1000), IsEmpty());
  EXPECT_THAT(queue_.LeaseTo(honest, 1000), ElementsAre(task));
  EXPECT_THAT(queue_.LeaseTo(also_silent, 10'000), IsEmpty());
  EXPECT_THAT(queue_.HoldersOf(task), ElementsAre(silent, honest));
}

// Without credentials, all workers of a host have one identity.
TEST_F(WorkQueueTurnsTest, ConnectionsOfTheOnlyIdentityHelpEachOther) {
  const WorkerId slow = Dial("sole", 0);
  const WorkerId idle = Dial("sole", 0);
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(slow, 0), ElementsAre(task));
  EXPECT_THAT(queue_.LeaseTo(idle, 31), ElementsAre(task));
}

TEST_F(WorkQueueTurnsTest, AnOvertakenWorkerIsHedgedSoonerAndAskedLast) {
  WorkerId silent = Dial("silent", 0);
  WorkerId honest = Dial("honest", 0);
  EXPECT_THAT(queue_.LeaseOrder(0), ElementsAre(silent, honest));
  double now_s = 0;
  int num_honest = 1;
  // 30 s, halved each time, five times at most.
  for (const double waits_s : {30.0, 15.0, 7.5, 3.75, 1.875, 0.9375, 0.9375}) {
    const TaskId task = AddTask();
    ASSERT_THAT(queue_.LeaseTo(silent, now_s), ElementsAre(task));
    EXPECT_THAT(queue_.LeaseTo(honest, now_s + waits_s), IsEmpty()) << waits_s;
    now_s += waits_s + 0.01;
    EXPECT_THAT(queue_.LeaseTo(honest, now_s), ElementsAre(task)) << waits_s;
    EXPECT_TRUE(Complete(honest, task, now_s));
    EXPECT_THAT(queue_.LeaseOrder(now_s), ElementsAre(honest, silent));
    // Another connection changes nothing.
    queue_.RemoveWorker(silent, now_s);
    silent = Dial("silent", now_s);
    // Nobody knows how long the tasks of a new source take; see the tests of
    // that.
    queue_.RemoveWorker(honest, now_s);
    honest = Dial("honest" + std::to_string(++num_honest), now_s);
    queue_.CheckInvariants();
    now_s += 30.01;  // See the next test.
  }
  // Ten minutes later, it is as good as any other.
  now_s += 601;
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(silent, now_s), ElementsAre(task));
  EXPECT_THAT(queue_.LeaseTo(honest, now_s + 29), IsEmpty());
}

// It might hold up every batch, whatever the number of its slots.
TEST_F(WorkQueueTurnsTest, AnOvertakenWorkerGetsOneTaskIn30sUntilItAnswers) {
  const WorkerId silent = Dial("silent", 0, /*capacity=*/100);
  const WorkerId honest = Dial("honest", 0);
  const TaskId first = AddTask();
  ASSERT_THAT(queue_.LeaseTo(silent, 0), ElementsAre(first));
  ASSERT_THAT(queue_.LeaseTo(honest, 31), ElementsAre(first));
  EXPECT_TRUE(Complete(honest, first, 31));
  for (int i = 0; i < 5; ++i) AddTask();
  EXPECT_THAT(queue_.LeaseTo(silent, 61), IsEmpty());
  ASSERT_THAT(queue_.LeaseTo(silent, 61.1), SizeIs(1));
  EXPECT_THAT(queue_.LeaseTo(silent, 600), IsEmpty());
  const WorkerId again = Dial("silent", 61.1, /*capacity=*/100);
  EXPECT_THAT(queue_.LeaseTo(again, 61.1), IsEmpty());
  const TaskId held = queue_.LeasesOf(silent)[0];
  EXPECT_TRUE(Complete(silent, held, 61.2));
  EXPECT_THAT(queue_.LeaseTo(again, 61.2), SizeIs(4));
}

TEST_F(WorkQueueTurnsTest, AnOvertakenWorkerIsNotPassedOverIfItIsAlone) {
  const WorkerId slow = Dial("slow", 0);
  const WorkerId honest = Dial("honest", 0);
  queue_.AddWorker({{"mist", "1"}}, 1, 0, {.host = "another"});
  const TaskId first = AddTask();
  ASSERT_THAT(queue_.LeaseTo(slow, 0), ElementsAre(first));
  ASSERT_THAT(queue_.LeaseTo(honest, 31), ElementsAre(first));
  EXPECT_TRUE(Complete(honest, first, 31));
  const TaskId second = AddTask();
  EXPECT_THAT(queue_.LeaseTo(slow, 31), IsEmpty());
  queue_.Drain(honest);
  EXPECT_THAT(queue_.LeaseTo(slow, 31), ElementsAre(second));
}

// Four times the longest of its own, but a second at least.
TEST_F(WorkQueueTurnsTest, AWorkerTakesTasksThatTakeMuchLongerThanItsOwn) {
  const WorkerId slow = Dial("slow", 0);
  for (const auto& [takes_s, waits_s] :
       {std::pair(0.1, 30.0 / 32), {2.0, 8.0}, {10.0, 30.0}}) {
    const WorkerId quick = Dial("quick", 0);
    Prove(quick, 0, /*count=*/4, takes_s);
    const TaskId task = AddTask();
    ASSERT_THAT(queue_.LeaseTo(slow, 100), ElementsAre(task));
    EXPECT_THAT(queue_.LeaseTo(quick, 99.9 + waits_s), IsEmpty());
    EXPECT_THAT(queue_.LeaseTo(quick, 100.1 + waits_s), ElementsAre(task));
    EXPECT_TRUE(Complete(slow, task, 150));
    queue_.RemoveWorker(quick, 150);
    queue_.CheckInvariants();
  }
}

TEST_F(WorkQueueTurnsTest, AFewAnswersDoNotTellHowLongTasksTake) {
  const WorkerId slow = Dial("slow", 0);
  const WorkerId quick = Dial("quick", 0);
  Prove(quick, 0, /*count=*/3);
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(slow, 0), ElementsAre(task));
  EXPECT_THAT(queue_.LeaseTo(quick, 29), IsEmpty());
}

TEST_F(WorkQueueTurnsTest, ANewConnectionOfASourceKnowsItsTimes) {
  const WorkerId silent = Dial("silent", 0);
  const WorkerId earlier = Dial("quick", 0);
  Prove(earlier, 0, /*count=*/4, /*takes_s=*/2);
  queue_.RemoveWorker(earlier, 8);
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(silent, 10), ElementsAre(task));
  const WorkerId again = Dial("quick", 10);
  EXPECT_EQ(queue_.TookBy(again, kAdapter).longest_s, 2);
  EXPECT_THAT(queue_.LeaseTo(again, 17.9), IsEmpty());
  EXPECT_THAT(queue_.LeaseTo(again, 18.1), ElementsAre(task));
}

// Without authentication, both are one source.
TEST_F(WorkQueueTurnsTest, ASlowWorkerOfAHostDoesNotSetTheTimesOfAQuickOne) {
  const WorkerId slow = Dial("sole", 0);
  const WorkerId quick = Dial("sole", 0);
  Prove(quick, 0, /*count=*/4, /*takes_s=*/1);
  Prove(slow, 4, /*count=*/4, /*takes_s=*/25);
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(slow, 200), ElementsAre(task));
  EXPECT_THAT(queue_.LeaseTo(quick, 204.1), ElementsAre(task));
}

// A slow one among them does not make it wait.
TEST_F(WorkQueueTurnsTest, ANewSourceGoesByTheTimesOfOthers) {
  const WorkerId silent = Dial("silent", 0);
  Prove(silent, 0, /*count=*/4, /*takes_s=*/25);
  const WorkerId quick = Dial("quick", 0);
  Prove(quick, 100, /*count=*/4, /*takes_s=*/2);
  queue_.Drain(quick);
  const WorkerId fresh = Dial("fresh", 110);
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(silent, 110), ElementsAre(task));
  EXPECT_THAT(queue_.LeaseTo(fresh, 117.9), IsEmpty());
  EXPECT_THAT(queue_.LeaseTo(fresh, 118.1), ElementsAre(task));
}

// One that answers a few short tasks does not make those hurry that know
// better.
TEST_F(WorkQueueTurnsTest, AQuickSourceDoesNotHurryThoseThatKnowTheirTimes) {
  const WorkerId busy = Dial("busy", 0);
  const WorkerId honest = Dial("honest", 0);
  Prove(honest, 0, /*count=*/4, /*takes_s=*/5);
  for (const char* host : {"quick-1", "quick-2", "quick-3"}) {
    const WorkerId quick = Dial(host, 20);
    Prove(quick, 20, /*count=*/100, /*takes_s=*/0);
    queue_.RemoveWorker(quick, 20);
  }
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(busy, 30), ElementsAre(task));
  EXPECT_THAT(queue_.LeaseTo(honest, 49.9), IsEmpty());
  EXPECT_THAT(queue_.LeaseTo(honest, 50.1), ElementsAre(task));
}

TEST_F(WorkQueueTurnsTest, ALateAnswerEndsThePauseButNotTheRank) {
  const WorkerId slow = Dial("slow", 0);
  const WorkerId quick = Dial("quick", 0);
  const TaskId first = AddTask();
  ASSERT_THAT(queue_.LeaseTo(slow, 0), ElementsAre(first));
  ASSERT_THAT(queue_.LeaseTo(quick, 31), ElementsAre(first));
  EXPECT_TRUE(Complete(quick, first, 31));
  const TaskId second = AddTask();
  EXPECT_THAT(queue_.LeaseTo(slow, 32), IsEmpty());
  queue_.NoteLateAnswer(slow, kAdapter, 32, 32);
  EXPECT_EQ(queue_.TookBy(slow, kAdapter).longest_s, 32);
  EXPECT_THAT(queue_.LeaseTo(slow, 32), ElementsAre(second));
  EXPECT_THAT(queue_.LeaseOrder(32), ElementsAre(quick, slow));
}

TEST_F(WorkQueueTurnsTest, TasksGoToTheQuickestThatHaveAnswered) {
  const WorkerId unproven = Dial("unproven", 0);
  const WorkerId slow = Dial("slow", 0);
  const WorkerId quick = Dial("quick", 0);
  Prove(slow, 0, /*count=*/1, /*takes_s=*/2);
  Prove(quick, 0, /*count=*/1, /*takes_s=*/1);
  EXPECT_THAT(queue_.LeaseOrder(0), ElementsAre(quick, slow, unproven));
}

TEST_F(WorkQueueTurnsTest, AHolderOfATaskThatIsGivenUpWasSilent) {
  const WorkerId silent = Dial("silent", 0);
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(silent, 0), ElementsAre(task));
  queue_.GiveUp(task, 60);
  queue_.CheckInvariants();
  EXPECT_TRUE(queue_.sources().IsSilent({.host = "silent"}, 60));
}

TEST_F(WorkQueueTurnsTest, TheFirstToAnswerHasNotBeenOvertaken) {
  const WorkerId slow = Dial("slow", 0);
  const WorkerId later = Dial("later", 0);
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(slow, 0), ElementsAre(task));
  ASSERT_THAT(queue_.LeaseTo(later, 31), ElementsAre(task));
  EXPECT_TRUE(Complete(slow, task, 40));
  EXPECT_THAT(queue_.LeaseOrder(40), ElementsAre(slow, later));
}

class NewWorkersTest : public WorkQueueTurnsTest {
 protected:
  NewWorkersTest()
      : WorkQueueTurnsTest({.silence_limit_s = 15,
                            .hedge_after_s = 30,
                            .new_hedge_after_s = 1,
                            .first_slots = 4,
                            .task_limit_s = 900,
                            .max_losses = 3}) {}
};

// Each answer adds a slot, and each failure takes half of them.
TEST_F(NewWorkersTest, SlotsAreBelievedAsFarAsTheyDeliver) {
  const WorkerId worker = Dial("a", 0, /*capacity=*/4096);
  for (int i = 0; i < 100; ++i) AddTask();
  std::vector<TaskId> held = queue_.LeaseTo(worker, 0);
  EXPECT_THAT(held, SizeIs(4));
  // Those who count slots believe a machine's worth.
  EXPECT_EQ(queue_.num_slots(), 64);
  queue_.Heard(worker, 10);
  for (int i = 0; i < 4; ++i) {
    std::vector<WorkerId> others;
    EXPECT_TRUE(queue_.Complete(worker, held[i], 10, &others));
  }
  EXPECT_EQ(queue_.believed_slots(worker), 8);
  held = queue_.LeaseTo(worker, 10);
  EXPECT_TRUE(queue_.Refuse(worker, held[0]));
  EXPECT_EQ(queue_.believed_slots(worker), 4);
  for (int i = 1; i < 4; ++i) EXPECT_TRUE(queue_.Refuse(worker, held[i]));
  EXPECT_EQ(queue_.believed_slots(worker), 1);
  queue_.CheckInvariants();
}

TEST_F(NewWorkersTest, ATaskOfAWorkerThatNeverAnsweredIsTakenAfterASecond) {
  const WorkerId silent = Dial("silent", 0);
  const WorkerId also_silent = Dial("also", 0);
  const WorkerId honest = Dial("honest", 0);
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(silent, 0), ElementsAre(task));
  EXPECT_THAT(queue_.LeaseTo(also_silent, 0.9), IsEmpty());
  EXPECT_THAT(queue_.LeaseTo(also_silent, 1.1), ElementsAre(task));
  EXPECT_THAT(queue_.LeaseTo(honest, 1.9), IsEmpty());
  EXPECT_THAT(queue_.LeaseTo(honest, 2.2), ElementsAre(task));
}

// No worker is idle: a stream of other tasks keeps the honest one busy.
TEST_F(NewWorkersTest, ATaskThatIsHeldForTooLongIsTakenBack) {
  const WorkerId honest = Dial("honest", -10);
  Prove(honest, -10, /*count=*/4, /*takes_s=*/2);  // Its limit: 300 s.
  const WorkerId silent = Dial("silent", 0);
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(silent, 0), ElementsAre(task));
  const TaskId other = AddTask();
  ASSERT_THAT(queue_.LeaseTo(honest, 0), ElementsAre(other));
  EXPECT_THAT(queue_.RevokeOverdue(29).revoked, IsEmpty());
  EXPECT_THAT(queue_.RevokeOverdue(31).revoked,
              ElementsAre(WorkQueue::Lease{silent, task}));
  queue_.CheckInvariants();
  EXPECT_EQ(queue_.OldestLeaseS(31), 31);  // The other one.
  EXPECT_THAT(queue_.LeaseTo(silent, 31), IsEmpty());
  EXPECT_TRUE(Complete(honest, other, 32));
  EXPECT_THAT(queue_.LeaseTo(honest, 32), ElementsAre(task));
}

TEST_F(NewWorkersTest, ATaskIsNotTakenFromTheOnlyWorker) {
  const WorkerId sole = Dial("sole", 0);
  const TaskId task = AddTask();
  ASSERT_THAT(queue_.LeaseTo(sole, 0), ElementsAre(task));
  EXPECT_THAT(queue_.RevokeOverdue(3000).revoked, IsEmpty());
  EXPECT_THAT(queue_.RevokeOverdue(3000).stale, IsEmpty());
  EXPECT_THAT(queue_.RevokeOverdue(3601).stale, ElementsAre(task));
}

// Without credentials, both are one source.
TEST_F(NewWorkersTest, AConnectionThatIsOvertakenByItsHostPauses) {
  const WorkerId silent = Dial("sole", 0);
  const WorkerId honest = Dial("sole", 0);
  const TaskId first = AddTask();
  ASSERT_THAT(queue_.LeaseTo(silent, 0), ElementsAre(first));
  ASSERT_THAT(queue_.LeaseTo(honest, 1.1), ElementsAre(first));
  EXPECT_TRUE(Complete(honest, first, 1.1));
  const TaskId second = AddTask();
  EXPECT_THAT(queue_.LeaseTo(silent, 1.2), IsEmpty());  // 2 · 1.1 s.
  EXPECT_THAT(queue_.LeaseTo(silent, 3.4), ElementsAre(second));
  // It does not pause if it is alone.
  ASSERT_THAT(queue_.LeaseTo(honest, 40), ElementsAre(second));
  EXPECT_TRUE(Complete(honest, second, 40));
  queue_.RemoveWorker(honest, 40);
  const TaskId third = AddTask();
  EXPECT_THAT(queue_.LeaseTo(silent, 40), ElementsAre(third));
}

// How many short tasks a worker is leased in advance.
const AdapterId kAheadAdapter{"aceso", "1"};

WorkQueue QueueOfManySlots() { return WorkQueue({.first_slots = 1 << 12}); }

void AddWaiting(WorkQueue& queue, int count) {
  const BatchId batch = queue.OpenBatch(kAheadAdapter);
  for (int i = 0; i < count; ++i) queue.AddTask(batch);
}

// Leases `worker` all tasks and has them answered in one message at `now_s`.
void AnswerTogether(WorkQueue& queue, WorkerId worker, double now_s) {
  const std::vector<TaskId> tasks = queue.LeaseTo(worker, 0);
  queue.Heard(worker, now_s);
  std::vector<WorkerId> others;
  for (const TaskId task : tasks) {
    EXPECT_TRUE(queue.Complete(worker, task, now_s, &others));
  }
}

TEST(WorkQueuePrefetchTest, ManyShortTasksAreLeasedAhead) {
  // In 5 ms: 8 of 0.6 ms, but 63 at most; in a second, 7 at most.
  for (const auto& [takes_s, leases] :
       {std::pair(1e-5, 1 + WorkQueue::kMostPrefetch),
        {6e-4, 1 + 8},
        {1e-3, 1 + 7}}) {
    WorkQueue queue = QueueOfManySlots();
    const WorkerId worker = queue.AddWorker({kAheadAdapter}, 1, 0);
    AddWaiting(queue, 1);
    AnswerTogether(queue, worker, takes_s);
    AddWaiting(queue, 1000);
    EXPECT_THAT(queue.LeaseTo(worker, 10), ::testing::SizeIs(leases))
        << takes_s;
  }
}

TEST(WorkQueuePrefetchTest, AnswersOfOneMessageShareItsTime) {
  WorkQueue queue = QueueOfManySlots();
  const WorkerId worker = queue.AddWorker({kAheadAdapter}, 4, 0);
  AddWaiting(queue, 4);
  AnswerTogether(queue, worker, 0.4);
  AddWaiting(queue, 1000);
  // Each took 0.4 s of its slot: two more within a second.
  EXPECT_THAT(queue.LeaseTo(worker, 1), ::testing::SizeIs(4 * (1 + 2)));
}

}  // namespace
}  // namespace tangram
