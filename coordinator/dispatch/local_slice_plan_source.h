#ifndef TANGRAM_COORDINATOR_DISPATCH_LOCAL_SLICE_PLAN_SOURCE_H_
#define TANGRAM_COORDINATOR_DISPATCH_LOCAL_SLICE_PLAN_SOURCE_H_

#include <functional>
#include <memory>

#include "common/parallelizer/slice_plan_source.h"
#include "coordinator/dispatch/query_log.h"
#include "coordinator/dispatch/task_threads.h"

namespace tangram {

// The log of queries. Workers are called "thread-1" and so on.
struct LocalQueryLog {
  QueryLog* log = nullptr;  // Null: no log.
  std::function<double()> now_s;
};

// Returns a source of slice plans from threads of this process. `tangram plan`
// uses it without a coordinator. The searches poll `should_stop` from several
// threads at once. `parallelizer`, the log and `threads` must outlive the
// source. With `threads`, questions take those of them that are free, in place
// of `num_threads`. Thread-safe.
std::unique_ptr<SlicePlanSource> CreateLocalSlicePlanSource(
    const Parallelizer& parallelizer, int num_threads,
    std::function<bool()> should_stop = nullptr, const LocalQueryLog& log = {},
    TaskThreads* threads = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_LOCAL_SLICE_PLAN_SOURCE_H_
