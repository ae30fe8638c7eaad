#ifndef TANGRAM_WEB_VIEW_REPORT_H_
#define TANGRAM_WEB_VIEW_REPORT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/sim/evaluate_plan.h"
#include "common/wire/plan_file.h"

namespace tangram {

inline constexpr char kReportFormat[] = "tangram.report/v1";

// A plan file, evaluated, for a report. Without a plan, no timeline.
struct ReportedPlan {
  std::string name;  // For people: the name of its file.
  PlanFile file;
  std::vector<TimelineEvent> timeline;
};

// What the page shows, as JSON in the format of docs/report.md. Plans are
// compared with the first of them that trains the same model alike.
std::string ReportJson(absl::Span<const ReportedPlan> plans);

// The whole page: one HTML file that needs nothing else.
std::string ReportPage(absl::Span<const ReportedPlan> plans);

}  // namespace tangram

#endif  // TANGRAM_WEB_VIEW_REPORT_H_
