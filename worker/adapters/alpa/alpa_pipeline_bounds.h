#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_PIPELINE_BOUNDS_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_PIPELINE_BOUNDS_H_

#include <vector>

#include "common/base/stop_poll.h"
#include "worker/adapters/alpa/alpa_inter_operator_problem.h"

namespace tangram::alpa {

// Lower bounds on a part of a pipeline.
struct PipelineBound {
  double slowest_s = 0;
  double latency_s = 0;
};

// Lower bounds on the stages that hold all layers before, or from, some layer
// and bear `trailing_stages`. They hold for all submeshes and transfers. On n
// devices, the slowest stage takes at least 1/n of the least device-seconds Σ
// |m|·C[i][k][m].
class PipelineBounds {
 public:
  // Bounds sums of `seconds`. The bounds are of no use if `poll`, which may be
  // null, stops.
  PipelineBounds(const InterOperatorProblem& problem, int trailing_stages,
                 StopPoll* poll = nullptr,
                 double StageOption::*seconds = &StageOption::seconds);

  // Returns the bound on the layers [0, layer).
  PipelineBound Before(int layer, int num_devices) const {
    return BoundOf(before_[layer], num_devices);
  }
  // Returns the bound on the layers from `layer` on.
  PipelineBound From(int layer, int num_devices) const {
    return BoundOf(from_[layer], num_devices);
  }

 private:
  struct Least {
    double device_seconds = 0;
    double latency_s = 0;
  };

  static PipelineBound BoundOf(const Least& least, int num_devices) {
    if (num_devices == 0) return {};
    return {.slowest_s = least.device_seconds / num_devices,
            .latency_s = least.latency_s};
  }

  std::vector<Least> before_;
  std::vector<Least> from_;
};

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_PIPELINE_BOUNDS_H_
