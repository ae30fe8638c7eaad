#ifndef TANGRAM_COMMON_BASE_ORDERED_TASKS_H_
#define TANGRAM_COMMON_BASE_ORDERED_TASKS_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/base/status_macros.h"

namespace tangram {

// The turn of a task, for the task to ask while it works. Thread-safe.
class TaskTurn {
 public:
  virtual ~TaskTurn() = default;
  // True once the task is of no use, so that it may end without a result.
  virtual bool ShouldStop() const = 0;
  // True once the results of all tasks before it are taken.
  virtual bool IsNext() const = 0;
};

// One of several tasks whose results are taken in order. A task may work before
// its turn, with what was known when it was made. If that has changed by then,
// it is made again. So the results are those of tasks that are made, do their
// work and are taken one after the other.
class OrderedTask {
 public:
  virtual ~OrderedTask() = default;
  // Only this function runs at the same time as others of any task.
  virtual void Work(const TaskTurn& turn) = 0;
  // Returns whether the task would be another if it were made now.
  virtual bool IsStale() const { return false; }
  virtual absl::Status Take() = 0;
};

using MakeTask = absl::FunctionRef<std::unique_ptr<OrderedTask>(int)>;

// Runs tasks, perhaps several at a time. Calls may be nested and come from any
// thread.
class TaskRunner {
 public:
  virtual ~TaskRunner() = default;
  // Makes tasks 0 to `count` − 1. Returns the first error of Take, after which
  // no other result is taken.
  virtual absl::Status Run(int count, MakeTask make) = 0;
};

// Runs tasks one after the other, or as `runner` does if it is not null.
inline absl::Status RunTasks(TaskRunner* runner, int count, MakeTask make) {
  struct NoOther : TaskTurn {
    bool ShouldStop() const override { return false; }
    bool IsNext() const override { return true; }
  };
  if (runner != nullptr && count > 1) return runner->Run(count, make);
  for (int i = 0; i < count; ++i) {
    const std::unique_ptr<OrderedTask> task = make(i);
    task->Work(NoOther());
    TANGRAM_RETURN_IF_ERROR(task->Take());
  }
  return absl::OkStatus();
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_ORDERED_TASKS_H_
