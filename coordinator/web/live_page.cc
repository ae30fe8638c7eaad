#include "coordinator/web/live_page.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"
#include "common/http/http_status.h"
#include "common/security/channel.h"
#include "common/wire/message_json.h"
#include "coordinator/auth/call_gate.h"
#include "coordinator/rpc/job_names.h"
#include "coordinator/rpc/job_wire.h"
#include "coordinator/web/job_summaries.h"
#include "tangram/v1/job_service.pb.h"
#include "tangram/v1/status_service.pb.h"
#include "web/view/json.h"
#include "web/view/page_template.h"
#include "web/view/report.h"

namespace tangram {
namespace {

// As many as a page of ListJobs holds.
constexpr int kNewestJobs = 100;
constexpr absl::string_view kReports = "/api/reports/";

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  return MessageToJson(message, DefaultValues::kWrite);
}

HttpResponse Respond(const absl::StatusOr<std::string>& json) {
  if (json.ok()) return {.body = *json};
  v1::JobError error;
  error.set_code(static_cast<int>(json.status().code()));
  error.set_message(std::string(json.status().message()));
  return {.status = HttpStatusOf(json.status().code()),
          .body = ToJson(error).value_or("{}")};
}

// Returns an address and port as gRPC writes them: "ipv4:10.0.0.7:4711".
std::string PeerInGrpc(absl::string_view peer) {
  if (peer.empty()) return "";
  const bool has_colons =
      absl::StrContains(peer.substr(0, peer.rfind(':')), ':');
  return absl::StrCat(has_colons ? "ipv6:" : "ipv4:", peer);
}

class Page {
 public:
  explicit Page(const LivePageParts& parts)
      : parts_(parts), summaries_(std::make_shared<JobSummaries>(parts.jobs)) {}

  HttpResponse Answer(const HttpRequest& request) const {
    if (parts_.only_as_this_machine && !IsLoopback(request.host)) {
      return Respond(absl::PermissionDeniedError(absl::StrCat(
          "Host: ", request.host, "; expected localhost or 127.0.0.1")));
    }
    absl::string_view rest = request.path;
    if (rest == "/") {
      return {.content_type = "text/html; charset=utf-8",
              .body = std::string(LivePage())};
    }
    if (rest == "/api/status") {
      return Audited(request, "/tangram.v1.Status/GetStatus", "",
                     Status(request));
    }
    if (rest == "/api/jobs") {
      return Audited(request, "/tangram.v1.Jobs/ListJobs", "", Jobs(request));
    }
    if (absl::ConsumePrefix(&rest, kReports)) {
      const std::string name(rest);
      return Audited(request, "/tangram.v1.Jobs/GetJob", name,
                     Report(request, name));
    }
    return Respond(
        absl::NotFoundError(absl::StrCat(request.path, ": no such page")));
  }

 private:
  // Responds, and records who read what.
  HttpResponse Audited(const HttpRequest& request, const char* method,
                       const std::string& target,
                       const absl::StatusOr<std::string>& json) const {
    if (parts_.on_call) {
      AuditedCall call = AuditedCallOf(parts_.authenticator, method,
                                       {.authorization = request.authorization},
                                       PeerInGrpc(request.peer), json.status());
      call.target = PrintableText(target, kMaxTargetBytes);
      parts_.on_call(call);
    }
    return Respond(json);
  }

  // Returns the caller if it may call `method`.
  absl::StatusOr<Caller> CallerFor(absl::string_view method,
                                   const HttpRequest& request) const {
    const Credentials credentials{.authorization = request.authorization};
    TANGRAM_RETURN_IF_ERROR(
        CheckMayCall(parts_.authenticator, method, credentials));
    return parts_.authenticator.Identify(credentials);
  }

  absl::StatusOr<std::string> Status(const HttpRequest& request) const {
    TANGRAM_RETURN_IF_ERROR(
        CallerFor("/tangram.v1.Status/GetStatus", request).status());
    return ToJson(StatusOf(parts_.status));
  }

