#include "coordinator/planning/plan_job.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"
#include "common/obs/clocks.h"
#include "tangram/v1/planner_service.pb.h"

namespace tangram {
namespace {

// Progress of jobs is stored, so it is sparse: one report at the start of a
// phase, and one after at least this many seconds.
constexpr double kKeptIntervalS = 1;

// Selects the reports to store.
class ProgressFilter {
 public:
  bool IsWorthKeeping(const PlanningProgress& progress, double now_s) {
    if (phase_ == progress.phase && now_s - kept_s_ < kKeptIntervalS) {
      return false;
    }
    phase_ = progress.phase;
    kept_s_ = now_s;
    return true;
  }

 private:
  std::optional<PlanPhase> phase_;
  double kept_s_ = 0;
};

// The message, which may be large, ends here.
absl::StatusOr<PlanOrder> OrderOf(const Job& job) {
  v1::PlanRequest request;
  if (!request.ParseFromString(job.request)) {
    return absl::DataLossError("the request in the database is damaged");
  }
  return FromProto(request);
}

}  // namespace

JobWork PlanJobs(const PlanningParts& parts, TraceStore& traces,
                 double max_wait_s) {
  return [parts, &traces, max_wait_s](
             const Job& job, const std::function<void(std::string)>& report,
             const std::function<bool()>& should_stop)
             -> absl::StatusOr<std::string> {
    TANGRAM_ASSIGN_OR_RETURN(PlanOrder order, OrderOf(job));
    ProgressFilter filter;
    const double now_s = static_cast<double>(UnixNanos()) * 1e-9;
    const std::string name = absl::StrCat("job ", job.id);
    const std::shared_ptr<PlanTracer> tracer = traces.Begin(
        job.id, job.submitted_s,
        {.name = name, .now_s = parts.now_s, .began_unix_ns = UnixNanos()});
    TANGRAM_ASSIGN_OR_RETURN(
        const PlanFile file,
        RunRecordedPlan(
            parts, std::move(order),
            {.kind = "job",
             .name = job.id,
             .report =
                 [&](const PlanningProgress& progress) {
                   if (!filter.IsWorthKeeping(progress, parts.now_s())) return;
                   report(ToProto(progress, parts.pool.NumWorkers())
                              .SerializeAsString());
                 },
             .should_stop = should_stop,
             .why_stopped = [] { return absl::CancelledError("stopped"); },
             .tracer = tracer.get(),
             .share = {.key = job.share_key,
                       .priority = job.priority,
                       .may_wait =
                           MayWaitForWorkers(job, now_s, max_wait_s)}}));
    return ToProto(file).SerializeAsString();
  };
}

// Whoever sees the job reads it, and workers wrote parts of it.
std::string WaitingProgress(const absl::Status& why) {
  constexpr size_t kMaxReasonBytes = 500;
  v1::PlanProgress progress;
  progress.set_waits_for(PrintableText(why.message(), kMaxReasonBytes));
  return progress.SerializeAsString();
}

}  // namespace tangram
