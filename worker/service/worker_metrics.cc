#include "worker/service/worker_metrics.h"

namespace tangram {

WorkerMetrics::WorkerMetrics(Metrics& metrics)
    : queries_(metrics.AddCounter("tangram_worker_queries_total",
                                  "Queries answered, by outcome.")),
      query_duration_(metrics.AddDurations("tangram_worker_query_duration_"
                                           "seconds",
                                           "Wall time of answered queries.")),
      connected_(metrics.AddGauge("tangram_worker_connected",
                                  "Coordinators that are connected.")),
      running_(metrics.AddGauge("tangram_worker_running_queries",
                                "Queries being worked on.")) {
  AddConnected(0);
  SetRunning(0);
}

void WorkerMetrics::OnAnswer(const std::string& adapter, const Query& query,
                             const absl::Status& status, double seconds) {
  const MutexLock lock(mutex_);
  Series& series = series_[adapter];
  std::optional<BoundCounter>& count = series.counts[status.ok()];
  if (!count.has_value()) {
    count = queries_.Bind({{"adapter", adapter},
                           {"outcome", status.ok() ? "answered" : "failed"}});
  }
  std::optional<BoundDurations>& duration = series.durations[query.index()];
  if (!duration.has_value()) {
    duration =
        query_duration_.Bind({{"adapter", adapter}, {"query", KindOf(query)}});
  }
  count->Add();
  duration->Observe(seconds);
}

void WorkerMetrics::AddConnected(int count) {
  const MutexLock lock(mutex_);
  num_connected_ += count;
  connected_.Set({}, num_connected_);
}

void WorkerMetrics::SetRunning(int running) { running_.Set({}, running); }

}  // namespace tangram
