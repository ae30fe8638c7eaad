#include "coordinator/dispatch/task_threads.h"

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using testing::StatusIs;

// A search for the least of some numbers, each at a task. A task works with the
// least that was known when it was made, and tells what it saw.
struct Least {
  std::vector<int> numbers;
  int least = 1000;
  std::vector<std::pair<int, int>> taken;  // Least before, number.
  std::atomic<int> num_worked = 0;
  std::function<void(int, const TaskTurn&)> on_work;
  int fails_at = -1;
};

class LeastTask : public OrderedTask {
 public:
  LeastTask(Least& all, int i) : all_(all), i_(i), before_(all.least) {}

  void Work(const TaskTurn& turn) override {
    ++all_.num_worked;
    if (all_.on_work) all_.on_work(i_, turn);
    result_ = {before_, all_.numbers[i_]};
  }
  bool IsStale() const override { return before_ != all_.least; }
  absl::Status Take() override {
    if (i_ == all_.fails_at) return absl::InternalError("at a task");
    all_.taken.push_back(result_);
    all_.least = std::min(all_.least, result_.second);
    return absl::OkStatus();
  }

 private:
  Least& all_;
  const int i_;
  const int before_;
  std::pair<int, int> result_;
};

absl::Status RunAll(TaskRunner* runner, Least& all) {
  return RunTasks(runner, static_cast<int>(all.numbers.size()),
                  [&](int i) { return std::make_unique<LeastTask>(all, i); });
}

TEST(TaskThreadsTest, ResultsAreThoseOfOneTaskAfterTheOther) {
  std::vector<int> numbers;
  for (int i = 0; i < 300; ++i) numbers.push_back(1000 - (i * 37) % 301);
  Least expected{.numbers = numbers};
  ASSERT_TRUE(RunAll(nullptr, expected).ok());
  EXPECT_EQ(expected.num_worked, 300);
  for (const int num_threads : {1, 2, 3, 8}) {
    TaskThreads threads(num_threads);
    Least found{.numbers = numbers};
    ASSERT_TRUE(RunAll(&threads, found).ok());
    EXPECT_EQ(found.taken, expected.taken) << num_threads;
    EXPECT_EQ(threads.TakeUpTo(100), num_threads - 1);  // All are free again.
  }
}

TEST(TaskThreadsTest, ATaskBeginsBeforeItsTurnAndEndsOnceItIsStale) {
  TaskThreads threads(2);
  std::atomic<bool> second_began = false;
  std::atomic<int> num_stale = 0;
  Least all{.numbers = {7, 8}};
  all.on_work = [&](int i, const TaskTurn& turn) {
    if (i == 0) {
      EXPECT_TRUE(turn.IsNext());
      second_began.wait(false);
    } else if (!turn.IsNext()) {
      second_began = true;
      second_began.notify_all();
      while (!turn.ShouldStop()) {
      }
      ++num_stale;
    }
  };
  ASSERT_TRUE(RunAll(&threads, all).ok());
  EXPECT_EQ(num_stale, 1);
  EXPECT_THAT(all.taken, ElementsAre(std::pair(1000, 7), std::pair(7, 8)));
}

TEST(TaskThreadsTest, NothingIsTakenAfterAnError) {
  TaskThreads threads(3);
  Least all{.numbers = std::vector<int>(20, 5), .fails_at = 4};
  EXPECT_THAT(RunAll(&threads, all),
              StatusIs(absl::StatusCode::kInternal, "at a task"));
  EXPECT_EQ(all.taken.size(), 4u);
  EXPECT_EQ(threads.TakeUpTo(100), 2);
}

TEST(TaskThreadsTest, TasksHaveTasks) {
  TaskThreads threads(3);
  std::atomic<int> num_inner = 0;
  Least outer{.numbers = std::vector<int>(10, 5)};
  outer.on_work = [&](int, const TaskTurn&) {
    Least inner{.numbers = std::vector<int>(10, 5)};
    ASSERT_TRUE(RunAll(&threads, inner).ok());
    EXPECT_EQ(inner.taken.size(), 10u);
    ++num_inner;
  };
  ASSERT_TRUE(RunAll(&threads, outer).ok());
  EXPECT_GE(num_inner, 10);
  EXPECT_EQ(threads.TakeUpTo(100), 2);
}

}  // namespace
}  // namespace tangram
