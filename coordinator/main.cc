#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/daemon/daemon.h"
#include "common/daemon/flag_checks.h"
#include "common/metrics/metrics.h"
#include "common/obs/build_info.h"
#include "common/obs/log.h"
#include "common/obs/termination.h"
#include "common/security/channel.h"
#include "common/sync/mutex.h"
#include "coordinator/coordinator_server.h"
#include "coordinator/webhooks/webhook_signature.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:7070",
          "Address for workers and clients; port 0 takes any free one.");
ABSL_FLAG(std::string, metrics, "127.0.0.1:9090",
          "Address of GET /metrics; empty: none.");
ABSL_FLAG(std::string, health, "",
          "Address of gRPC health alone, in plain text; empty: none.");
ABSL_FLAG(bool, reflection, false,
          "Serve gRPC reflection, for debugging. Its requests have no limit on "
          "memory.");
ABSL_FLAG(std::string, http, "",
          "Address of the read-only status page, in plain HTTP; empty: none. "
          "With TLS or tokens, it must be a loopback address.");
ABSL_FLAG(std::string, rest, "",
          "Address of REST with JSON (docs/openapi.json), by TLS if there is "
          "--tls_cert_file; empty: none. With tokens and without TLS, it must "
          "be a loopback address.");
ABSL_FLAG(std::string, tls_cert_file, "",
          "PEM file with the certificate to show, for TLS; empty: plain text.");
ABSL_FLAG(std::string, tls_key_file, "",
          "PEM file with the key of the certificate.");
ABSL_FLAG(
    std::string, tls_ca_file, "",
    "PEM file with authorities. Callers must have a certificate of one of "
    "them; empty: they need none.");
ABSL_FLAG(
    std::string, auth_tokens_file, "",
    "File with a line \"token,name,tenant,roles\" for each caller. Empty, "
    "and without --jwt_keys_file: everybody may do everything.");
ABSL_FLAG(std::string, jwt_keys_file, "",
          "File with the JSON Web Key Set of the issuer of web tokens.");
ABSL_FLAG(std::string, jwt_issuer, "", "Required \"iss\" of web tokens.");
ABSL_FLAG(std::string, jwt_audience, "", "Required \"aud\" of web tokens.");
ABSL_FLAG(
    std::string, audit_log, "",
    "File that records every call: who, what, from where, as JSON, a line "
    "each. Empty: none.");
ABSL_FLAG(int64_t, audit_log_mb, tangram::AuditLogOptions().max_bytes >> 20,
          "Size of --audit_log before the next file begins; ten are kept.");
ABSL_FLAG(int, max_jobs_per_tenant, 1000,
          "Limit on the unfinished jobs of a tenant; more are refused. 0: no "
          "limit.");
ABSL_FLAG(
    int, max_calls_per_tenant, 64,
    "Limit on the plan calls of a tenant at once; more are refused. 0: no "
    "limit.");
ABSL_FLAG(int, max_watches_per_tenant, 1000,
          "Limit on the calls of a tenant that watch a job; more are refused. "
          "0: no limit.");
ABSL_FLAG(int, max_ended_jobs_per_tenant, 10000,
          "Limit on the ended jobs of a tenant that are kept; at it, new jobs "
          "are refused. 0: no limit.");
ABSL_FLAG(int64_t, max_stored_mb_per_tenant, 1024,
          "Limit on the requests and plans of a tenant's jobs; at it, new jobs "
          "are refused. 0: no limit.");
ABSL_FLAG(int64_t, max_requests_mb_per_tenant, 128,
          "A tenant's part of --max_requests_mb; 0: all of it.");
ABSL_FLAG(double, max_plan_s, 3600,
          "Limit on the time of a plan call from its beginning; 0: no limit.");
ABSL_FLAG(double, max_job_s, 86400,
          "Limit on the time that a job runs in all; 0: no limit.");
ABSL_FLAG(double, job_slice_s, 600,
          "Time that a job runs before it is put back if another one waits for "
          "its place; 0: never. Answers of workers are kept.");
ABSL_FLAG(double, job_worker_wait_s, 0,
          "Time from its submission for which a job waits for workers that "
          "offer its parallelizer; 0: as long as it takes.");
ABSL_FLAG(std::string, webhook_secret_file, "",
          "File with a secret of at least 32 bytes that signs the events of "
          "webhooks. Empty: jobs have no webhooks.");
