// How many short tasks a worker is leased in advance.
#include <utility>
#include <vector>

#include "coordinator/dispatch/work_queue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

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
