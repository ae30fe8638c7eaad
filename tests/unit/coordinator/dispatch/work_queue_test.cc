#include "coordinator/dispatch/work_queue.h"

#include <algorithm>
#include <climits>
#include <random>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const AdapterId kAceso{"aceso", "1"};
const AdapterId kUniform{"uniform", "1"};

constexpr WorkQueueOptions kOptions = {.silence_limit_s = 15,
                                       .hedge_after_s = 30,
                                       .new_hedge_after_s = 30,
                                       .first_slots = 1 << 12,
                                       .max_losses = 3};

std::vector<TaskId> AddTasks(WorkQueue& queue, BatchId batch, int count) {
  std::vector<TaskId> tasks;
  for (int i = 0; i < count; ++i) tasks.push_back(queue.AddTask(batch));
  return tasks;
}

bool Complete(WorkQueue& queue, WorkerId worker, TaskId task) {
  std::vector<WorkerId> others;
  return queue.Complete(worker, task, /*now_s=*/0, &others);
}

TEST(WorkQueueTest, LeasesInOrderUpToTheCapacity) {
  WorkQueue queue(kOptions);
  const BatchId batch = queue.OpenBatch(kAceso);
  const std::vector<TaskId> tasks = AddTasks(queue, batch, 3);
  const WorkerId worker = queue.AddWorker({kAceso}, 2, 0);

  EXPECT_THAT(queue.LeaseTo(worker, 0), ElementsAre(tasks[0], tasks[1]));
  EXPECT_THAT(queue.LeaseTo(worker, 0), IsEmpty());
  EXPECT_TRUE(Complete(queue, worker, tasks[1]));
  EXPECT_THAT(queue.LeaseTo(worker, 0), ElementsAre(tasks[2]));
  EXPECT_EQ(queue.num_pending(), 0);
  EXPECT_EQ(queue.num_leased(), 2);
}

// Leases `worker` a task and has it answered so much later.
void ShowPace(WorkQueue& queue, WorkerId worker, double takes_s) {
  const TaskId task = queue.AddTask(queue.OpenBatch(kAceso));
  ASSERT_THAT(queue.LeaseTo(worker, 0), ElementsAre(task));
  queue.Heard(worker, takes_s);
  EXPECT_TRUE(Complete(queue, worker, task));
}

TEST(WorkQueueTest, LeasesAheadWhileMuchWaits) {
  WorkQueue queue(kOptions);
  const WorkerId worker = queue.AddWorker({kAceso}, 2, 0);
  queue.AddWorker({kAceso}, 1, 0);
  ShowPace(queue, worker, 0.01);
  AddTasks(queue, queue.OpenBatch(kAceso), 15);
  // (15 − 3 that can run) / (2 · 3 slots) = 2 for each one that runs.
  EXPECT_THAT(queue.LeaseTo(worker, 1), SizeIs(2 * (1 + 2)));
}

TEST(WorkQueueTest, LeasesAheadNoMoreThanOthersCanWaitFor) {
  // In a second: two tasks of 0.4 s, none of 3 s.
  for (const auto& [takes_s, leases] : {std::pair(0.4, 1 + 2), {3.0, 1}}) {
    WorkQueue queue(kOptions);
    const WorkerId worker = queue.AddWorker({kAceso}, 1, 0);
    ShowPace(queue, worker, takes_s);
    AddTasks(queue, queue.OpenBatch(kAceso), 100);
    EXPECT_THAT(queue.LeaseTo(worker, 10), SizeIs(leases)) << takes_s;
  }
}

TEST(WorkQueueTest, OfUnknownPaceIsLeasedOnlyWhatItCanRun) {
  WorkQueue queue(kOptions);
  const WorkerId worker = queue.AddWorker({kAceso}, 2, 0);
  AddTasks(queue, queue.OpenBatch(kAceso), 100);
  EXPECT_THAT(queue.LeaseTo(worker, 0), SizeIs(2));
}

