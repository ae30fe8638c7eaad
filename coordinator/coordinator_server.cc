#include "coordinator/coordinator_server.h"

#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/http/http_server.h"
#include "common/obs/audit_log.h"
#include "common/obs/clocks.h"
#include "common/obs/log.h"
#include "common/obs/set_back_watch.h"
#include "common/obs/sparse_warning.h"
#include "common/security/channel.h"
#include "common/security/listening.h"
#include "common/sync/mutex.h"
#include "common/wire/grpc_settings.h"
#include "coordinator/auth/call_gate.h"
#include "coordinator/dispatch/fair_executor.h"
#include "coordinator/dispatch/plan_turns.h"
#include "coordinator/jobs/job_runner.h"
#include "coordinator/jobs/job_upkeep.h"
#include "coordinator/metrics/measured_job_store.h"
#include "coordinator/metrics/service_metrics.h"
#include "coordinator/planning/plan_job.h"
#include "coordinator/planning/run_plan.h"
#include "coordinator/rest/rest_gateway.h"
#include "coordinator/rpc/audit_calls.h"
#include "coordinator/rpc/frontier_service.h"
#include "coordinator/rpc/health_service.h"
#include "coordinator/rpc/job_service.h"
#include "coordinator/rpc/job_watchers.h"
#include "coordinator/rpc/job_wire.h"
#include "coordinator/rpc/limit_replies.h"
#include "coordinator/rpc/memory_budget.h"
#include "coordinator/rpc/planner_service.h"
#include "coordinator/rpc/received_message.h"
#include "coordinator/rpc/reflection.h"
#include "coordinator/rpc/refused_calls.h"
#include "coordinator/rpc/rpc_metrics.h"
#include "coordinator/rpc/status_service.h"
#include "coordinator/rpc/tenant_service.h"
#include "coordinator/rpc/worker_pool_service.h"
#include "coordinator/store/job_feed.h"
#include "coordinator/web/live_page.h"
#include "coordinator/webhooks/webhook_sender.h"

namespace tangram {
namespace {

// Expired leases of queries are noticed within this time.
constexpr std::chrono::milliseconds kTickInterval(250);
// Time for the answers of ended plans to reach their callers.
constexpr std::chrono::seconds kShutdownGrace(1);
// Time to wait for plans that were told to stop.
constexpr double kStopTimeoutS = 5;
// Looks about once a second for changes by other coordinators.
constexpr int kTicksBetweenLooks = 4;
// Looks at what hardly ever changes, or is told, about twice a minute.
constexpr int kTicksBetweenRareLooks = 120;
// A tenant that asks nothing for half an hour to an hour makes room for others.
constexpr int kTicksOfCachePeriod = 4 * 1800;
// Threads that use the store: a call that waits for a lock of the database does
// not hold up the others. Calls that may wait for them, some kilobytes each;
// more are refused.
constexpr int kStoreThreads = 2;
constexpr int kMaxWaitingCalls = 1000;
// Their key for the coordinator's own ones. No tenant has this name.
constexpr char kOwnCalls[] = "/";
// Plans that have begun for each that computes; the others pause. Each keeps
// its memory.
constexpr int kBegunPerTurn = 4;
// Tenants that begin one plan more when these places are taken.
constexpr int kExtraTenants = 16;
// Threads of the page. A report may take one for a second.
constexpr int kPageThreads = 4;
// An answer for an allocation is some hundred times smaller than its plan, but
// more of them are asked for.
constexpr int64_t kPlansPerFrontierByte = 4;
// Number of traces kept. Each takes at most some megabytes.
constexpr size_t kKeptTraces = 16;

// Room for the bytes of a few of the largest messages, whatever requests may
// take. With less, one peer could keep the others from sending theirs.
constexpr int64_t kLeastReceivedBytes = int64_t{4} * kMaxMessageBytes;
constexpr int64_t kReceivedProbesBytes = 16 << 20;

// Returns a name that no other process has or had.
std::string OwnerName() {
  std::random_device random;
  return absl::StrCat("coordinator-", absl::Hex(random()), absl::Hex(random()));
}

void LogNote(const JobNote& note) {
  const LogLevel level = note.is_warning ? LogLevel::kWarning : LogLevel::kInfo;
  if (note.job_id.empty()) {
    Log(level, note.what, {{"reason", note.detail}});
  } else if (note.detail.empty()) {
    Log(level, note.what, {{"job", note.job_id}});
  } else {
    Log(level, note.what, {{"job", note.job_id}, {"reason", note.detail}});
  }
}

WorkerPoolOptions PoolOptions(const CoordinatorOptions& options,
                              AnswerStore* answers) {
  return {.queue = options.queue,
          .quarantine = options.quarantine,
          .worker_wait_s = options.worker_wait_s,
          .usual_adapters = UsualAdapters(),
          .newcomers_wait_s = WorkerPool::kJoiningS,
          .cache_bytes = options.cache_bytes,
          .now_s = SteadySeconds,
          .store = answers,
          .share_answers = options.share_answers};
}

// More threads than cores would only take time from tenants with one.
int NumTurns(const CoordinatorOptions& options) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores, 1, std::max(options.max_concurrent_plans, 1));
}

