#ifndef TANGRAM_WEB_VIEW_REPORT_H_
#define TANGRAM_WEB_VIEW_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/sim/evaluate_plan.h"
#include "common/wire/plan_file.h"

namespace tangram {

inline constexpr char kReportFormat[] = "tangram.report/v1";

// The command that writes the launch files of a framework that runs a plan.
struct RunCommand {
  std::string framework;
  std::string command;
  std::vector<std::string> losses;  // What the framework does otherwise.
  bool reads_data = true;           // The user's.
};

// A plan file with its evaluation, for a report. Without a plan there is no
// timeline.
struct ReportedPlan {
  std::string name;  // For people: the name of its file.
  PlanFile file;
  std::vector<TimelineEvent> timeline;
  // Absent: nobody asked the frameworks.
  std::optional<std::vector<RunCommand>> run;
};

// Returns the data of the page as JSON in the format of docs/report.md. Each
// plan is compared with the first one for the same model and training.
std::string ReportJson(absl::Span<const ReportedPlan> plans);

// Returns the whole page: one HTML file without external resources.
std::string ReportPage(absl::Span<const ReportedPlan> plans);

}  // namespace tangram

#endif  // TANGRAM_WEB_VIEW_REPORT_H_
