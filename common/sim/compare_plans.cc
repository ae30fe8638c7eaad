#include "common/sim/compare_plans.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "common/base/format.h"
#include "common/sim/describe.h"
#include "common/sim/time_shares.h"

namespace tangram {
namespace {

class Comparison {
 public:
  void Count(absl::string_view what, size_t before, size_t after) {
    if (before == after) return;
    lines_.push_back(absl::StrCat(what, ": ", before, " -> ", after));
  }
  void Name(absl::string_view what, absl::string_view before,
            absl::string_view after) {
    if (before == after) return;
    lines_.push_back(absl::StrCat(what, ": ", before, " -> ", after));
  }
  void Fraction(absl::string_view what, double before, double after) {
    if (std::abs(after - before) < kNegligible) return;
    lines_.push_back(absl::StrCat(what, ": ", FormatPercent(before), " -> ",
                                  FormatPercent(after)));
  }
  void Time(absl::string_view what, double before_s, double after_s) {
    lines_.push_back(absl::StrFormat("%s: %s -> %s (%+.1f %%)", what,
                                     Seconds(before_s), Seconds(after_s),
                                     100 * (after_s / before_s - 1)));
  }
  std::vector<std::string> Take() && { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

}  // namespace

int NumGpus(const PipelinePlan& plan) {
  int total = 0;
  for (int d = 0; d < plan.num_devices(); ++d) {
    total += static_cast<int>(plan.stages[d].gpus.size());
  }
  return total;
}

double MemoryFraction(const Evaluation& evaluation) {
  double fullest = 0;
  for (const StageEvaluation& stage : evaluation.stages) {
    fullest = std::max(fullest, stage.peak_bytes / stage.capacity_bytes);
  }
  return fullest;
}

std::vector<std::string> ComparePlans(const EvaluatedPlan& a,
                                      const EvaluatedPlan& b) {
  const Evaluation& before = a.evaluation;
  const Evaluation& after = b.evaluation;
  Comparison lines;
  lines.Time("iteration time", before.iteration_time_s, after.iteration_time_s);
  lines.Count("stages that do not fit", before.violations.size(),
              after.violations.size());
  lines.Count("GPUs used", NumGpus(a.plan), NumGpus(b.plan));
  lines.Count("stages", a.plan.stages.size(), b.plan.stages.size());
  lines.Name("schedule", ScheduleName(a.plan.schedule),
             ScheduleName(b.plan.schedule));
  lines.Count("chunks on each device", a.plan.virtual_stages,
              b.plan.virtual_stages);
  lines.Count("pipeline microbatch size", a.plan.pipeline_microbatch_size,
              b.plan.pipeline_microbatch_size);
  const std::vector<TimeShare> shares_before = TimeShares(a.plan, before);
  const std::vector<TimeShare> shares_after = TimeShares(b.plan, after);
  for (size_t i = 0; i < shares_before.size(); ++i) {
    lines.Fraction(absl::StrCat("share of ", shares_before[i].name),
                   shares_before[i].fraction, shares_after[i].fraction);
  }
  lines.Fraction("share of recomputation", RecomputationShare(a.plan, before),
                 RecomputationShare(b.plan, after));
  lines.Fraction("model FLOPs utilization", before.model_flops_utilization,
                 after.model_flops_utilization);
  lines.Fraction("memory of the fullest GPUs", MemoryFraction(before),
                 MemoryFraction(after));
  return std::move(lines).Take();
}

}  // namespace tangram