ABSL_FLAG(bool, webhook_allow_private, false,
          "Let webhooks be at addresses of private networks and this machine, "
          "and in plain HTTP.");
ABSL_FLAG(std::string, print_webhook_key, "",
          "Print the key with which the receiver of this tenant's events "
          "checks them, and exit; \"-\": that without a tenant.");
ABSL_FLAG(double, worker_wait_s, 30,
          "Time that a plan waits for a worker that offers its parallelizer; "
          "0: no wait.");
ABSL_FLAG(int, quarantine_after, 3,
          "Wrong answers within --quarantine_window_s that put a worker in "
          "quarantine, where it gets no queries; 0: no quarantine.");
ABSL_FLAG(double, quarantine_window_s, 600, "See --quarantine_after.");
ABSL_FLAG(
    int, max_streams_per_source, 1024,
    "Limit on the connections of workers with one credential on one host; "
    "more are refused. 0: no limit.");
ABSL_FLAG(int, max_concurrent_plans, 4,
          "Plans that compute at once. A tenant begins as many calls, and as "
          "many jobs; they pause in turn.");
ABSL_FLAG(int, max_queued_plans, 256,
          "Plan calls that may wait until they begin; more are refused, but no "
          "tenant's share of these.");
ABSL_FLAG(
    int64_t, max_requests_mb, 256,
    "Memory for the requests of all callers, waiting or running, and once more "
    "for the bytes of all connections; more are refused. 0: no limit.");
ABSL_FLAG(int64_t, max_replies_mb, 256,
          "Memory for messages that callers do not read; beyond it, the calls "
          "end that read none for longest. 0: no limit.");
ABSL_FLAG(int64_t, max_plan_pairs, 0,
          "Limit on the pairs of a slice and an island in a plan; larger plans "
          "are refused. 0: no limit.");
ABSL_FLAG(int64_t, max_plan_mb, 0,
          "Limit on the memory of a plan; larger plans are refused. 0: no "
          "limit.");
ABSL_FLAG(
    int64_t, plan_memory_mb, tangram::PlanLimits().max_bytes >> 20,
    "Memory that a plan may hold while it computes; one that takes more is "
    "ended. 0: no limit.");
ABSL_FLAG(double, plan_cpu_s, tangram::PlanLimits().max_cpu_s,
          "CPU time that a plan may take; one that takes more is ended. 0: no "
          "limit.");
ABSL_FLAG(int64_t, cache_mb, 256, "Memory for cached answers of workers.");
ABSL_FLAG(int64_t, plan_cache_mb, 64,
          "Memory for answers to planning requests, which equal requests get "
          "again; 0: plan every request.");
ABSL_FLAG(bool, share_answers, false,
          "Let tenants get each other's answers of workers and plans. Saves "
          "work if tenants trust one another.");
ABSL_FLAG(std::string, state_dir, "",
          "Folder for jobs and answers of workers, created if it does not "
          "exist; empty: $STATE_DIRECTORY, $XDG_STATE_HOME/tangram or "
          "~/.local/state/tangram. \"none\": nothing outlives the process.");
ABSL_FLAG(std::string, database, "",
          "PostgreSQL database for jobs and answers of workers, which several "
          "coordinators may share: postgresql://HOST/NAME or \"host=... "
          "dbname=...\". Empty: files in --state_dir.");
ABSL_FLAG(int64_t, stored_answers_mb, 1024,
          "Disk space for answers of workers.");
ABSL_FLAG(
    bool, purge_answers, false,
    "Delete all answers in --state_dir or --database, print their number, "
    "and exit.");
ABSL_FLAG(double, keep_jobs_days, 30,
          "Days until ended jobs are deleted; 0: never.");
ABSL_FLAG(double, drain_s, 60, "Time to wait for running plans on SIGTERM.");

extern "C" {
// Settings of jemalloc. A thread returns freed pages to the system after 0.1 s,
// so that large messages leave nothing behind. gRPC has many threads; heaps of
// their own would keep free memory that the others cannot use.
const char* malloc_conf =
    "narenas:4,background_thread:true,dirty_decay_ms:100,muzzy_decay_ms:0";
}

