#include "coordinator/metrics/service_metrics.h"

#include "absl/strings/ascii.h"
#include "common/base/infinity.h"
#include "common/obs/log.h"

namespace tangram {
namespace {

// Codes of plans whose counters exist from the start: success, and the codes
// that alerts use.
constexpr absl::StatusCode kPlanCodes[] = {
    absl::StatusCode::kOk, absl::StatusCode::kUnknown,
    absl::StatusCode::kInternal, absl::StatusCode::kUnavailable,
    absl::StatusCode::kDataLoss};

// Adapters with series of their own beside the usual ones, over ten times those
// that exist. Workers choose the names, and each has about 13 series.
constexpr size_t kMaxAdapterLabels = 100;
// The label of all adapters beyond them.
constexpr char kOtherAdapters[] = "other";
// The label of an answer whose lease is unknown.
constexpr char kUnknownAdapter[] = "unknown";
// Tenants with series of their own, each with one for each reason.
constexpr size_t kMaxTenantLabels = 50;
constexpr char kOtherTenants[] = "other";
constexpr const char* kRefusalReasons[] = {"calls",  "draining", "jobs",
                                           "memory", "queue",    "request"};
// The label of callers without a tenant.
constexpr char kNoTenant[] = "none";
// Codes of calls that did not pass the gate; others are no such method.
constexpr char kUnknownCaller[] = "unauthenticated";
constexpr char kWithoutTheRole[] = "permission_denied";
// Kinds of quarantines.
constexpr char kUntilReleased[] = "until_released";
constexpr char kForAWhile[] = "for_a_while";

std::string NameOf(absl::StatusCode code) {
  return absl::AsciiStrToLower(absl::StatusCodeToString(code));
}

}  // namespace

ServiceMetrics::ServiceMetrics(Metrics& metrics,
                               std::set<std::string> usual_adapters)
    : planning_duration_(metrics.AddDurations(
          "tangram_planning_duration_seconds",
          "Wall time of finished plans, by phase and in total.")),
      plans_(metrics.AddCounter("tangram_plans_total",
                                "Planning requests, by status code.")),
      planned_(plans_.Bind({{"code", NameOf(absl::StatusCode::kOk)}})),
      known_plans_(
          metrics
              .AddCounter("tangram_plan_cache_hits_total",
                          "Planning requests answered from the plan cache.")
              .Bind({})),
      queue_wait_(metrics
                      .AddDurations("tangram_queue_wait_seconds",
                                    "Time until a worker first got a query.")
                      .Bind({})),
      pairs_(metrics.AddCounter("tangram_pairs_total",
                                "Pairs of finished plans, by outcome.")),
      queries_(metrics.AddCounter("tangram_queries_total",
                                  "Queries to workers, by event.")),
      leases_lost_(
          metrics.AddCounter("tangram_leases_lost_total",
                             "Queries whose worker died or fell silent.")),
      cache_hits_(metrics
                      .AddCounter("tangram_cache_hits_total",
                                  "Queries answered from the cache.")
                      .Bind({})),
      cache_misses_(metrics
                        .AddCounter("tangram_cache_misses_total",
                                    "Queries not found in the cache.")
                        .Bind({})),
      workers_lost_(
          metrics.AddCounter("tangram_workers_lost_total",
                             "Workers that were lost without draining.")),
      rejected_answers_(metrics.AddCounter(
          "tangram_rejected_answers_total",
          "Wrong answers of workers, by adapter and reason.")),
      quarantined_workers_(metrics.AddGauge(
          "tangram_quarantined_workers",
          "Workers that are not asked because their answers were wrong.")),
      quarantines_(metrics.AddCounter(
          "tangram_quarantines_total",
          "Workers put in quarantine: until released, or for a while.")),
      oldest_lease_(
          metrics.AddGauge("tangram_oldest_lease_seconds",
                           "The longest time that a worker has held a query.")),
      queue_depth_(metrics.AddGauge("tangram_queue_depth",
                                    "Queries that wait for a worker.")),
      leased_(metrics.AddGauge("tangram_leased_queries",
                               "Queries that workers hold.")),
      workers_(metrics.AddGauge("tangram_workers", "Connected workers.")),
      worker_slots_(metrics.AddGauge(
          "tangram_worker_slots",
          "Queries that the connected workers can run at once.")),
      cache_bytes_(
          metrics.AddGauge("tangram_cache_bytes", "Memory of cached answers.")),
      active_plans_(metrics.AddGauge("tangram_active_plans",
                                     "Planning requests under way.")),
      running_jobs_(metrics.AddGauge("tangram_jobs_running",
                                     "Jobs that this coordinator runs.")),
      queued_jobs_(metrics.AddGauge(
          "tangram_jobs_queued",
          "Jobs in the database that wait for a coordinator.")),
      oldest_waiting_job_(
          metrics.AddGauge("tangram_oldest_waiting_job_seconds",
                           "Time since the oldest of them was submitted.")),
      refusals_(metrics.AddCounter(
          "tangram_refusals_total",
          "Calls and jobs that were refused, by reason and tenant.")),
      authentication_failures_(metrics.AddCounter(
          "tangram_authentication_failures_total",
          "Calls of callers who are not known or lack the role, by code.")),
      unread_replies_(metrics.AddCounter(
          "tangram_unread_replies_total",
          "Calls that were ended because callers do not read answers.")),
      certificate_end_(metrics.AddGauge(
          "tangram_certificate_not_after_seconds",
          "When the certificate expires, in seconds since 1970; 0: none.")),
      webhooks_(metrics.AddCounter("tangram_webhook_attempts_total",
                                   "Attempts to tell webhooks of the ends of "
                                   "jobs, by outcome.")),
      usual_adapters_(std::move(usual_adapters)) {
  for (const char* outcome : {"succeeded", "failed"}) {
    webhooks_.Add({{"outcome", outcome}}, 0);
  }
  // Creates the counters at once: a rate does not see a counter appear.
  for (Counter* counter : {&leases_lost_, &workers_lost_, &unread_replies_}) {
    counter->Add({}, 0);
  }
  for (const char* reason : kRefusalReasons) {
    refusals_.Add({{"tenant", kNoTenant}, {"reason", reason}}, 0);
  }
  certificate_end_.Set({}, 0);
  for (const char* code : {kUnknownCaller, kWithoutTheRole}) {
    authentication_failures_.Add({{"code", code}}, 0);
  }
  for (const char* kind : {kUntilReleased, kForAWhile}) {
    quarantines_.Add({{"kind", kind}}, 0);
  }
  for (const absl::StatusCode code : kPlanCodes) {
    plans_.Add({{"code", NameOf(code)}}, 0);
  }
}

void ServiceMetrics::OnAuthenticationFailure(absl::string_view code) {
  if (code != kUnknownCaller && code != kWithoutTheRole) return;
  authentication_failures_.Add({{"code", std::string(code)}});
}

void ServiceMetrics::OnUnreadReply() { unread_replies_.Add({}); }

void ServiceMetrics::SetCertificateEnd(double unix_s) {
  certificate_end_.Set({}, unix_s);
}

std::string ServiceMetrics::LabelOf(const std::string& adapter) {
  if (adapter.empty()) return kUnknownAdapter;
  if (usual_adapters_.count(adapter) > 0) return adapter;
  const MutexLock lock(mutex_);
  if (adapters_.count(adapter) > 0) return adapter;
  if (adapters_.size() >= kMaxAdapterLabels) return kOtherAdapters;
  adapters_.insert(adapter);
  return adapter;
}

void ServiceMetrics::OnAdapter(const std::string& adapter) {
  const std::string label = LabelOf(adapter);
  for (const QueryEvent event : kQueryEvents) {
    queries_.Add({{"adapter", label}, {"state", NameOf(event)}}, 0);
  }
  for (const RejectionReason reason : kRejectionReasons) {
    rejected_answers_.Add({{"adapter", label}, {"reason", NameOf(reason)}}, 0);
  }
}

void ServiceMetrics::OnQuery(const std::string& adapter, QueryEvent event) {
  SeriesOf(adapter, event).Add();
  if (event == QueryEvent::kLost || event == QueryEvent::kGivenUp) {
    leases_lost_.Add({});
  }
}

BoundCounter ServiceMetrics::SeriesOf(const std::string& adapter,
                                      QueryEvent event) {
  const auto place = static_cast<size_t>(event);
  {
    const MutexLock lock(mutex_);
    const auto known = query_series_.find(adapter);
    if (known != query_series_.end() && known->second[place].has_value()) {
      return *known->second[place];
    }
  }
  const std::string label = LabelOf(adapter);
  const MutexLock lock(mutex_);
  std::optional<BoundCounter>& series = query_series_[label][place];
  if (!series.has_value()) {
    series = queries_.Bind({{"adapter", label}, {"state", NameOf(event)}});
  }
  return *series;
}

void ServiceMetrics::OnWait(double seconds) { queue_wait_.Observe(seconds); }

void ServiceMetrics::OnCacheLookup(bool hit) {
  (hit ? cache_hits_ : cache_misses_).Add();
}

void ServiceMetrics::OnWorkerLost(const std::string& name) {
  workers_lost_.Add({});
  if (const auto times = losses_.Note(name)) {
    Log(LogLevel::kWarning, "worker lost",
        {{"worker", name}, {"times", *times}});
  }
}

void ServiceMetrics::OnRejection(const Rejection& rejection) {
  rejected_answers_.Add({{"adapter", LabelOf(rejection.adapter)},
                         {"reason", NameOf(rejection.reason)}});
  const std::string source = ToString(rejection.worker);
  if (const auto times = rejections_.Note(source)) {
    Log(LogLevel::kWarning, "worker answered wrongly",
        {{"worker", rejection.name},
         {"version", rejection.version},
         {"source", source},
         {"adapter", rejection.adapter},
         {"reason", NameOf(rejection.reason)},
         {"fault", rejection.fault},
         {"times", *times}});
  }
}

void ServiceMetrics::OnQuarantine(const WorkerQuarantine::Record& worker) {
  if (!worker.held) {
    Log(LogLevel::kInfo, "worker released",
        {{"worker", worker.name},
         {"version", worker.version},
         {"source", ToString(worker.worker)}});
    return;
  }
  const bool is_for_a_while = worker.is_held_for_a_while();
  quarantines_.Add({{"kind", is_for_a_while ? kForAWhile : kUntilReleased}});
  Log(is_for_a_while ? LogLevel::kWarning : LogLevel::kError,
      "worker quarantined",
      {{"worker", worker.name},
       {"version", worker.version},
       {"source", ToString(worker.worker)},
       {"fault", worker.last_fault},
       {"for_s", is_for_a_while ? worker.held_until_s - worker.held_since_s
                                : kInfinity}});
}

void ServiceMetrics::OnPlan(const absl::Status& status,
                            const PlanningStats& stats,
                            const std::vector<PhaseTime>& phases,
                            double wall_s) {
  plans_.Add({{"code", NameOf(status.code())}});
  if (!status.ok()) return;
  planning_duration_.Observe({{"phase", "total"}}, wall_s);
  for (const PhaseTime& phase : phases) {
    planning_duration_.Observe({{"phase", phase.phase}}, phase.wall_s);
  }
  const auto add = [&](const char* outcome, int64_t count) {
    pairs_.Add({{"outcome", outcome}}, static_cast<double>(count));
  };
  add("pruned_redundant", stats.pruned_redundant);
  add("pruned_imbalanced", stats.pruned_imbalanced);
  add("pruned_incompatible", stats.pruned_incompatible);
  add("pruned_infeasible", stats.pruned_infeasible);
  add("queried", stats.queries - stats.requeries);
}

void ServiceMetrics::OnKnownPlan() {
  planned_.Add();
  known_plans_.Add();
}

void ServiceMetrics::SetPool(const WorkerPoolCounts& counts) {
  queue_depth_.Set({}, static_cast<double>(counts.pending));
  leased_.Set({}, static_cast<double>(counts.leased));
  oldest_lease_.Set({}, counts.oldest_lease_s);
  workers_.Set({{"state", "ready"}},
               counts.workers - counts.draining - counts.quarantined);
  workers_.Set({{"state", "quarantined"}}, counts.quarantined);
  quarantined_workers_.Set({}, counts.quarantined + counts.quarantined_away);
  workers_.Set({{"state", "draining"}}, counts.draining);
  worker_slots_.Set({}, counts.slots);
  cache_bytes_.Set({}, static_cast<double>(counts.cache_bytes));
}

void ServiceMetrics::SetPlans(int running, int waiting) {
  active_plans_.Set({{"state", "running"}}, running);
  active_plans_.Set({{"state", "queued"}}, waiting);
}

void ServiceMetrics::SetJobs(int running) { running_jobs_.Set({}, running); }

void ServiceMetrics::SetWaitingJobs(int waiting) {
  queued_jobs_.Set({}, waiting);
}

void ServiceMetrics::SetOldestWaitingJob(double seconds) {
  oldest_waiting_job_.Set({}, seconds);
}

void ServiceMetrics::OnRefusal(const std::string& tenant, const char* reason) {
  std::string label = tenant.empty() ? kNoTenant : tenant;
  {
    const MutexLock lock(mutex_);
    if (tenants_.count(label) == 0) {
      if (tenants_.size() >= kMaxTenantLabels) {
        label = kOtherTenants;
      } else {
        tenants_.insert(label);
      }
    }
  }
  refusals_.Add({{"tenant", label}, {"reason", reason}});
}

void ServiceMetrics::OnWebhook(bool succeeded) {
  webhooks_.Add({{"outcome", succeeded ? "succeeded" : "failed"}});
}

}  // namespace tangram