  absl::StatusOr<std::string> Jobs(const HttpRequest& request) const {
    TANGRAM_ASSIGN_OR_RETURN(const Caller caller,
                             CallerFor("/tangram.v1.Jobs/ListJobs", request));
    JobFilter filter{.limit = kNewestJobs};
    if (!caller.roles.Has(Role::kOperate)) filter.tenant = caller.tenant;
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<Job> jobs,
                             parts_.jobs.List(filter));
    std::string list;
    for (const Job& job : jobs) {
      TANGRAM_ASSIGN_OR_RETURN(const std::string progress, Progress(job));
      TANGRAM_ASSIGN_OR_RETURN(const std::string fields,
                               ToJson(ToProto(job, caller)));
      // A job that was just deleted has none.
      const Json about = summaries_->Of(job).value_or(Json::object());
      absl::StrAppend(&list, list.empty() ? "" : ",", "{\"job\":", fields,
                      ",\"progress\":", progress,
                      ",\"about\":", ScriptSafeText(about), "}");
    }
    return absl::StrCat("{\"jobs\":[", list, "]}");
  }

  // Returns the latest progress of a running job as JSON, otherwise null.
  absl::StatusOr<std::string> Progress(const Job& job) const {
    if (job.state != JobState::kRunning) return "null";
    TANGRAM_ASSIGN_OR_RETURN(const JobPulse pulse, parts_.jobs.Pulse(job.id));
    if (pulse.last_event == 0) return "null";
    TANGRAM_ASSIGN_OR_RETURN(
        const std::vector<JobEvent> events,
        parts_.jobs.EventsAfter(job.id, pulse.last_event - 1));
    v1::PlanProgress progress;
    if (events.empty() || !progress.ParseFromString(events.back().progress)) {
      return "null";
    }
    return ToJson(progress);
  }

  absl::StatusOr<std::string> Report(const HttpRequest& request,
                                     const std::string& name) const {
    TANGRAM_ASSIGN_OR_RETURN(const Caller caller,
                             CallerFor("/tangram.v1.Jobs/GetJob", request));
    TANGRAM_ASSIGN_OR_RETURN(const std::string id, JobIdOf(name, caller));
    const absl::StatusOr<Job> job = parts_.jobs.Get(id);
    if (!job.ok()) return WithJobName(job.status(), id, caller);
    const v1::Job message = ToProto(*job, caller);
    if (!message.has_result()) {
      return absl::FailedPreconditionError(
          absl::StrCat("job ", name, ": no plan; expected one that succeeded"));
    }
    ReportedPlan reported{.name = message.job_id()};
    TANGRAM_ASSIGN_OR_RETURN(reported.file, FromProto(message.result()));
    PlanFile& file = reported.file;
    if (file.result.plan) {
      TANGRAM_ASSIGN_OR_RETURN(
          file.result.evaluation,
          EvaluatePlan(file.model, file.cluster, file.training,
                       *file.result.plan, &reported.timeline));
    }
    return ReportJson({&reported, 1});
  }

  const LivePageParts parts_;
  const std::shared_ptr<JobSummaries> summaries_;  // All copies share them.
};

}  // namespace

HttpHandler CreateLivePage(const LivePageParts& parts) {
  return [page = Page(parts)](const HttpRequest& request) {
    return page.Answer(request);
  };
}

absl::Status CheckLivePageAddress(const std::string& address,
                                  const TlsFiles& tls,
                                  const AuthenticatorOptions& auth) {
  if (address.empty()) return absl::OkStatus();
  if (!tls.ca_file.empty() && auth.IsOpen()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--http: ", address,
        ": browsers show the page no certificate; beside --tls_ca_file "
        "expected --auth_tokens_file or --jwt_keys_file too"));
  }
  const bool is_secured = !tls.cert_file.empty() || !auth.IsOpen();
  if (!is_secured || IsLoopback(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--http: ", address,
      ": the page travels in plain text; beside --tls_cert_file or "
      "--auth_tokens_file expected an address of this machine alone"));
}

}  // namespace tangram
