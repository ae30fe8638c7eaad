#ifndef TANGRAM_COORDINATOR_METRICS_MEASURED_JOB_STORE_H_
#define TANGRAM_COORDINATOR_METRICS_MEASURED_JOB_STORE_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "common/metrics/metrics.h"
#include "coordinator/store/job_store.h"

namespace tangram {

// Returns `store` with metrics of its latency and of the events of jobs.
// `now_s` never goes back. `on_damage` is called when a call first returns
// kDataLoss. It may be null.
std::unique_ptr<JobStore> CreateMeasuredJobStore(
    std::unique_ptr<JobStore> store, Metrics& metrics,
    std::function<double()> now_s,
    std::function<void(const absl::Status&)> on_damage = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_METRICS_MEASURED_JOB_STORE_H_
