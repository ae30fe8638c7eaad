// How many short tasks a worker is leased in advance.
#include <utility>
#include <vector>

#include "coordinator/dispatch/work_queue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::SizeIs;

const AdapterId kAceso{"aceso", "1"};

WorkQueue NewQueue() { return WorkQueue({.first_slots = 1 << 12}); }

void AddTasks(WorkQueue& queue, int count) {
  const BatchId batch = queue.OpenBatch(kAceso);
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
    WorkQueue queue = NewQueue();
    const WorkerId worker = queue.AddWorker({kAceso}, 1, 0);
    AddTasks(queue, 1);
    AnswerTogether(queue, worker, takes_s);
    AddTasks(queue, 1000);
    EXPECT_THAT(queue.LeaseTo(worker, 10), SizeIs(leases)) << takes_s;
  }
}

TEST(WorkQueuePrefetchTest, AnswersOfOneMessageShareItsTime) {
  WorkQueue queue = NewQueue();
  const WorkerId worker = queue.AddWorker({kAceso}, 4, 0);
  AddTasks(queue, 4);
  AnswerTogether(queue, worker, 0.4);
  AddTasks(queue, 1000);
  // Each took 0.4 s of its slot: two more within a second.
  EXPECT_THAT(queue.LeaseTo(worker, 1), SizeIs(4 * (1 + 2)));
}

}  // namespace
}  // namespace tangram
