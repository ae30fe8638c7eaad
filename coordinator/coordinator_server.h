#ifndef TANGRAM_COORDINATOR_COORDINATOR_SERVER_H_
#define TANGRAM_COORDINATOR_COORDINATOR_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/metrics/metrics.h"
#include "common/obs/audit_log.h"
#include "common/security/tls_files.h"
#include "coordinator/auth/authenticator.h"
#include "coordinator/coordinator_state.h"
#include "coordinator/dispatch/worker_pool.h"
#include "coordinator/planning/recorded_plan.h"
#include "coordinator/rpc/tenant_quota.h"
#include "coordinator/rpc/worker_admission.h"

namespace tangram {

struct CoordinatorOptions {
  std::string listen = "127.0.0.1:0";
  TlsFiles tls;  // Without a certificate: plain text.
  AuthenticatorOptions auth;
  // Record of all calls; no file: none.
  AuditLogOptions audit;
  TenantLimits tenant_limits;
  // Address of gRPC health alone, in plain text, for probes; empty: none.
  std::string health_listen;
  // Whether to serve gRPC reflection, which takes requests of any size.
  bool reflection = false;
  // Address of a page with jobs and workers, in plain text; empty: none.
  std::string http_listen;
  // Address of REST with JSON, by TLS if there is a certificate; empty: none.
  std::string rest_listen;
  double worker_wait_s = 30;
  QuarantineOptions quarantine;
  WorkerLimits worker_limits;
  int max_concurrent_plans = 4;  // Those that compute; others pause.
  int max_queued_plans = 256;
  // Memory of all requests that have arrived and not ended; 0: no limit.
  int64_t requests_bytes = int64_t{256} << 20;
  int64_t tenant_requests_bytes = 0;  // Those of one tenant; 0: as all.
  // Memory of messages that callers do not read; 0: no limit.
  int64_t replies_bytes = int64_t{256} << 20;
  CostLimits cost_limits;                    // Larger plans are refused.
  PlanLimits plan_limits;                    // Plans beyond them are ended.
  int64_t cache_bytes = int64_t{256} << 20;  // Cache of workers' answers.
  // Cache of answers to plan requests.
  int64_t plan_cache_bytes = int64_t{64} << 20;
  // Whether tenants get each other's answers. If not, no tenant can affect, or
  // learn of, the questions of another.
  bool share_answers = false;
  WorkQueueOptions queue;
  StatePlace state;
  // Called once, from any thread, when the database of jobs proves damaged,
  // after which the coordinator cannot continue. May be null.
  std::function<void(const absl::Status&)> on_failure;
  double job_lease_s = 6;
  double keep_jobs_s = 30 * 86400.;  // Time after their end; 0: for ever.
  // Limits on the time of a plan call and of a job, over all its attempts; 0:
  // none.
  double max_plan_s = 0;
  double max_job_s = 0;
  double job_slice_s = 0;  // See JobRunnerOptions.
  // Time that a job waits for workers; 0: as long as a call.
  double max_job_wait_s = 0;
  // Secret that events to webhooks are signed with; empty: no webhooks.
  std::string webhook_secret;
  bool webhook_allow_private = false;
};

// The coordinator daemon without its process. Serves all services and health
// on one port. Thread-safe.
class CoordinatorServer {
 public:
  // Returns kUnavailable if a port or the state cannot be used, kDataLoss if
  // the database of jobs is damaged, and kInvalidArgument if a certificate or a
  // file with tokens is at fault. `metrics` must outlive the server.
  static absl::StatusOr<std::unique_ptr<CoordinatorServer>> Start(
      const CoordinatorOptions& options, Metrics& metrics);

  virtual ~CoordinatorServer() = default;  // Ends running plans.

  virtual int port() const = 0;
  virtual int health_port() const = 0;  // 0: none.
  virtual int http_port() const = 0;    // 0: none.
  virtual int rest_port() const = 0;    // 0: none.
  virtual WorkerPool& pool() = 0;

  // Reports NOT_SERVING, refuses new plans, and waits for running ones,
  // including jobs. Returns false if some had to be ended after `timeout_s`
  // seconds. Such jobs are queued again.
  virtual bool Drain(double timeout_s) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COORDINATOR_SERVER_H_