class Server : public CoordinatorServer {
 public:
  Server(const CoordinatorOptions& options, Metrics& metrics,
         CoordinatorState state, std::unique_ptr<Authenticator> authenticator)
      : all_metrics_(metrics),
        state_(std::move(state)),
        authenticator_(std::move(authenticator)),
        quota_(options.tenant_limits, SteadySeconds),
        budget_(options.requests_bytes, options.tenant_requests_bytes),
        metrics_(metrics, UsualAdapters()),
        replies_(options.replies_bytes, SteadySeconds,
                 [this] { metrics_.OnUnreadReply(); }),
        pool_(PoolOptions(options, state_.answers.get()), &metrics_),
        plan_cache_(options.plan_cache_bytes),
        frontier_cache_(options.plan_cache_bytes / kPlansPerFrontierByte),
        turns_({.num_turns = NumTurns(options), .now_s = SteadySeconds}),
        executor_({.max_of_key = options.max_concurrent_plans,
                   .num_places = kBegunPerTurn * options.max_concurrent_plans,
                   .num_extra_places = kExtraTenants,
                   .max_waiting = options.max_queued_plans,
                   .now_s = SteadySeconds}),
        store_executor_({.max_of_key = kStoreThreads,
                         .num_places = kStoreThreads,
                         .num_extra_places = 0,
                         .max_waiting = kMaxWaitingCalls,
                         .now_s = SteadySeconds}),
        runner_(
            *state_.jobs,
            {.owner = OwnerName(),
             .num_threads =
                 kBegunPerTurn * options.max_concurrent_plans + kExtraTenants,
             .max_of_tenant = options.max_concurrent_plans,
             .num_shared_places = kBegunPerTurn * options.max_concurrent_plans,
             .lease_s = options.job_lease_s,
             .slice_s = options.job_slice_s,
             .max_run_s = options.max_job_s,
             .max_wait_s = options.max_job_wait_s,
             .unix_now_s = UnixSeconds,
             .waiting_progress = WaitingProgress,
             .work = PlanJobs({.pool = pool_,
                               .metrics = metrics_,
                               .turns = turns_,
                               .now_s = SteadySeconds,
                               .cost_limits = options.cost_limits,
                               .limits = options.plan_limits},
                              traces_, options.max_job_wait_s),
             .is_able = [this] { return pool_.HasWorkers(); },
             .on_change =
                 [this](const std::string& id) { watchers_.Notify(id); },
             .on_note = LogNote}),
        upkeep_(
            *state_.jobs,
            {.keep_s = options.keep_jobs_s,
             .on_waiting = [this](int n) { metrics_.SetWaitingJobs(n); },
             .on_oldest_waiting_s =
                 [this](double age_s) { metrics_.SetOldestWaitingJob(age_s); },
             .on_deleted =
                 [](int n) {
                   Log(LogLevel::kInfo, "old jobs deleted", {{"jobs", n}});
                 },
             .on_due = [this] { runner_.Wake(); }}),
        job_service_(CreateJobService(
            {.store = *state_.jobs,
             .watchers = watchers_,
             .traces = traces_,
             .executor = store_executor_,
             .on_changed = [this] { runner_.Wake(); },
             .authenticator = *authenticator_,
             .quota = quota_,
             .budget = budget_,
             .webhooks = {.is_on = !options.webhook_secret.empty(),
                          .allows_plain_http = options.webhook_allow_private},
             .now_s = SteadySeconds,
             .unix_now_s = UnixSeconds,
             .on_refused =
                 [this](const std::string& tenant, const char* reason) {
                   metrics_.OnRefusal(tenant, reason);
                 }})),
        webhooks_(*state_.jobs, {.secret = options.webhook_secret,
                                 .allow_private = options.webhook_allow_private,
                                 .unix_now_s = UnixSeconds,
                                 .body = EventOfEnd,
                                 .on_attempt =
                                     [this](bool succeeded) {
                                       metrics_.OnWebhook(succeeded);
                                     }}),
        tenant_service_(
            CreateTenantService({.store = *state_.jobs,
                                 .executor = store_executor_,
                                 .authenticator = *authenticator_,
                                 .quota = quota_,
                                 .on_erased =
                                     [this](const std::string& tenant) {
                                       plan_cache_.Clear();
                                       traces_.Drop([&](const auto& id) {
                                         return TenantOf(id) == tenant;
                                       });
                                       frontier_cache_.Clear();
                                       watchers_.NotifyAll();
                                       runner_.Wake();
                                     }})),
        admission_(options.worker_limits, SteadySeconds),
        worker_service_(
            CreateWorkerPoolService(pool_, admission_, *authenticator_)),
        status_({.pool = pool_,
                 .executor = executor_,
                 .runner = runner_,
                 .now_s = SteadySeconds,
                 .began_s = SteadySeconds()}),
        status_service_(CreateStatusService(status_)),
        workers_service_(CreateWorkersService(pool_)),
        planner_parts_{.pool = pool_,
                       .executor = executor_,
                       .metrics = metrics_,
                       .cache = plan_cache_,
                       .now_s = SteadySeconds,
                       .is_draining = [this] { return draining_.load(); },
                       .must_stop = [this] { return stopping_.load(); },
                       .authenticator = *authenticator_,
                       .quota = quota_,
                       .turns = turns_,
                       .budget = budget_,
                       .share_answers = options.share_answers,
                       .cost_limits = options.cost_limits,
                       .max_plan_s = options.max_plan_s,
                       .limits = options.plan_limits},
        planner_service_(CreatePlannerService(planner_parts_)),
        frontier_service_(
            CreateFrontierService({.planner = planner_parts_,
                                   .answers = frontier_cache_,
                                   .most_at_once = NumTurns(options)})) {}

