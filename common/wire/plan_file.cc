#include "common/wire/plan_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/wire/cluster_wire.h"
#include "common/wire/constraints_wire.h"
#include "common/wire/evaluation_wire.h"
#include "common/wire/field_checks.h"
#include "common/wire/model_wire.h"
#include "common/wire/pipeline_plan_wire.h"
#include "common/wire/replicated_plan_wire.h"
#include "common/wire/slice_plan_wire.h"
#include "common/wire/training_wire.h"
#include "tangram/v1/plan.pb.h"

namespace tangram {
namespace {

v1::UnusedIsland ToProto(const UnusedIsland& unused) {
  v1::UnusedIsland message;
  message.set_island(unused.island);
  message.set_reason(unused.reason);
  if (unused.best_with_it_s.has_value()) {
    message.set_best_with_it_s(*unused.best_with_it_s);
  }
  return message;
}

absl::StatusOr<UnusedIsland> FromProto(const v1::UnusedIsland& message,
                                       size_t num_islands) {
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckIndex("island", message.island(), num_islands),
                  CheckFinite("best_with_it_s", message.best_with_it_s())}));
  UnusedIsland unused{.island = message.island(), .reason = message.reason()};
  if (message.has_best_with_it_s()) {
    unused.best_with_it_s = message.best_with_it_s();
  }
  return unused;
}

v1::RunnerUp ToProto(const RunnerUp& runner_up) {
  v1::RunnerUp message;
  message.mutable_islands()->Assign(runner_up.islands.begin(),
                                    runner_up.islands.end());
  message.set_num_stages(runner_up.num_stages);
  message.set_pipeline_microbatch_size(runner_up.pipeline_microbatch_size);
  message.set_iteration_time_s(runner_up.iteration_time_s);
  return message;
}

absl::StatusOr<RunnerUp> FromProto(const v1::RunnerUp& message,
                                   size_t num_islands) {
  for (int i = 0; i < message.islands_size(); ++i) {
    TANGRAM_RETURN_IF_ERROR(InField(
        "islands", i, CheckIndex("island", message.islands(i), num_islands)));
  }
  TANGRAM_RETURN_IF_ERROR(
      CheckFinite("iteration_time_s", message.iteration_time_s()));
  return RunnerUp{
      .islands = {message.islands().begin(), message.islands().end()},
      .num_stages = message.num_stages(),
      .pipeline_microbatch_size = message.pipeline_microbatch_size(),
      .iteration_time_s = message.iteration_time_s()};
}

v1::PlanAlternative ToProto(const PlanAlternative& alternative) {
  v1::PlanAlternative message;
  message.mutable_parallelizers()->Assign(alternative.parallelizers.begin(),
                                          alternative.parallelizers.end());
  message.set_runtime(alternative.runtime);
  if (alternative.iteration_time_s.has_value()) {
    message.set_iteration_time_s(*alternative.iteration_time_s);
  }
  message.set_reason(alternative.reason);
  return message;
}

absl::StatusOr<PlanAlternative> FromProto(const v1::PlanAlternative& message) {
  TANGRAM_RETURN_IF_ERROR(
      CheckFinite("iteration_time_s", message.iteration_time_s()));
  PlanAlternative alternative{.parallelizers = {message.parallelizers().begin(),
                                                message.parallelizers().end()},
                              .runtime = message.runtime(),
                              .reason = message.reason()};
  if (message.has_iteration_time_s()) {
    alternative.iteration_time_s = message.iteration_time_s();
  }
  return alternative;
}

v1::PredictionBand ToProto(const PredictionBand& band) {
  v1::PredictionBand message;
  message.set_time_low(band.time.low);
  message.set_time_high(band.time.high);
  message.set_memory_low(band.memory.low);
  message.set_memory_high(band.memory.high);
  message.set_tie(band.tie);
  return message;
}

absl::StatusOr<PredictionBand> FromProto(const v1::PredictionBand& message) {
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckFinite("time_low", message.time_low()),
                  CheckFinite("time_high", message.time_high()),
                  CheckFinite("memory_low", message.memory_low()),
                  CheckFinite("memory_high", message.memory_high()),
                  CheckFinite("tie", message.tie())}));
  return PredictionBand{
      .time = {.low = message.time_low(), .high = message.time_high()},
      .memory = {.low = message.memory_low(), .high = message.memory_high()},
      .tie = message.tie()};
}

