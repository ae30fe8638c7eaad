#ifndef TANGRAM_COORDINATOR_METRICS_SERVICE_METRICS_H_
#define TANGRAM_COORDINATOR_METRICS_SERVICE_METRICS_H_

#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/metrics/metrics.h"
#include "common/obs/sparse_warning.h"
#include "common/planner/cluster_planner.h"
#include "common/sync/mutex.h"
#include "common/wire/plan_file.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram {

// The coordinator's metrics. docs/metrics.md lists them. Thread-safe.
class ServiceMetrics : public WorkerPoolObserver {
 public:
  // The usual adapters have labels of their own, whatever names workers choose.
  explicit ServiceMetrics(Metrics& metrics,
                          std::set<std::string> usual_adapters = {});

  void OnAdapter(const std::string& adapter) override;
  void OnQuery(const std::string& adapter, QueryEvent event) override;
  void OnWait(double seconds) override;
  void OnCacheLookup(bool hit) override;
  void OnWorkerLost(const std::string& name) override;
  // Counts the wrong answer. Logs it, for each worker at most once a minute.
  void OnRejection(const Rejection& rejection) override;
  void OnQuarantine(const WorkerQuarantine::Record& worker) override;

  void OnPlan(const absl::Status& status, const PlanningStats& stats,
              const std::vector<PhaseTime>& phases, double wall_s);
  // A request was answered from the plan cache.
  void OnKnownPlan();
  void SetPool(const WorkerPoolCounts& counts);
  void SetPlans(int running, int waiting);
  void SetJobs(int running);
  void SetWaitingJobs(int waiting);
  void SetOldestWaitingJob(double seconds);
  // A call or a job of a tenant was refused. `reason` is one of a few words.
  void OnRefusal(const std::string& tenant, const char* reason);
  // An attempt to tell a webhook has ended.
  void OnWebhook(bool succeeded);
  // A caller was not known, or lacked the role.
  void OnAuthenticationFailure(absl::string_view code);
  // A call was ended because its caller does not read its answer.
  void OnUnreadReply();
  // When the coordinator's own certificate expires, in seconds since 1970.
  void SetCertificateEnd(double unix_s);

 private:
  // Returns the series of an adapter and event, found once.
  BoundCounter SeriesOf(const std::string& adapter, QueryEvent event)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the value of the label "adapter" for a name that workers chose.
  std::string LabelOf(const std::string& adapter);

  DurationHistogram planning_duration_;
  Counter plans_;
  BoundCounter planned_;  // Those of plans_ that are OK.
  BoundCounter known_plans_;
  BoundDurations queue_wait_;
  Counter pairs_;
  Counter queries_;
  Counter leases_lost_;
  BoundCounter cache_hits_;
  BoundCounter cache_misses_;
  Counter workers_lost_;
  Counter rejected_answers_;
  Gauge quarantined_workers_;
  Counter quarantines_;
  Gauge oldest_lease_;
  Gauge queue_depth_;
  Gauge leased_;
  Gauge workers_;
  Gauge worker_slots_;
  Gauge cache_bytes_;
  Gauge active_plans_;
  Gauge running_jobs_;
  Gauge queued_jobs_;
  Gauge oldest_waiting_job_;
  Counter refusals_;
  Counter authentication_failures_;
  Counter unread_replies_;
  Gauge certificate_end_;
  Counter webhooks_;
  SparseKinds rejections_;
  SparseKinds losses_;  // Log of lost workers, by name.
  Mutex mutex_;
  const std::set<std::string> usual_adapters_;
  // Names of other adapters that have series, at most kMaxAdapterLabels.
  std::set<std::string> adapters_ ABSL_GUARDED_BY(mutex_);
  // Series of the queries of an adapter, by event. They count most often.
  std::map<std::string,
           std::array<std::optional<BoundCounter>, std::size(kQueryEvents)>>
      query_series_ ABSL_GUARDED_BY(mutex_);
  // Tenants that have series, at most kMaxTenantLabels.
  std::set<std::string> tenants_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_METRICS_SERVICE_METRICS_H_
