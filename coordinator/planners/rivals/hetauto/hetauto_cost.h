#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_COST_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_COST_H_

#include "coordinator/planners/rivals/hetauto/hetauto_input.h"

namespace tangram {

struct HetAutoCost {
  double iteration_s = 0;
  double bytes_short = 0;  // The fullest GPU lacks them; 0: the plan fits.
};

// Returns the closed form of a 1F1B pipeline of M microbatches, with t_s the
// passes of one in stage s, c_s its transfers behind stage s, which run beside
// passes, g_s the reduction of its gradients and o_s its optimizer step:
//
//   sum of (t_s + c_s) + (M - 1) max over s of max(t_s, c_s)
//     + max over s of (g_s + o_s)
//
// Stage s of S holds the activations of min(M, S - s) microbatches. The plan
// must have profiles of its degrees and samples. Pure.
HetAutoCost CostOf(const HetAutoInput& input, const HetAutoPlan& plan);

// Returns the seconds of the passes of a transformer layer for one microbatch
// of `samples` on cp · tp GPUs of a cluster.
double LayerPassSeconds(const HetAutoInput& input, int cluster, int tp_degree,
                        int cp_degree, int samples);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_COST_H_