v1::Provenance ToProto(const Provenance& provenance) {
  v1::Provenance message;
  message.set_tool_version(provenance.tool_version);
  message.set_parallelizer(provenance.parallelizer);
  for (const PhaseTime& time : provenance.phases) {
    v1::PhaseTime& phase = *message.add_phases();
    phase.set_phase(time.phase);
    phase.set_wall_s(time.wall_s);
  }
  message.set_wall_s(provenance.wall_s);
  message.set_num_workers(provenance.num_workers);
  message.set_cache_hits(provenance.cache_hits);
  message.set_coordinator(provenance.coordinator);
  return message;
}

Provenance FromProto(const v1::Provenance& message) {
  Provenance provenance{.tool_version = message.tool_version(),
                        .parallelizer = message.parallelizer(),
                        .wall_s = message.wall_s(),
                        .num_workers = message.num_workers(),
                        .cache_hits = message.cache_hits(),
                        .coordinator = message.coordinator()};
  for (const v1::PhaseTime& phase : message.phases()) {
    provenance.phases.push_back(
        {.phase = phase.phase(), .wall_s = phase.wall_s()});
  }
  return provenance;
}

void EncodeResult(const PlanFile& file, v1::PlanFile& message) {
  const PlanResult& result = file.result;
  for (const Island& island : result.islands) {
    *message.add_islands() = ToProto(island, file.cluster);
  }
  if (result.plan.has_value()) {
    *message.mutable_plan() = ToProto(*result.plan, file.cluster, file.model);
    *message.mutable_evaluation() = ToProto(result.evaluation);
  }
  if (result.replicated_plan.has_value()) {
    *message.mutable_replicated_plan() =
        ToProto(*result.replicated_plan, file.cluster, file.model);
    *message.mutable_replicated_evaluation() =
        ToProto(result.replicated_evaluation);
  }
  if (result.infeasible.has_value()) {
    *message.mutable_infeasible() = ToProto(*result.infeasible);
  }
  for (const UnusedIsland& unused : result.unused_islands) {
    *message.add_unused_islands() = ToProto(unused);
  }
  for (const RunnerUp& runner_up : result.runners_up) {
    *message.add_runners_up() = ToProto(runner_up);
  }
  message.set_lower_bound_s(result.lower_bound_s);
  message.set_closed_form_s(result.closed_form_s);
  if (result.certificate.has_value()) {
    message.mutable_certificate()->set_asked_s(result.certificate->asked_s);
    message.mutable_certificate()->set_any_plan_s(
        result.certificate->any_plan_s);
  }
  if (result.band.has_value()) {
    *message.mutable_band() = ToProto(*result.band);
  }
  for (const PlanAlternative& alternative : result.alternatives) {
    *message.add_alternatives() = ToProto(alternative);
  }
  *message.mutable_stats() = ToProto(result.stats);
  message.mutable_notes()->Assign(result.notes.begin(), result.notes.end());
}

// Decodes the plan and its figures, or the reason why there is none. Exactly
// one of the three kinds of answers must be present.
absl::Status DecodeAnswer(const v1::PlanFile& message, const Cluster& cluster,
                          PlanResult& result) {
  if (int{message.has_plan()} + int{message.has_replicated_plan()} +
          int{message.has_infeasible()} !=
      1) {
    return FieldError("plan", message.has_plan() ? "present" : "missing",
                      "either plan or infeasible, or replicated_plan alone");
  }
  if (message.has_infeasible()) {
    TANGRAM_ASSIGN_OR_RETURN(
        result.infeasible,
        InField("infeasible", tangram::FromProto(message.infeasible())));
    return absl::OkStatus();
  }
  if (message.has_replicated_plan()) {
    TANGRAM_ASSIGN_OR_RETURN(
        result.replicated_plan,
        InField("replicated_plan",
                tangram::FromProto(message.replicated_plan(), cluster)));
    TANGRAM_ASSIGN_OR_RETURN(
        result.replicated_evaluation,
        InField("replicated_evaluation",
                tangram::FromProto(message.replicated_evaluation())));
    return absl::OkStatus();
  }
  TANGRAM_ASSIGN_OR_RETURN(
      result.plan,
      InField("plan", tangram::FromProto(message.plan(), cluster)));
  TANGRAM_ASSIGN_OR_RETURN(
      result.evaluation,
      InField("evaluation", tangram::FromProto(message.evaluation())));
  return absl::OkStatus();
}