TEST(WorkQueueTest, LeasesOnlyWhatTheWorkerOffers) {
  WorkQueue queue(kOptions);
  AddTasks(queue, queue.OpenBatch(kUniform), 1);
  AddTasks(queue, queue.OpenBatch({"aceso", "2"}), 1);
  const WorkerId worker = queue.AddWorker({kAceso}, 4, 0);
  EXPECT_THAT(queue.LeaseTo(worker, 0), IsEmpty());
  EXPECT_FALSE(queue.CanServe(kUniform));
  EXPECT_TRUE(queue.CanServe(kAceso));
}

// Returns the number of tasks of each batch among the next `count` leases.
std::vector<int> Shares(WorkQueue& queue,
                        const std::vector<std::vector<TaskId>>& batches,
                        int count) {
  const WorkerId worker = queue.AddWorker({kAceso, kUniform}, count, 0);
  std::vector<int> shares(batches.size());
  for (const TaskId task : queue.LeaseTo(worker, 0)) {
    for (size_t i = 0; i < batches.size(); ++i) {
      const std::vector<TaskId>& tasks = batches[i];
      shares[i] +=
          static_cast<int>(std::count(tasks.begin(), tasks.end(), task));
    }
  }
  return shares;
}

TEST(WorkQueueTest, BatchesTakeTurns) {
  WorkQueue queue(kOptions);
  const std::vector<TaskId> large =
      AddTasks(queue, queue.OpenBatch(kAceso), 100);
  const std::vector<TaskId> small = AddTasks(queue, queue.OpenBatch(kAceso), 2);
  const WorkerId worker = queue.AddWorker({kAceso}, 4, 0);
  EXPECT_THAT(queue.LeaseTo(worker, 0),
              ElementsAre(large[0], small[0], large[1], small[1]));
}

// However much was served before it came.
TEST(WorkQueueTest, ALateSmallBatchIsServedAtOnce) {
  WorkQueue queue(kOptions);
  const std::vector<TaskId> large =
      AddTasks(queue, queue.OpenBatch(kAceso), 5000);
  EXPECT_THAT(Shares(queue, {large}, 1000), ElementsAre(1000));
  const std::vector<TaskId> small =
      AddTasks(queue, queue.OpenBatch(kAceso), 10);
  EXPECT_THAT(Shares(queue, {large, small}, 20), ElementsAre(10, 10));
}

TEST(WorkQueueTest, KeysShareAlikeHoweverManyBatchesTheyHave) {
  WorkQueue queue(kOptions);
  std::vector<std::vector<TaskId>> batches;
  for (const char* key : {"a", "a", "a", "b"}) {
    batches.push_back(
        AddTasks(queue, queue.OpenBatch(kAceso, {.key = key}), 1000));
  }
  EXPECT_THAT(Shares(queue, batches, 600), ElementsAre(100, 100, 100, 300));
}

TEST(WorkQueueTest, AStepOfPriorityIsTwiceTheShare) {
  WorkQueue queue(kOptions);
  std::vector<std::vector<TaskId>> batches;
  for (const int priority : {0, 1, 2}) {
    batches.push_back(
        AddTasks(queue, queue.OpenBatch(kAceso, {.priority = priority}), 1000));
  }
  EXPECT_THAT(Shares(queue, batches, 700), ElementsAre(100, 200, 400));
}

// 5 steps up and 5 down: 1 to 1024.
TEST(WorkQueueTest, NobodyIsStarvedByAnyPriority) {
  WorkQueue queue(kOptions);
  std::vector<std::vector<TaskId>> batches;
  for (const int priority : {INT_MIN, INT_MAX}) {
    batches.push_back(
        AddTasks(queue, queue.OpenBatch(kAceso, {.priority = priority}), 5000));
  }
  EXPECT_THAT(Shares(queue, batches, 2050), ElementsAre(2, 2048));
}

// The first 100 tasks had workers for only one of the two batches.
TEST(WorkQueueTest, MissedTurnsAreNotMadeUpFor) {
  WorkQueue queue(kOptions);
  const std::vector<TaskId> served =
      AddTasks(queue, queue.OpenBatch(kAceso), 1000);
  const std::vector<TaskId> waiting =
      AddTasks(queue, queue.OpenBatch(kUniform), 1000);
  queue.LeaseTo(queue.AddWorker({kAceso}, 100, 0), 0);
  EXPECT_THAT(Shares(queue, {served, waiting}, 100),
              ElementsAre(::testing::Ge(49), ::testing::Le(51)));
}

