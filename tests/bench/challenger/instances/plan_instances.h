#ifndef TANGRAM_TESTS_BENCH_CHALLENGER_INSTANCES_PLAN_INSTANCES_H_
#define TANGRAM_TESTS_BENCH_CHALLENGER_INSTANCES_PLAN_INSTANCES_H_

#include "coordinator/planners/tangram/tangram_options.h"
#include "tests/bench/challenger/instances/survey.h"

namespace tangram::bench {

// Returns a function that plans instances in this process, on one thread. It
// remembers its answers and the slice plans behind them, since variations of an
// instance share many. Not thread-safe.
PlanInstanceFn PlanInProcess(const TangramOptions& options);

}  // namespace tangram::bench

#endif  // TANGRAM_TESTS_BENCH_CHALLENGER_INSTANCES_PLAN_INSTANCES_H_
