#include "cli/files/plan_files.h"

#include <functional>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/in_field.h"
#include "common/base/status_macros.h"
#include "common/sim/chrome_trace.h"
#include "common/sim/explain_plan.h"
#include "common/sim/explain_replicated_plan.h"
#include "common/sim/play_pipeline.h"
#include "common/wire/answered_request.h"
#include "formats/config/text_file.h"

namespace tangram {

absl::StatusOr<PlanFile> ReadPlanFile(const std::string& path) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string text, ReadConfigFile(path));
  return PlanFileFromJson(text, path);
}

namespace {

// Puts the file and the key of its plan in front of the path of an error. A
// stopped evaluation is no error of a field.
absl::Status InPlanOf(absl::string_view source_name, absl::string_view key,
                      const absl::Status& error) {
  const absl::Status in_file =
      absl::IsCancelled(error) ? error : InField(key, error);
  return absl::Status(error.code(),
                      absl::StrCat(source_name, ": ", in_file.message()));
}

absl::Status EvaluateReplicated(const std::string& source_name, PlanFile& file,
                                PlanTimelines* timelines,
                                const std::function<bool()>& should_stop) {
  const ReplicatedPlan& plan = *file.result.replicated_plan;
  absl::StatusOr<ReplicatedEvaluation> evaluation = EvaluateReplicatedPlan(
      file.model, file.cluster, file.training, plan, timelines, should_stop);
  if (!evaluation.ok()) {
    return InPlanOf(source_name, "replicated_plan", evaluation.status());
  }
  file.result.replicated_evaluation = *std::move(evaluation);
  file.explanation =
      ExplainReplicatedPlan(file.model, file.cluster, file.training, plan,
                            file.result.replicated_evaluation);
  SetBand(file);
  return absl::OkStatus();
}

std::string TraceOf(const PlanFile& file, const PlanTimelines& timelines) {
  const PlanResult& result = file.result;
  return result.plan
             ? ToChromeTrace(file.cluster, *result.plan, timelines[0])
             : ToChromeTrace(file.cluster, *result.replicated_plan, timelines);
}

}  // namespace

absl::Status EvaluatePlanFile(const std::string& source_name, PlanFile& file,
                              PlanTimelines* timelines,
                              const std::function<bool()>& should_stop) {
  if (file.result.replicated_plan) {
    return EvaluateReplicated(source_name, file, timelines, should_stop);
  }
  const PipelinePlan& plan = *file.result.plan;
  std::vector<TimelineEvent> timeline;
  absl::StatusOr<Evaluation> evaluation =
      EvaluatePlan(file.model, file.cluster, file.training, plan,
                   timelines == nullptr ? nullptr : &timeline,
                   /*state=*/{}, should_stop);
  if (!evaluation.ok()) {
    return InPlanOf(source_name, "plan", evaluation.status());
  }
  file.result.evaluation = *std::move(evaluation);
  if (timelines != nullptr) {
    timelines->clear();
    if (!timeline.empty()) timelines->push_back(std::move(timeline));
  }
  file.explanation =
      ExplainPlan(file.model, file.cluster, plan, file.result.evaluation);
  SetBand(file);
  return absl::OkStatus();
}

absl::StatusOr<PlanFile> ReadAndEvaluate(const std::string& path,
                                         PlanTimelines* timelines) {
  TANGRAM_ASSIGN_OR_RETURN(PlanFile file, ReadPlanFile(path));
  if (file.result.plan || file.result.replicated_plan) {
    TANGRAM_RETURN_IF_ERROR(EvaluatePlanFile(path, file, timelines));
  }
  return file;
}

absl::Status CheckOutputs(const PlanOutputs& outputs) {
  if (!outputs.plan_file.empty() && !IsStandardOutput(outputs.plan_file)) {
    TANGRAM_RETURN_IF_ERROR(CheckWritable(outputs.plan_file));
  }
  if (!outputs.timeline_file.empty()) {
    TANGRAM_RETURN_IF_ERROR(CheckWritable(outputs.timeline_file));
  }
  return absl::OkStatus();
}

absl::Status WriteOutputs(const PlanOutputs& outputs, const PlanFile& file,
                          const PlanTimelines& timelines, std::ostream& out) {
  const bool has_plan = file.result.plan || file.result.replicated_plan;
  const bool writes_timeline = !outputs.timeline_file.empty() && has_plan;
  if (writes_timeline && timelines.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--timeline: more than ", kMaxTimelineEvents,
                     " events; expected fewer microbatches, or no timeline"));
  }
  OutputFiles files;
  std::string to_standard_output;
  if (!outputs.plan_file.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(std::string json, PlanFileToJson(file));
    if (IsStandardOutput(outputs.plan_file)) {
      to_standard_output = std::move(json);
    } else {
      files.Add(outputs.plan_file, std::move(json));
    }
  }
  if (writes_timeline) {
    files.Add(outputs.timeline_file, TraceOf(file, timelines));
  }
  TANGRAM_RETURN_IF_ERROR(files.Write());
  out << to_standard_output;
  return absl::OkStatus();
}

bool Fits(const PlanFile& file) {
  return file.result.replicated_plan
             ? file.result.replicated_evaluation.fits()
             : file.result.evaluation.violations.empty();
}

}  // namespace tangram
