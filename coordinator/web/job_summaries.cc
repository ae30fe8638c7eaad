#include "coordinator/web/job_summaries.h"

#include <cstdint>
#include <utility>

#include "common/base/status_macros.h"
#include "tangram/v1/plan.pb.h"
#include "tangram/v1/planner_service.pb.h"

namespace tangram {
namespace {

// Ten pages of jobs.
constexpr size_t kMaxSummaries = 1000;

int64_t NumGpus(const v1::Cluster& cluster) {
  int64_t gpus = 0;
  for (const v1::NodeRun& run : cluster.nodes()) {
    gpus += int64_t{run.num_gpus()} * run.names_size();
  }
  return gpus;
}

void AddAnswer(const v1::PlanFile& file, Json& summary) {
  summary["fits"] = file.has_plan() || file.has_replicated_plan();
  if (file.has_replicated_plan()) {
    summary["iteration_time_s"] =
        file.replicated_evaluation().iteration_time_s();
  } else if (file.has_plan()) {
    summary["iteration_time_s"] = file.evaluation().iteration_time_s();
  } else {
    summary["reason"] = file.infeasible().reason();
  }
}

// A message that cannot be read adds nothing: the list still shows the job.
Json Summarise(const Job& job) {
  Json summary = Json::object();
  v1::PlanRequest request;
  if (request.ParseFromString(job.request)) {
    summary["model"] = request.model().name();
    summary["cluster"] = request.cluster().name();
    summary["num_gpus"] = NumGpus(request.cluster());
    summary["global_batch_size"] = request.training().global_batch_size();
  }
  v1::PlanFile file;
  if (job.state == JobState::kSucceeded && file.ParseFromString(job.result)) {
    AddAnswer(file, summary);
  }
  return summary;
}

}  // namespace

absl::StatusOr<Json> JobSummaries::Of(const Job& job) {
  {
    const MutexLock lock(mutex_);
    const auto found = summaries_.find(job.id);
    if (found != summaries_.end() &&
        found->second.submitted_s == job.submitted_s &&
        found->second.finished_s == job.finished_s) {
      return found->second.json;
    }
  }
  TANGRAM_ASSIGN_OR_RETURN(const Job whole, jobs_.Get(job.id));
  Summary summary{.submitted_s = whole.submitted_s,
                  .finished_s = whole.finished_s,
                  .json = Summarise(whole)};
  const MutexLock lock(mutex_);
  if (summaries_.size() >= kMaxSummaries) summaries_.clear();
  const auto [kept, is_new] =
      summaries_.insert_or_assign(job.id, std::move(summary));
  return kept->second.json;
}

}  // namespace tangram
