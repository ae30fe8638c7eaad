#include "coordinator/service/recorded_plan.h"

#include "common/obs/log.h"
#include "coordinator/service/run_plan.h"
#include "tangram/v1/planner_service.pb.h"

namespace tangram {
namespace {

v1::PlanProgress::Phase ToProto(PlanPhase phase) {
  switch (phase) {
    case PlanPhase::kIslands:
      return v1::PlanProgress::ISLANDS;
    case PlanPhase::kProfiling:
      return v1::PlanProgress::PROFILING;
    case PlanPhase::kEnumeration:
      return v1::PlanProgress::ENUMERATION;
    case PlanPhase::kSlicePlans:
      return v1::PlanProgress::SLICE_PLANS;
    case PlanPhase::kComposition:
      return v1::PlanProgress::COMPOSITION;
    case PlanPhase::kEvaluation:
      return v1::PlanProgress::EVALUATION;
  }
  return v1::PlanProgress::QUEUED;
}

void LogStart(const PlanOrder& order, const std::string& client) {
  Log(LogLevel::kInfo, "plan started",
      {{"client", client},
       {"model", order.request.model.name},
       {"layers", order.request.model.num_layers()},
       {"gpus", order.request.cluster.num_gpus()},
       {"parallelizer", order.parallelizer}});
}

void LogEnd(const std::string& client, const absl::StatusOr<PlanFile>& file,
            double wall_s) {
  if (!file.ok()) {
    Log(LogLevel::kInfo, "plan failed",
        {{"client", client},
         {"reason", file.status().ToString()},
         {"wall_s", wall_s}});
    return;
  }
  Log(LogLevel::kInfo, "plan finished",
      {{"client", client},
       {"feasible", file->result.plan.has_value() ? "yes" : "no"},
       {"iteration_time_s", file->result.evaluation.iteration_time_s},
       {"queries", file->result.stats.queries},
       {"cache_hits", file->provenance.cache_hits},
       {"wall_s", wall_s}});
}

}  // namespace

absl::StatusOr<PlanFile> RunRecordedPlan(const PlanningParts& parts,
                                         const PlanOrder& order,
                                         const PlanningClient& client) {
  PlanningMonitor monitor(parts.now_s, client.report, client.should_stop);
  LogStart(order, client.name);
  absl::StatusOr<PlanFile> file =
      RunPlan(parts.pool, order, monitor, client.should_stop);
  if (absl::IsCancelled(file.status())) file = client.why_stopped();
  parts.metrics.OnPlan(file.status(),
                       file.ok() ? file->result.stats : PlanningStats{},
                       monitor.Finish(), monitor.wall_s());
  LogEnd(client.name, file, monitor.wall_s());
  return file;
}

v1::PlanProgress ToProto(const PlanningProgress& progress, int num_workers) {
  v1::PlanProgress message;
  message.set_phase(ToProto(progress.phase));
  message.set_pairs_done(progress.pairs_done);
  message.set_pairs_total(progress.pairs_total);
  if (progress.best_iteration_time_s.has_value()) {
    message.set_best_iteration_time_s(*progress.best_iteration_time_s);
  }
  message.set_num_workers(num_workers);
  return message;
}

}  // namespace tangram