absl::StatusOr<PlanResult> DecodeResult(const v1::PlanFile& message,
                                        const Cluster& cluster) {
  PlanResult result{.lower_bound_s = message.lower_bound_s(),
                    .closed_form_s = message.closed_form_s(),
                    .stats = tangram::FromProto(message.stats()),
                    .notes = {message.notes().begin(), message.notes().end()}};
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckFinite("lower_bound_s", result.lower_bound_s),
                  CheckFinite("closed_form_s", result.closed_form_s)}));
  if (message.has_certificate()) {
    const v1::Certificate& certificate = message.certificate();
    result.certificate = {.asked_s = certificate.asked_s(),
                          .any_plan_s = certificate.any_plan_s()};
    TANGRAM_RETURN_IF_ERROR(InField(
        "certificate",
        FirstError({CheckFinite("asked_s", certificate.asked_s()),
                    CheckFinite("any_plan_s", certificate.any_plan_s())})));
  }
  if (message.has_band()) {
    TANGRAM_ASSIGN_OR_RETURN(result.band,
                             InField("band", FromProto(message.band())));
  }
  for (int i = 0; i < message.islands_size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        Island island,
        InField("islands", i, tangram::FromProto(message.islands(i), cluster)));
    result.islands.push_back(std::move(island));
  }
  TANGRAM_RETURN_IF_ERROR(DecodeAnswer(message, cluster, result));
  for (int i = 0; i < message.unused_islands_size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        UnusedIsland unused,
        InField("unused_islands", i,
                FromProto(message.unused_islands(i), result.islands.size())));
    result.unused_islands.push_back(std::move(unused));
  }
  for (int i = 0; i < message.runners_up_size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        RunnerUp runner_up,
        InField("runners_up", i,
                FromProto(message.runners_up(i), result.islands.size())));
    result.runners_up.push_back(std::move(runner_up));
  }
  for (int i = 0; i < message.alternatives_size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        PlanAlternative alternative,
        InField("alternatives", i, FromProto(message.alternatives(i))));
    result.alternatives.push_back(std::move(alternative));
  }
  return result;
}

}  // namespace

v1::PlanFile ToProto(const PlanFile& file) {
  v1::PlanFile message;
  message.set_format_version(kPlanFileFormat);
  *message.mutable_cluster() = ToProto(file.cluster);
  *message.mutable_model() = ToProto(file.model);
  *message.mutable_training() = ToProto(file.training);
  if (!file.constraints.none()) {
    *message.mutable_constraints() = ToProto(file.constraints);
  }
  message.set_planner(file.planner);
  message.mutable_planner_options()->insert(file.planner_options.begin(),
                                            file.planner_options.end());
  EncodeResult(file, message);
  message.mutable_explanation()->Assign(file.explanation.begin(),
                                        file.explanation.end());
  *message.mutable_provenance() = ToProto(file.provenance);
  return message;
}

absl::StatusOr<PlanFile> FromProto(const v1::PlanFile& message) {
  if (message.format_version() != kPlanFileFormat) {
    return FieldError("format_version",
                      absl::StrCat("\"", message.format_version(), "\""),
                      absl::StrCat("\"", kPlanFileFormat, "\""));
  }
  PlanFile file{.planner = message.planner(),
                .planner_options = {message.planner_options().begin(),
                                    message.planner_options().end()},
                .explanation = {message.explanation().begin(),
                                message.explanation().end()},
                .provenance = FromProto(message.provenance())};
  TANGRAM_ASSIGN_OR_RETURN(file.cluster,
                           InField("cluster", FromProto(message.cluster())));
  TANGRAM_ASSIGN_OR_RETURN(file.model,
                           InField("model", FromProto(message.model())));
  TANGRAM_ASSIGN_OR_RETURN(file.training,
                           InField("training", FromProto(message.training())));
  TANGRAM_ASSIGN_OR_RETURN(
      file.constraints,
      InField("constraints", FromProto(message.constraints())));
  TANGRAM_ASSIGN_OR_RETURN(file.result, DecodeResult(message, file.cluster));
  return file;
}

const char* PhaseName(PlanPhase phase) {
  switch (phase) {
    case PlanPhase::kIslands:
      return "islands";
    case PlanPhase::kProfiling:
      return "profiling";
    case PlanPhase::kEnumeration:
      return "enumeration";
    case PlanPhase::kSlicePlans:
      return "slice_plans";
    case PlanPhase::kComposition:
      return "composition";
    case PlanPhase::kEvaluation:
      return "evaluation";
  }
  return "unknown";
}

}  // namespace tangram
