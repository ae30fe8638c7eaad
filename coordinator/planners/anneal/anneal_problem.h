#ifndef TANGRAM_COORDINATOR_PLANNERS_ANNEAL_ANNEAL_PROBLEM_H_
#define TANGRAM_COORDINATOR_PLANNERS_ANNEAL_ANNEAL_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "common/domain/island.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"

namespace tangram::anneal {

// One job, and the rules that its plans obey beside the constraints of the
// request.
struct AnnealProblem {
  PlanRequest request;
  PipelineRules rules;
  std::vector<Island> islands;
  uint32_t usable = ~uint32_t{0};  // Bit i: island i may come into use.
  bool changes_schedule = false;   // Also the warm-up passes.
  bool keeps_offload = false;
  bool keeps_islands = false;  // Those in use stay in use, and no others.
  double least_measured = 0;   // Evaluation::measured_fraction.
};

}  // namespace tangram::anneal

#endif  // TANGRAM_COORDINATOR_PLANNERS_ANNEAL_ANNEAL_PROBLEM_H_
