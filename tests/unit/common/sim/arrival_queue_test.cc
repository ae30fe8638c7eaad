#include "common/sim/arrival_queue.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(ArrivalQueueTest, IsFirstInFirstOutHoweverManyWait) {
  ArrivalQueue<double> queue;
  int pushed = 0;
  int popped = 0;
  for (int waiting = 0; waiting < 20; ++waiting) {
    while (pushed - popped < waiting) queue.Push(pushed++);
    for (int i = 0; i < waiting; i += 2) EXPECT_EQ(queue.Pop(), popped++);
  }
  while (!queue.empty()) EXPECT_EQ(queue.Pop(), popped++);
  EXPECT_EQ(popped, pushed);
}

}  // namespace
}  // namespace tangram
