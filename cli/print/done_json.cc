#include "cli/print/done_json.h"

#include "cli/print/answer_json.h"
#include "cli/print/job_text.h"

namespace tangram {

void PrintDoneAsJson(const DoneAnswer& answer, Console& console) {
  nlohmann::ordered_json json = {{"format_version", "tangram.done/v1"},
                                 {"done", answer.done},
                                 {"what", answer.what},
                                 {"count", answer.count}};
  if (!answer.names.empty()) json["names"] = answer.names;
  if (!answer.notes.empty()) json["notes"] = answer.notes;
  PrintJson(json, console);
}

void PrintJobsAsJson(absl::Span<const v1::Job> jobs, Console& console) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const v1::Job& job : jobs) {
    list.push_back({{"job", job.job_id()},
                    {"state", JobStateText(job)},
                    {"priority", job.priority()},
                    {"attempts", job.attempts()},
                    {"error", job.error().message()},
                    {"waits_for", job.waits_for()}});
  }
  PrintJson({{"format_version", "tangram.jobs/v1"}, {"jobs", list}}, console);
}

}  // namespace tangram
