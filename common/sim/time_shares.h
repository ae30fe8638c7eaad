#ifndef TANGRAM_COMMON_SIM_TIME_SHARES_H_
#define TANGRAM_COMMON_SIM_TIME_SHARES_H_

#include <string>
#include <vector>

#include "common/domain/pipeline_plan.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {

struct TimeShare {
  std::string name;
  double fraction = 0;
};

// Returns the shares of the used GPUs' time in one iteration: computation,
// collectives, copies from and to the host, waiting, gradient synchronisation
// and optimizer, always in this order. The fractions add up to one.
std::vector<TimeShare> TimeShares(const PipelinePlan& plan,
                                  const Evaluation& evaluation);

// Returns the share of recomputation in that time, its collectives included.
double RecomputationShare(const PipelinePlan& plan,
                          const Evaluation& evaluation);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_TIME_SHARES_H_
