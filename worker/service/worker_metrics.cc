#include "worker/service/worker_metrics.h"

#include <string>

namespace tangram {
namespace {

// In the order of Query's alternatives.
constexpr const char* kQueryKinds[] = {"slice_model", "concatenate", "profile",
                                       "parallelize"};

}  // namespace

WorkerMetrics::WorkerMetrics(Metrics& metrics)
    : queries_(metrics.AddCounter("tangram_worker_queries_total",
                                  "Queries answered, by outcome.")),
      query_duration_(metrics.AddDurations("tangram_worker_query_duration_"
                                           "seconds",
                                           "Wall time of answered queries.")),
      connected_(metrics.AddGauge("tangram_worker_connected",
                                  "1 while a coordinator is connected.")),
      running_(metrics.AddGauge("tangram_worker_running_queries",
                                "Queries being worked on.")) {
  SetConnected(false);
  SetRunning(0);
}

void WorkerMetrics::OnAnswer(const std::string& adapter, const Query& query,
                             const absl::Status& status, double seconds) {
  queries_.Add(
      {{"adapter", adapter}, {"outcome", status.ok() ? "answered" : "failed"}});
  query_duration_.Observe(
      {{"adapter", adapter}, {"query", kQueryKinds[query.index()]}}, seconds);
}

void WorkerMetrics::SetConnected(bool connected) {
  connected_.Set({}, connected ? 1 : 0);
}

void WorkerMetrics::SetRunning(int running) { running_.Set({}, running); }

}  // namespace tangram
