#include "web/view/report.h"

#include <utility>

#include "common/sim/compare_plans.h"
#include "web/view/cluster_view.h"
#include "web/view/json.h"
#include "web/view/page_template.h"
#include "web/view/plan_view.h"

namespace tangram {
namespace {

bool AreAlike(const PlanFile& a, const PlanFile& b) {
  return a.result.plan && b.result.plan && a.model.layers == b.model.layers &&
         a.training == b.training;
}

Json BandView(const PredictionBand& band) {
  return {{"time_low", band.time.low},
          {"time_high", band.time.high},
          {"memory_low", band.memory.low},
          {"memory_high", band.memory.high},
          {"tie", band.tie}};
}

Json AnswerView(const ReportedPlan& reported) {
  const PlanFile& file = reported.file;
  const PlanResult& result = file.result;
  const PipelinePlan& plan = *result.plan;
  Json view = {{"schedule", ScheduleName(plan.schedule)},
               {"virtual_stages", plan.virtual_stages},
               {"pipeline_microbatch_size", plan.pipeline_microbatch_size},
               {"num_microbatches", file.training.global_batch_size /
                                        plan.pipeline_microbatch_size},
               {"stages", StagesView(file)},
               {"prediction", PredictionView(plan, result.evaluation)},
               {"lower_bound_s", result.lower_bound_s},
               {"closed_form_s", result.closed_form_s},
               {"any_plan_bound_s",
                result.certificate.value_or(Certificate()).any_plan_s},
               {"timeline", TimelineView(reported.timeline,
                                         result.evaluation.iteration_time_s)}};
  if (result.band) view["band"] = BandView(*result.band);
  return view;
}

Json RunView(const std::vector<RunCommand>& commands) {
  Json view = Json::array();
  for (const RunCommand& run : commands) {
    view.push_back({{"framework", run.framework},
                    {"command", run.command},
                    {"losses", run.losses},
                    {"reads_data", run.reads_data}});
  }
  return view;
}

Json PlanView(const ReportedPlan& reported) {
  const PlanFile& file = reported.file;
  Json view = {{"name", reported.name},
               {"model", ModelView(file.model)},
               {"training", TrainingView(file.training)},
               {"cluster", ClusterView(file.cluster)},
               {"islands", IslandsView(file.result)},
               {"planning", PlanningView(file)},
               {"alternatives", AlternativesView(file.result)},
               {"explanation", file.explanation},
               {"notes", file.result.notes}};
  if (file.result.plan) view["plan"] = AnswerView(reported);
  if (reported.run) view["run"] = RunView(*reported.run);
  if (file.result.infeasible) {
    view["infeasible"] = {{"reason", file.result.infeasible->reason},
                          {"bytes_short", file.result.infeasible->bytes_short}};
  }
  return view;
}

// Compares the plan with the first plan of the same job; adds nothing to that
// one.
void AddComparison(absl::Span<const ReportedPlan> plans, size_t index,
                   Json& view) {
  const PlanFile& file = plans[index].file;
  for (size_t i = 0; i < index; ++i) {
    const PlanFile& first = plans[i].file;
    if (!AreAlike(first, file)) continue;
    view["against"] = {
        {"plan", i},
        {"differences",
         ComparePlans({*first.result.plan, first.result.evaluation},
                      {*file.result.plan, file.result.evaluation})}};
    return;
  }
}

}  // namespace

std::string ReportJson(absl::Span<const ReportedPlan> plans) {
  Json views = Json::array();
  for (size_t i = 0; i < plans.size(); ++i) {
    views.push_back(PlanView(plans[i]));
    AddComparison(plans, i, views.back());
  }
  const Json report = {{"format_version", kReportFormat},
                       {"plans", std::move(views)}};
  return ScriptSafeText(report);
}

std::string ReportPage(absl::Span<const ReportedPlan> plans) {
  return FillPageTemplate(ReportJson(plans));
}

}  // namespace tangram