TEST(WorkQueueTest, ALostWorkersTasksComeFirstAgain) {
  WorkQueue queue(kOptions);
  const BatchId batch = queue.OpenBatch(kAceso);
  const std::vector<TaskId> tasks = AddTasks(queue, batch, 4);
  const WorkerId lost = queue.AddWorker({kAceso}, 2, 0);
  queue.LeaseTo(lost, 0);

  const WorkQueue::LostLeases leases = queue.RemoveWorker(lost, 0);
  EXPECT_THAT(leases.requeued, SizeIs(2));
  EXPECT_THAT(leases.given_up, IsEmpty());
  const WorkerId next = queue.AddWorker({kAceso}, 2, 0);
  EXPECT_THAT(queue.LeaseTo(next, 0), ElementsAre(tasks[0], tasks[1]));
  EXPECT_FALSE(Complete(queue, lost, tasks[0]));  // Too late.
  EXPECT_TRUE(Complete(queue, next, tasks[0]));
}

TEST(WorkQueueTest, NothingIsLeasedBeforeATaskWaitsOrMayBeDoubled) {
  WorkQueue queue(kOptions);
  EXPECT_FALSE(queue.MayLease(0));
  const TaskId task = queue.AddTask(queue.OpenBatch(kAceso));
  EXPECT_TRUE(queue.MayLease(0));
  const WorkerId slow = queue.AddWorker({kAceso}, 1, 0);
  const WorkerId idle = queue.AddWorker({kAceso}, 1, 0);
  ASSERT_THAT(queue.LeaseTo(slow, 0), ElementsAre(task));
  EXPECT_FALSE(queue.MayLease(0.9));
  ASSERT_TRUE(queue.MayLease(30.1));
  ASSERT_THAT(queue.LeaseTo(idle, 30.1), ElementsAre(task));
  EXPECT_FALSE(queue.MayLease(30.1));
}

TEST(WorkQueueTest, ATaskThatKillsWorkersIsGivenUp) {
  WorkQueue queue(kOptions);
  const BatchId batch = queue.OpenBatch(kAceso);
  const std::vector<TaskId> tasks = AddTasks(queue, batch, 1);
  for (int loss = 1; loss <= 3; ++loss) {
    const double now_s = 30 * loss;
    const WorkerId worker = queue.AddWorker({kAceso}, 1, now_s);
    ASSERT_THAT(queue.LeaseTo(worker, now_s), ElementsAre(tasks[0]));
    const WorkQueue::LostLeases leases = queue.RemoveWorker(worker, now_s);
    EXPECT_EQ(leases.given_up.size(), loss == 3 ? 1u : 0u);
  }
  EXPECT_EQ(queue.num_pending(), 0);
}

TEST(WorkQueueTest, TasksThatHadNotBegunAreNotBlamed) {
  WorkQueueOptions options = kOptions;
  options.give_up_after_s = 0;
  WorkQueue queue(options);
  std::vector<WorkerId> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(queue.AddWorker({kAceso}, 1, 0));
    ShowPace(queue, workers[i], 0.01);
  }
  AddTasks(queue, queue.OpenBatch(kAceso), 40);
  for (int loss = 0; loss < 3; ++loss) {
    ASSERT_THAT(queue.LeaseTo(workers[loss], 1), SizeIs(::testing::Gt(1)));
    EXPECT_EQ(queue.RemoveWorker(workers[loss], 1).given_up.size(),
              loss == 2 ? 1u : 0u);
  }
  EXPECT_EQ(queue.num_pending(), 39);
}

