#include "cli/print/job_text.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/base/format.h"

namespace tangram {

std::string JobStateText(const v1::Job& job) {
  switch (job.state()) {
    case v1::Job::QUEUED:
      return "queued";
    case v1::Job::RUNNING:
      return job.cancel_requested() ? "being cancelled" : "running";
    case v1::Job::SUCCEEDED:
      return "succeeded";
    case v1::Job::FAILED:
      return "failed";
    case v1::Job::CANCELLED:
      return "cancelled";
    default:
      return "unknown";
  }
}

std::string JobTimeText(const v1::Job& job) {
  return absl::FormatTime(
      "%Y-%m-%d %H:%M:%S",
      absl::FromUnixMicros(static_cast<int64_t>(1e6 * job.submitted_s())),
      absl::LocalTimeZone());
}

std::string JobTookText(const v1::Job& job) {
  if (job.started_s() == 0 || job.finished_s() == 0) return "";
  return FormatSeconds(job.finished_s() - job.started_s());
}

std::string JobTroubleText(const v1::Job& job) {
  if (job.waits_for().empty()) return job.error().message();
  return absl::StrCat("waits: ", job.waits_for());
}

std::string JobLabelsText(const v1::Job& job) {
  const std::map<std::string, std::string> in_order(job.labels().begin(),
                                                    job.labels().end());
  return absl::StrJoin(in_order, " ", absl::PairFormatter("="));
}

}  // namespace tangram