namespace tangram {
namespace {

constexpr double kDayS = 86400;  // 24 · 60 · 60.

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the folder for state by the usual variables; empty: none.
std::string StateDir() {
  const std::string flag = absl::GetFlag(FLAGS_state_dir);
  if (flag == "none") return "";
  if (!flag.empty()) return flag;
  if (std::string dir = Environment("STATE_DIRECTORY"); !dir.empty()) {
    return dir;
  }
  if (const std::string dir = Environment("XDG_STATE_HOME"); !dir.empty()) {
    return absl::StrCat(dir, "/tangram");
  }
  const std::string home = Environment("HOME");
  return home.empty() ? "" : absl::StrCat(home, "/.local/state/tangram");
}

// Checks that the number of bytes fits in 64 bits.
absl::Status CheckMegabytes(absl::string_view flag, int64_t value) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() >> 20;
  if (value >= 0 && value <= kMost) return absl::OkStatus();
  return FieldError(absl::StrCat("--", flag), value,
                    absl::StrCat("0 to ", kMost));
}

absl::Status CheckFlags() {
  const std::pair<const char*, double> counts_and_times[] = {
      {"worker_wait_s", absl::GetFlag(FLAGS_worker_wait_s)},
      {"quarantine_after", absl::GetFlag(FLAGS_quarantine_after)},
      {"quarantine_window_s", absl::GetFlag(FLAGS_quarantine_window_s)},
      {"max_streams_per_source", absl::GetFlag(FLAGS_max_streams_per_source)},
      {"max_queued_plans", absl::GetFlag(FLAGS_max_queued_plans)},
      {"max_jobs_per_tenant", absl::GetFlag(FLAGS_max_jobs_per_tenant)},
      {"max_calls_per_tenant", absl::GetFlag(FLAGS_max_calls_per_tenant)},
      {"max_watches_per_tenant", absl::GetFlag(FLAGS_max_watches_per_tenant)},
      {"max_plan_pairs",
       static_cast<double>(absl::GetFlag(FLAGS_max_plan_pairs))},
      {"max_ended_jobs_per_tenant",
       absl::GetFlag(FLAGS_max_ended_jobs_per_tenant)},
      {"max_plan_s", absl::GetFlag(FLAGS_max_plan_s)},
      {"max_job_s", absl::GetFlag(FLAGS_max_job_s)},
      {"job_slice_s", absl::GetFlag(FLAGS_job_slice_s)},
      {"job_worker_wait_s", absl::GetFlag(FLAGS_job_worker_wait_s)},
      {"plan_cpu_s", absl::GetFlag(FLAGS_plan_cpu_s)},
      {"keep_jobs_days", absl::GetFlag(FLAGS_keep_jobs_days)}};
  for (const auto& [flag, value] : counts_and_times) {
    TANGRAM_RETURN_IF_ERROR(CheckFlagNotNegative(flag, value));
  }
  const std::pair<const char*, int64_t> megabytes[] = {
      {"cache_mb", absl::GetFlag(FLAGS_cache_mb)},
      {"audit_log_mb", absl::GetFlag(FLAGS_audit_log_mb)},
      {"max_requests_mb", absl::GetFlag(FLAGS_max_requests_mb)},
      {"max_replies_mb", absl::GetFlag(FLAGS_max_replies_mb)},
      {"max_requests_mb_per_tenant",
       absl::GetFlag(FLAGS_max_requests_mb_per_tenant)},
      {"max_stored_mb_per_tenant",
       absl::GetFlag(FLAGS_max_stored_mb_per_tenant)},
      {"max_plan_mb", absl::GetFlag(FLAGS_max_plan_mb)},
      {"plan_memory_mb", absl::GetFlag(FLAGS_plan_memory_mb)},
      {"plan_cache_mb", absl::GetFlag(FLAGS_plan_cache_mb)},
      {"stored_answers_mb", absl::GetFlag(FLAGS_stored_answers_mb)}};
  for (const auto& [flag, value] : megabytes) {
    TANGRAM_RETURN_IF_ERROR(CheckMegabytes(flag, value));
  }
  TANGRAM_RETURN_IF_ERROR(
      CheckFlagAtMost("drain_s", absl::GetFlag(FLAGS_drain_s), kLongestWaitS));
  if (const int64_t mb = absl::GetFlag(FLAGS_audit_log_mb); mb < 1) {
    return FieldError("--audit_log_mb", mb, "a positive integer");
  }
  if (const int plans = absl::GetFlag(FLAGS_max_concurrent_plans); plans < 1) {
    return FieldError("--max_concurrent_plans", plans, "a positive integer");
  }
  const std::string dir = absl::GetFlag(FLAGS_state_dir);
  if (dir.empty() || absl::GetFlag(FLAGS_database).empty()) {
    return absl::OkStatus();
  }
  return FieldError("--state_dir", dir, "nothing beside --database");
}

StatePlace PlaceFromFlags() {
  return {.state_dir = StateDir(),
          .database = absl::GetFlag(FLAGS_database),
          .stored_answers_bytes = absl::GetFlag(FLAGS_stored_answers_mb) << 20};
}

// Waiting for as long as it takes is the default, and so 0 for users.
double MaxJobWaitS() {
  const double flag = absl::GetFlag(FLAGS_job_worker_wait_s);
  return flag > 0 ? flag : std::numeric_limits<double>::infinity();
}

// Returns the secret of webhooks; empty: there is none.
absl::StatusOr<std::string> WebhookSecret() {
  constexpr size_t kLeastBytes = 32;
  const std::string path = absl::GetFlag(FLAGS_webhook_secret_file);
  if (path.empty()) return "";
  std::ifstream file(path, std::ios::binary);
  std::string secret{std::istreambuf_iterator<char>(file), {}};
  absl::StripTrailingAsciiWhitespace(&secret);
  if (file.bad() || secret.size() < kLeastBytes) {
    return FieldError("--webhook_secret_file", path,
                      "a readable file of at least 32 bytes");
  }
  return secret;
}

// Prints the key of a tenant's events.
absl::Status PrintWebhookKey(absl::string_view secret) {
  std::string tenant = absl::GetFlag(FLAGS_print_webhook_key);
  if (secret.empty()) {
    return FieldError("--print_webhook_key", tenant,
                      "--webhook_secret_file beside it");
  }
  if (tenant == "-") tenant.clear();
  std::printf("%s\n", WebhookKeyText(WebhookKeyOf(secret, tenant)).c_str());
  return absl::OkStatus();
}

CoordinatorOptions OptionsFromFlags() {
  return {
      .listen = absl::GetFlag(FLAGS_listen),
      .tls = {.cert_file = absl::GetFlag(FLAGS_tls_cert_file),
              .key_file = absl::GetFlag(FLAGS_tls_key_file),
              .ca_file = absl::GetFlag(FLAGS_tls_ca_file)},
      .auth = {.tokens_file = absl::GetFlag(FLAGS_auth_tokens_file),
               .web_keys_file = absl::GetFlag(FLAGS_jwt_keys_file),
               .web_token_rules = {.issuer = absl::GetFlag(FLAGS_jwt_issuer),
                                   .audience =
                                       absl::GetFlag(FLAGS_jwt_audience)}},
      .audit = {.file = absl::GetFlag(FLAGS_audit_log),
                .max_bytes = absl::GetFlag(FLAGS_audit_log_mb) << 20},
      .tenant_limits =
          {.max_unfinished_jobs = absl::GetFlag(FLAGS_max_jobs_per_tenant),
           .max_ended_jobs = absl::GetFlag(FLAGS_max_ended_jobs_per_tenant),
           .max_stored_bytes = absl::GetFlag(FLAGS_max_stored_mb_per_tenant)
                               << 20,
           .max_calls = absl::GetFlag(FLAGS_max_calls_per_tenant),
           .max_watches = absl::GetFlag(FLAGS_max_watches_per_tenant)},
      .health_listen = absl::GetFlag(FLAGS_health),
      .reflection = absl::GetFlag(FLAGS_reflection),
      .http_listen = absl::GetFlag(FLAGS_http),
      .rest_listen = absl::GetFlag(FLAGS_rest),
      .worker_wait_s = absl::GetFlag(FLAGS_worker_wait_s),
      .quarantine = {.max_rejections = absl::GetFlag(FLAGS_quarantine_after),
                     .window_s = absl::GetFlag(FLAGS_quarantine_window_s)},
      .worker_limits = {.max_streams =
                            absl::GetFlag(FLAGS_max_streams_per_source)},
      .max_concurrent_plans = absl::GetFlag(FLAGS_max_concurrent_plans),
      .max_queued_plans = absl::GetFlag(FLAGS_max_queued_plans),
      .requests_bytes = absl::GetFlag(FLAGS_max_requests_mb) << 20,
      .tenant_requests_bytes = absl::GetFlag(FLAGS_max_requests_mb_per_tenant)
                               << 20,
      .replies_bytes = absl::GetFlag(FLAGS_max_replies_mb) << 20,
      .cost_limits = {.max_pairs = absl::GetFlag(FLAGS_max_plan_pairs),
                      .max_bytes = absl::GetFlag(FLAGS_max_plan_mb) << 20},
      .plan_limits = {.max_bytes = absl::GetFlag(FLAGS_plan_memory_mb) << 20,
                      .max_cpu_s = absl::GetFlag(FLAGS_plan_cpu_s)},
      .cache_bytes = absl::GetFlag(FLAGS_cache_mb) << 20,
      .plan_cache_bytes = absl::GetFlag(FLAGS_plan_cache_mb) << 20,
      .share_answers = absl::GetFlag(FLAGS_share_answers),
      .state = PlaceFromFlags(),
      .keep_jobs_s = absl::GetFlag(FLAGS_keep_jobs_days) * kDayS,
      .max_plan_s = absl::GetFlag(FLAGS_max_plan_s),
      .max_job_s = absl::GetFlag(FLAGS_max_job_s),
      .job_slice_s = absl::GetFlag(FLAGS_job_slice_s),
      .max_job_wait_s = MaxJobWaitS(),
      .webhook_allow_private = absl::GetFlag(FLAGS_webhook_allow_private)};
}

void WarnOfPlainText(const CoordinatorOptions& options) {
  if (!options.tls.cert_file.empty() || StaysOnThisMachine(options.listen))
    return;
  Log(LogLevel::kWarning,
      "connections are not encrypted and callers are not identified; see "
      "--tls_cert_file and --auth_tokens_file",
      {{"listen", options.listen}});
}

absl::Status Purge() {
  TANGRAM_ASSIGN_OR_RETURN(const int64_t num_deleted,
                           PurgeStoredAnswers(PlaceFromFlags()));
  std::printf("%s\n", absl::StrCat("deleted ", num_deleted,
                                   num_deleted == 1 ? " answer" : " answers")
                          .c_str());
  return absl::OkStatus();
}

// The reason why the coordinator stops without being told to.
class Failure {
 public:
  void Set(const absl::Status& status) {
    const MutexLock lock(mutex_);
    status_ = status;
  }
  absl::Status Get() const {
    const MutexLock lock(mutex_);
    return status_;
  }