TEST(WorkQueueTest, StragglersAreDoubledAndTheFirstAnswerWins) {
  WorkQueue queue(kOptions);
  const BatchId batch = queue.OpenBatch(kAceso);
  const TaskId task = queue.AddTask(batch);
  const WorkerId slow = queue.AddWorker({kAceso}, 1, 0);
  const WorkerId idle = queue.AddWorker({kAceso}, 1, 0);
  ASSERT_THAT(queue.LeaseTo(slow, 0), ElementsAre(task));
  EXPECT_THAT(queue.LeaseTo(idle, 30), IsEmpty());
  EXPECT_THAT(queue.LeaseTo(idle, 30.1), ElementsAre(task));

  std::vector<WorkerId> others;
  EXPECT_TRUE(queue.Complete(idle, task, 31, &others));
  EXPECT_THAT(others, ElementsAre(slow));
  EXPECT_FALSE(Complete(queue, slow, task));
}

// Each worker waits half as long as the one before it, because none has ever
// answered.
TEST(WorkQueueTest, SilentHoldersDoNotKeepATaskFromOthers) {
  WorkQueue queue(kOptions);
  const TaskId task = queue.AddTask(queue.OpenBatch(kAceso));
  for (const double at_s : {0.0, 30.1, 45.2, 52.8, 56.6, 58.6, 59.6, 60.6}) {
    const WorkerId worker = queue.AddWorker({kAceso}, 2, at_s);
    if (at_s > 0) {
      EXPECT_THAT(queue.LeaseTo(worker, at_s - 0.2), IsEmpty());
    }
    EXPECT_THAT(queue.LeaseTo(worker, at_s), ElementsAre(task));
    // Nobody takes it twice.
    EXPECT_THAT(queue.LeaseTo(worker, at_s + 1e6), IsEmpty());
    queue.CheckInvariants();
  }
}

// Each worker waits twice as long as the one before it: the task takes long.
TEST(WorkQueueTest, ALongTaskOccupiesFewWorkers) {
  WorkQueue queue(kOptions);
  std::vector<WorkerId> workers;
  for (int i = 0; i < 4; ++i) {
    workers.push_back(
        queue.AddWorker({kAceso}, 2, 0, {.host = std::to_string(i)}));
    const TaskId first = queue.AddTask(queue.OpenBatch(kAceso));
    ASSERT_THAT(queue.LeaseTo(workers[i], 0), ElementsAre(first));
    ASSERT_TRUE(Complete(queue, workers[i], first));
  }
  const TaskId task = queue.AddTask(queue.OpenBatch(kAceso));
  auto worker = workers.begin();
  for (const double at_s : {0.0, 30.1, 90.2, 210.3}) {
    if (at_s > 0) {
      EXPECT_THAT(queue.LeaseTo(*worker, at_s - 0.2), IsEmpty());
    }
    EXPECT_THAT(queue.LeaseTo(*worker++, at_s), ElementsAre(task));
    queue.CheckInvariants();
  }
}

TEST(WorkQueueTest, ADoubledTaskSurvivesEitherWorker) {
  WorkQueue queue(kOptions);
  const TaskId task = queue.AddTask(queue.OpenBatch(kAceso));
  const WorkerId slow = queue.AddWorker({kAceso}, 1, 0);
  const WorkerId idle = queue.AddWorker({kAceso}, 1, 0);
  queue.LeaseTo(slow, 0);
  queue.LeaseTo(idle, 31);
  EXPECT_THAT(queue.RemoveWorker(slow, 0).requeued, IsEmpty());
  EXPECT_EQ(queue.num_pending(), 0);
  EXPECT_TRUE(Complete(queue, idle, task));
}

TEST(WorkQueueTest, ClosingABatchRevokesWhatNobodyElseWants) {
  WorkQueue queue(kOptions);
  const BatchId first = queue.OpenBatch(kAceso);
  const std::vector<TaskId> tasks = AddTasks(queue, first, 3);
  const BatchId second = queue.OpenBatch(kAceso);
  queue.JoinTask(second, tasks[1]);
  queue.JoinTask(second, tasks[2]);
  const WorkerId worker = queue.AddWorker({kAceso}, 2, 0);
  ASSERT_THAT(queue.LeaseTo(worker, 0), ElementsAre(tasks[0], tasks[1]));

  const WorkQueue::ClosedBatch closed = queue.CloseBatch(first);
  EXPECT_THAT(closed.dropped, ElementsAre(tasks[0]));
  EXPECT_THAT(closed.revoked, ElementsAre(WorkQueue::Lease{worker, tasks[0]}));
  EXPECT_THAT(queue.LeaseTo(worker, 0), ElementsAre(tasks[2]));
  EXPECT_TRUE(Complete(queue, worker, tasks[1]));
  EXPECT_FALSE(Complete(queue, worker, tasks[0]));
  queue.CheckInvariants();
}