  ~Server() override {
    http_server_.reset();
    rest_gateway_.reset();
    draining_ = true;
    stopping_ = true;
    runner_.Stop(0);
    executor_.WaitUntilIdle(kStopTimeoutS);
    health_.End();
    if (server_ != nullptr) {
      server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
    }
    if (health_server_ != nullptr) {
      health_server_->Shutdown(std::chrono::system_clock::now());
    }
    ticker_.request_stop();
    if (ticker_.joinable()) ticker_.join();
    store_executor_.WaitUntilIdle(kStopTimeoutS);  // Tasks of the ticker.
  }

  absl::Status Listen(const CoordinatorOptions& options) {
    if (!options.audit.file.empty()) {
      TANGRAM_ASSIGN_OR_RETURN(audit_, AuditLog::Open(options.audit));
    }
    cert_file_ = options.tls.cert_file;
    TANGRAM_RETURN_IF_ERROR(
        CheckLivePageAddress(options.http_listen, options.tls, options.auth));
    TANGRAM_RETURN_IF_ERROR(
        CheckRestAddress(options.rest_listen, options.tls, options.auth));
    TANGRAM_RETURN_IF_ERROR(ListenForProbes(options.health_listen));
    TANGRAM_ASSIGN_OR_RETURN(
        const auto credentials,
        ListeningCredentials(options.listen, options.tls,
                             options.auth.IsOpen() ? nullptr : Gate()));
    grpc::ServerBuilder builder;
    ApplySettings(builder);
    if (!options.reflection) LeaveOutReflection(builder);
    if (options.requests_bytes > 0) {
      LimitReceivedBytes(builder,
                         std::max(options.requests_bytes, kLeastReceivedBytes));
    }
    // Otherwise two coordinators would share one port without a word.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort(options.listen, credentials, &port_);
    InterceptCalls(builder);
    builder.RegisterService(worker_service_.get());
    builder.RegisterService(planner_service_.get());
    builder.RegisterService(frontier_service_.get());
    builder.RegisterService(job_service_.get());
    builder.RegisterService(tenant_service_.get());
    builder.RegisterService(status_service_.get());
    builder.RegisterService(workers_service_.get());
    builder.RegisterService(health_service_.get());
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on ", options.listen));
    }
    TANGRAM_RETURN_IF_ERROR(ServePage(options));
    TANGRAM_RETURN_IF_ERROR(ServeRest(options));
    ListenToOthers(options.state.database);
    ticker_ = std::jthread([this](const std::stop_token& stop) { Tick(stop); });
    return absl::OkStatus();
  }

  int port() const override { return port_; }
  int health_port() const override { return health_port_; }
  int http_port() const override {
    return http_server_ == nullptr ? 0 : http_server_->port();
  }
  int rest_port() const override {
    return rest_gateway_ == nullptr ? 0 : rest_gateway_->port();
  }
  WorkerPool& pool() override { return pool_; }

  bool Drain(double timeout_s) override {
    draining_ = true;
    health_.SetServing(false);
    const double deadline_s = SteadySeconds() + timeout_s;
    const bool jobs_finished = runner_.Stop(timeout_s);
    const bool plans_finished =
        executor_.WaitUntilIdle(std::max(0.0, deadline_s - SteadySeconds()));
    stopping_ = true;
    executor_.WaitUntilIdle(kStopTimeoutS);
    return jobs_finished && plans_finished;
  }

 private:
  std::shared_ptr<grpc::AuthMetadataProcessor> Gate() {
    return CreateCallGate(*authenticator_,
                          std::bind_front(&Server::Record, this));
  }

  void InterceptCalls(grpc::ServerBuilder& builder) {
    std::vector<
        std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
        creators;
    creators.push_back(CreateCallMeter(all_metrics_));
    if (audit_ != nullptr) {
      creators.push_back(CreateCallAuditor(
          [this](const AuditedCall& call) { audit_->Write(call); },
          *authenticator_));
    }
    creators.push_back(CreateReplyLimiter(replies_));
    builder.experimental().SetInterceptorCreators(std::move(creators));
  }

  // Takes a call that the interceptors do not see: one that the gate refused,
  // or a reading of the page.
  void Record(const AuditedCall& call) {
    metrics_.OnAuthenticationFailure(call.code);
    if (audit_ != nullptr) refusals_.Take(call);
  }

  // Coordinators that share a database tell each other of changes at once.
  void ListenToOthers(const std::string& database) {
    if (database.empty()) return;
    feed_ = JobFeed::Start(
        {.connection = database,
         .on_state =
             [this](const std::string& id) {
               runner_.Wake();
               id.empty() ? watchers_.NotifyAll() : watchers_.Notify(id);
             },
         .on_progress = [this](const std::string& id) { watchers_.Notify(id); },
         .on_connection =
             [](const absl::Status& status) {
               static SparseWarning& warning = *new SparseWarning(
                   "other coordinators are not heard at once");
               if (!status.ok()) warning.Tell(status.ToString());
             }});
  }

  absl::Status ListenForProbes(const std::string& address) {
    if (address.empty()) return absl::OkStatus();
    grpc::ServerBuilder builder;
    ApplySettings(builder);
    builder.SetMaxReceiveMessageSize(kMaxSmallRequestBytes);
    LeaveOutReflection(builder);
    builder.RegisterService(probe_service_.get());
    LimitReceivedBytes(builder, kReceivedProbesBytes);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(),
                             &health_port_);
    health_server_ = builder.BuildAndStart();
    if (health_server_ != nullptr && health_port_ != 0) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address));
  }

  absl::Status ServePage(const CoordinatorOptions& options) {
    if (options.http_listen.empty()) return absl::OkStatus();
    TANGRAM_ASSIGN_OR_RETURN(
        http_server_,
        HttpServer::Start(
            options.http_listen, kPageThreads,
            CreateLivePage(
                {.jobs = *state_.jobs,
                 .status = status_,
                 .authenticator = *authenticator_,
                 .on_call = std::bind_front(&Server::Record, this),
                 .only_as_this_machine = IsLoopback(options.http_listen)})));
    return absl::OkStatus();
  }

  absl::Status ServeRest(const CoordinatorOptions& options) {
    if (options.rest_listen.empty()) return absl::OkStatus();
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    TANGRAM_ASSIGN_OR_RETURN(
        rest_gateway_,
        RestGateway::Start(
            {.address = options.rest_listen,
             .cert_file = options.tls.cert_file,
             .key_file = options.tls.key_file,
             .only_as_this_machine =
                 options.auth.IsOpen() && IsLoopback(options.rest_listen),
             .on_refused = std::bind_front(&Server::Record, this),
             .hold_answer = std::bind_front(&UnreadReplies::Hold, &replies_)},
            server_->InProcessChannel(arguments), *authenticator_));
    return absl::OkStatus();
  }

  void Tick(const std::stop_token& stop) {
    Mutex mutex;
    StoppableConditionVariable wake;
    const MutexLock lock(mutex);
    int64_t ticks = -1;  // So that the first tick sets the gauges.
    while (!stop.stop_requested()) {
      pool_.Tick();
      if (++ticks % kTicksBetweenLooks == 0) {
        admission_.Tick();
        if (feed_ == nullptr || !feed_->is_listening() ||
            ticks % kTicksBetweenRareLooks == 0) {
          watchers_.NotifyAll();
        }
        SetGauges();
        LookAtJobs();
        LookAtClock();
        refusals_.Tick();
      }
      if (ticks % kTicksBetweenRareLooks == 0) LookAtCertificate();
      if (ticks % kTicksOfCachePeriod == 0) {
        plan_cache_.EndPeriod();
        frontier_cache_.EndPeriod();
      }
      wake.WaitFor(mutex, stop, kTickInterval, [] { return false; });
    }
  }

  void SetGauges() {
    metrics_.SetPool(pool_.Counts());
    metrics_.SetPlans(executor_.num_running(), executor_.num_waiting());
    metrics_.SetJobs(runner_.num_running());
  }

  void LookAtClock() {
    const double back_s = clock_.Look(UnixSeconds(), SteadySeconds());
    if (back_s == 0) return;
    Log(LogLevel::kWarning,
        "the clock was set back; restart, or new certificates are read late",
        {{"back_s", back_s}});
  }

  void LookAtCertificate() {
    if (cert_file_.empty()) return;
    const auto end_s = CertificatesEndS("--tls_cert_file", cert_file_);
    // While it cannot be read, the last one is in force.
    if (end_s.ok()) metrics_.SetCertificateEnd(*end_s);
  }

  // Runs in another thread, because the database may be slow.
  void LookAtJobs() {
    if (is_looking_.exchange(true)) return;
    const auto task = store_executor_.Submit(kOwnCalls, [this] {
      upkeep_.Look(pool_.num_arrivals(), SteadySeconds());
      is_looking_ = false;
    });
    if (!task.has_value()) is_looking_ = false;
  }

  Metrics& all_metrics_;
  std::unique_ptr<AuditLog> audit_;  // Null: none.
  RefusedCalls refusals_{
      [this](const AuditedCall& call) { audit_->Write(call); }, SteadySeconds};
  std::string cert_file_;  // Empty: plain text.
  CoordinatorState state_;
  const std::unique_ptr<Authenticator> authenticator_;
  TenantQuota quota_;
  MemoryBudget budget_;
  ServiceMetrics metrics_;
  UnreadReplies replies_;
  WorkerPool pool_;
  PlanCache plan_cache_;
  PlanCache frontier_cache_;
  TraceStore traces_{kKeptTraces};
  JobWatchers watchers_;
  std::atomic<bool> draining_ = false;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> is_looking_ = false;
  SetBackWatch clock_;  // Tick's thread alone uses it.
  PlanTurns turns_;
  FairExecutor executor_;
  FairExecutor store_executor_;
  JobRunner runner_;
  JobUpkeep upkeep_;  // Used by one thread at a time: see is_looking_.
  std::unique_ptr<grpc::Service> job_service_;
  WebhookSender webhooks_;
  std::unique_ptr<grpc::Service> tenant_service_;
  WorkerAdmission admission_;
  std::unique_ptr<grpc::Service> worker_service_;
  const StatusServiceParts status_;
  std::unique_ptr<grpc::Service> status_service_;
  std::unique_ptr<grpc::Service> workers_service_;
  const PlannerServiceParts planner_parts_;
  std::unique_ptr<grpc::Service> planner_service_;
  std::unique_ptr<grpc::Service> frontier_service_;
  Health health_;
  const std::unique_ptr<grpc::Service> health_service_ =
      health_.CreateService();
  const std::unique_ptr<grpc::Service> probe_service_ = health_.CreateService();
  std::unique_ptr<grpc::Server> health_server_;
  int health_port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  std::unique_ptr<RestGateway> rest_gateway_;
  std::unique_ptr<HttpServer> http_server_;
  std::unique_ptr<JobFeed> feed_;  // Null: nobody shares the jobs.
  std::jthread ticker_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CoordinatorServer>> CoordinatorServer::Start(
    const CoordinatorOptions& options, Metrics& metrics) {
  AuthenticatorOptions auth = options.auth;
  auth.unix_now_s = UnixSeconds;
  TANGRAM_ASSIGN_OR_RETURN(auto authenticator, Authenticator::Create(auth));
  TANGRAM_ASSIGN_OR_RETURN(CoordinatorState state,
                           OpenState(options.state, metrics));
  state.jobs =
      CreateMeasuredJobStore(std::move(state.jobs), metrics, SteadySeconds,
                             [on_failure = options.on_failure,
                              at = state.jobs_at](const absl::Status& reason) {
                               if (on_failure)
                                 on_failure(JobsAreDamaged(at, reason));
                             });
  auto server = std::make_unique<Server>(options, metrics, std::move(state),
                                         std::move(authenticator));
  TANGRAM_RETURN_IF_ERROR(server->Listen(options));
  return server;
}

}  // namespace tangram