 private:
  mutable Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

absl::Status RunCoordinator() {
  TANGRAM_RETURN_IF_ERROR(CheckFlags());
  // Nobody else reads what tenants ask.
  umask(S_IRWXG | S_IRWXO);
  if (absl::GetFlag(FLAGS_purge_answers)) return Purge();
  TANGRAM_ASSIGN_OR_RETURN(const std::string secret, WebhookSecret());
  if (!absl::GetFlag(FLAGS_print_webhook_key).empty()) {
    return PrintWebhookKey(secret);
  }
  Failure failure;
  CoordinatorOptions options = OptionsFromFlags();
  options.webhook_secret = secret;
  options.on_failure = [&failure](const absl::Status& status) {
    Log(LogLevel::kError, "cannot go on", {{"reason", status.ToString()}});
    failure.Set(status);
    RequestTermination();
  };
  Metrics metrics;
  TANGRAM_ASSIGN_OR_RETURN(const int metrics_port,
                           metrics.Serve(absl::GetFlag(FLAGS_metrics)));
  TANGRAM_ASSIGN_OR_RETURN(const auto server,
                           CoordinatorServer::Start(options, metrics));
  WarnOfPlainText(options);
  Log(LogLevel::kInfo, "coordinator ready",
      {{"port", server->port()},
       {"health_port", server->health_port()},
       {"metrics_port", metrics_port},
       {"http_port", server->http_port()},
       {"rest_port", server->rest_port()},
       {"version", Version()}});

  const int signal = WaitForTermination();
  Log(LogLevel::kInfo, "draining", {{"signal", signal}});
  // After a failure there is nothing to wait for.
  const bool finished =
      server->Drain(failure.Get().ok() ? absl::GetFlag(FLAGS_drain_s) : 0);
  Log(LogLevel::kInfo, "coordinator stopped",
      {{"plans_ended", finished ? "no" : "yes"}});
  return failure.Get();
}

}  // namespace
}  // namespace tangram

int main(int argc, char** argv) {
  return tangram::RunDaemon(
      argc, argv,
      {.program = "tangram-coordinator",
       .usage =
           "Plans LLM training on heterogeneous clusters with the workers that "
           "dial in.\nusage: tangram-coordinator [--listen HOST:PORT] "
           "[flags]",
       .run = tangram::RunCoordinator});
}