TEST(WorkQueueTest, DrainingWorkersFinishButGetNothingNew) {
  WorkQueue queue(kOptions);
  const BatchId batch = queue.OpenBatch(kAceso);
  const std::vector<TaskId> tasks = AddTasks(queue, batch, 2);
  const WorkerId worker = queue.AddWorker({kAceso}, 1, 0);
  ASSERT_THAT(queue.LeaseTo(worker, 0), ElementsAre(tasks[0]));
  queue.Drain(worker);
  EXPECT_TRUE(queue.CanServe(kAceso));  // It still holds one.
  EXPECT_TRUE(Complete(queue, worker, tasks[0]));
  EXPECT_THAT(queue.LeaseTo(worker, 0), IsEmpty());
  EXPECT_FALSE(queue.CanServe(kAceso));
}

TEST(WorkQueueTest, ARefusedTaskGoesToOthersOnly) {
  WorkQueue queue(kOptions);
  const BatchId batch = queue.OpenBatch(kAceso);
  const std::vector<TaskId> tasks = AddTasks(queue, batch, 2);
  const WorkerId refused = queue.AddWorker({kAceso}, 1, 0);
  ASSERT_THAT(queue.LeaseTo(refused, 0), ElementsAre(tasks[0]));

  EXPECT_TRUE(queue.Refuse(refused, tasks[0]));
  queue.CheckInvariants();
  EXPECT_FALSE(queue.CanServe(tasks[0]));
  EXPECT_TRUE(queue.CanServe(tasks[1]));
  EXPECT_THAT(queue.LeaseTo(refused, 0), ElementsAre(tasks[1]));

  const WorkerId other = queue.AddWorker({kAceso}, 1, 0);
  EXPECT_TRUE(queue.CanServe(tasks[0]));
  EXPECT_THAT(queue.LeaseTo(other, 0), ElementsAre(tasks[0]));
  // Not even as a straggler.
  EXPECT_TRUE(Complete(queue, refused, tasks[1]));
  EXPECT_THAT(queue.LeaseTo(refused, 100), IsEmpty());
  EXPECT_FALSE(queue.Refuse(refused, tasks[0]));  // It does not hold it.
}

TEST(WorkQueueTest, AnExcludedWorkerIsNotLeasedTheTask) {
  WorkQueue queue(kOptions);
  const TaskId task = queue.AddTask(queue.OpenBatch(kAceso));
  const WorkerId excluded = queue.AddWorker({kAceso}, 1, 0);
  queue.Exclude(excluded, task);
  EXPECT_FALSE(queue.CanServe(task));
  EXPECT_THAT(queue.LeaseTo(excluded, 0), IsEmpty());
  const WorkerId other = queue.AddWorker({kAceso}, 1, 0);
  EXPECT_TRUE(queue.CanServe(task));
  EXPECT_THAT(queue.LeaseTo(other, 0), ElementsAre(task));
  EXPECT_THAT(queue.LeasesOf(other), ElementsAre(task));
}

TEST(WorkQueueTest, ATaskIsGivenUpWhereItWaits) {
  WorkQueue queue(kOptions);
  const std::vector<TaskId> tasks = AddTasks(queue, queue.OpenBatch(kAceso), 3);
  queue.GiveUp(tasks[1], 0);
  queue.CheckInvariants();
  EXPECT_EQ(queue.num_pending(), 2);
  const WorkerId worker = queue.AddWorker({kAceso}, 3, 0);
  EXPECT_THAT(queue.LeaseTo(worker, 0), ElementsAre(tasks[0], tasks[2]));
}

TEST(WorkQueueTest, ASuspendedWorkerHasNothingUntilItIsResumed) {
  WorkQueue queue(kOptions);
  const std::vector<TaskId> tasks = AddTasks(queue, queue.OpenBatch(kAceso), 3);
  const WorkerId worker = queue.AddWorker({kAceso}, 2, 0);
  ASSERT_THAT(queue.LeaseTo(worker, 0), SizeIs(2));

  EXPECT_THAT(queue.Suspend(worker), ElementsAre(tasks[0], tasks[1]));
  queue.CheckInvariants();
  EXPECT_EQ(queue.num_slots(), 0);
  EXPECT_FALSE(queue.CanServe(kAceso));
  EXPECT_THAT(queue.LeaseTo(worker, 0), IsEmpty());
  queue.Drain(worker);
  queue.Resume(worker);
  EXPECT_EQ(queue.num_slots(), 0);  // It drains still.

  const WorkerId other = queue.AddWorker({kAceso}, 3, 0);
  EXPECT_THAT(queue.LeaseTo(other, 0),
              ElementsAre(tasks[0], tasks[1], tasks[2]));
  queue.Suspend(other);
  queue.Resume(other);
  EXPECT_EQ(queue.num_slots(), 3);
  EXPECT_THAT(queue.LeaseTo(other, 0),
              ElementsAre(tasks[0], tasks[1], tasks[2]));
}

TEST(WorkQueueTest, LossesOfDoubledTasksAreTold) {
  WorkQueue queue(kOptions);
  const TaskId task = queue.AddTask(queue.OpenBatch(kAceso));
  const WorkerId slow = queue.AddWorker({kAceso}, 1, 0);
  ASSERT_THAT(queue.LeaseTo(slow, 0), ElementsAre(task));
  const WorkerId quick = queue.AddWorker({kAceso}, 1, 40);
  ASSERT_THAT(queue.LeaseTo(quick, 40), ElementsAre(task));

  const WorkQueue::LostLeases lost = queue.RemoveWorker(slow, 0);
  EXPECT_THAT(lost.hedged, ElementsAre(task));
  EXPECT_THAT(lost.requeued, IsEmpty());
}

TEST(WorkQueueTest, WhatIsHandedBackComesFirstAgain) {
  WorkQueue queue(kOptions);
  const BatchId batch = queue.OpenBatch(kAceso);
  const std::vector<TaskId> tasks = AddTasks(queue, batch, 2);
  const WorkerId worker = queue.AddWorker({kAceso}, 1, 0);
  queue.LeaseTo(worker, 0);
  EXPECT_TRUE(queue.HandBack(worker, tasks[0], 0));
  EXPECT_FALSE(queue.HandBack(worker, tasks[0], 0));
  EXPECT_THAT(queue.LeaseTo(worker, 0), ElementsAre(tasks[0]));
}

// Drives a queue at random and compares it with a naive record of its content.
class QueueState {
 public:
  explicit QueueState(uint32_t seed) : rng_(seed) {}

  void Step() {
    now_s_ += Int(0, 3);
    switch (Int(0, 11)) {
      case 0:
        return Connect();
      case 1:
        return Lose();
      case 2:
        return Open();
      case 3:
        return Close();
      case 4:
        return Join();
      case 5:
        return HandBack();
      case 6:
        return Suspend();
      case 7:
        return Int(0, 4) == 0 ? GiveUp() : Lease();
      default:
        return Int(0, 1) == 0 ? Lease() : Answer();
    }
  }

  void Check() {
    queue_.CheckInvariants();
    EXPECT_EQ(queue_.num_pending() + queue_.num_leased(),
              static_cast<int64_t>(open_.size()));
  }

  // If all workers behave from here on, all tasks are answered.
  void Finish() {
    while (!workers_.empty()) Lose();
    const WorkerId worker = queue_.AddWorker({kAceso, kUniform}, 3, now_s_);
    for (int round = 0; !open_.empty() && round < 10000; ++round) {
      for (const TaskId task : queue_.LeaseTo(worker, now_s_)) {
        EXPECT_TRUE(Complete(queue_, worker, task));
        open_.erase(task);
      }
    }
    EXPECT_THAT(open_, IsEmpty());
    EXPECT_EQ(queue_.num_pending(), 0);
  }

  int num_answered() const { return num_answered_; }
  int num_given_up() const { return num_given_up_; }

 private:
  int Int(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(rng_);
  }
  template <typename T>
  T Any(const std::vector<T>& values) {
    return values[Int(0, static_cast<int>(values.size()) - 1)];
  }

  void Connect() {
    workers_.push_back(
        queue_.AddWorker(Int(0, 1) == 0 ? std::set<AdapterId>{kAceso}
                                        : std::set<AdapterId>{kAceso, kUniform},
                         Int(1, 3), now_s_));
  }
  void Lose() {
    if (workers_.empty()) return;
    const WorkerId worker = Any(workers_);
    std::erase(workers_, worker);
    for (const auto& lost : queue_.RemoveWorker(worker, now_s_).given_up) {
      open_.erase(lost.task);
      ++num_given_up_;
    }
    EXPECT_THAT(queue_.LeaseTo(worker, now_s_), IsEmpty());
  }
  void Open() {
    batches_.push_back(queue_.OpenBatch(Int(0, 1) == 0 ? kAceso : kUniform));
    for (int i = Int(0, 8); i > 0; --i) {
      open_.insert(queue_.AddTask(batches_.back()));
    }
  }
  void Close() {
    if (batches_.empty()) return;
    const BatchId batch = Any(batches_);
    std::erase(batches_, batch);
    for (const TaskId task : queue_.CloseBatch(batch).dropped) {
      EXPECT_EQ(open_.erase(task), 1u);
    }
  }
  void Join() {
    if (batches_.empty() || open_.empty()) return;
    queue_.JoinTask(Any(batches_), *open_.begin());
  }
  void Lease() {
    if (workers_.empty()) return;
    const WorkerId worker = Any(workers_);
    for (const TaskId task : queue_.LeaseTo(worker, now_s_)) {
      EXPECT_EQ(open_.count(task), 1u);
      leases_.push_back({worker, task});
    }
  }
  void Answer() {
    if (leases_.empty()) return;
    const WorkQueue::Lease lease = Any(leases_);  // Perhaps an old one.
    if (Complete(queue_, lease.worker, lease.task)) {
      EXPECT_EQ(open_.erase(lease.task), 1u);
      ++num_answered_;
    }
  }
  void HandBack() {
    if (leases_.empty()) return;
    const WorkQueue::Lease lease = Any(leases_);
    if (Int(0, 1) == 0) {
      queue_.HandBack(lease.worker, lease.task, now_s_);
    } else {
      queue_.Refuse(lease.worker, lease.task);
    }
  }
  void Suspend() {
    if (workers_.empty()) return;
    const WorkerId worker = Any(workers_);
    Int(0, 1) == 0 ? queue_.Resume(worker) : void(queue_.Suspend(worker));
  }
  void GiveUp() {
    if (open_.empty()) return;
    const TaskId task = *open_.begin();
    if (queue_.IsHeld(task)) return;
    queue_.GiveUp(task, now_s_);
    open_.erase(task);
  }

  std::mt19937 rng_;
  WorkQueue queue_{kOptions};
  double now_s_ = 0;
  std::vector<WorkerId> workers_;
  std::vector<BatchId> batches_;
  std::vector<WorkQueue::Lease> leases_;
  std::set<TaskId> open_;  // Neither answered nor dropped nor given up.
  int num_answered_ = 0;
  int num_given_up_ = 0;
};

TEST(WorkQueueTest, NoTaskIsEverLostOrAnsweredTwice) {
  int num_answered = 0;
  int num_given_up = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    QueueState state(seed);
    for (int i = 0; i < 200; ++i) {
      state.Step();
      state.Check();
    }
    state.Finish();
    num_answered += state.num_answered();
    num_given_up += state.num_given_up();
  }
  EXPECT_GT(num_answered, 500);
  EXPECT_GT(num_given_up, 10);
}

}  // namespace
}  // namespace tangram
