#include "coordinator/planning/recorded_plan.h"

#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/obs/log.h"
#include "coordinator/planning/run_plan.h"
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

void LogStart(const PlanOrder& order, const PlanningClient& client,
              const PlanCost& cost) {
  Log(LogLevel::kInfo, "plan started",
      {{client.kind, client.name},
       {"model", order.request.model.name},
       {"layers", order.request.model.num_layers()},
       {"gpus", order.request.cluster->num_gpus()},
       {"parallelizer", order.parallelizer},
       {"most_pairs", cost.num_pairs},
       {"most_mb", cost.bytes >> 20}});
}

// Estimates the cost of an order and refuses one beyond the limits, before
// anything large is allocated.
absl::StatusOr<PlanFile> RunWithin(const PlanningParts& parts, PlanOrder order,
                                   const PlanningClient& client,
                                   PlanningMonitor& monitor, QueryLog& log,
                                   const WaitHooks& hooks) {
  TANGRAM_ASSIGN_OR_RETURN(const PlanCost cost,
                           EstimateCost(order.request, order.planner.search));
  LogStart(order, client, cost);
  TANGRAM_RETURN_IF_ERROR(CheckCost(cost, parts.cost_limits));
  return RunPlan(parts.pool, std::move(order), monitor, client.should_stop,
                 parts.limits, &log, client.share, hooks);
}

void LogEnd(const PlanningClient& client, const absl::StatusOr<PlanFile>& file,
            double wall_s) {
  if (!file.ok()) {
    Log(LogLevel::kInfo, "plan failed",
        {{client.kind, client.name},
         {"reason", file.status().ToString()},
         {"wall_s", wall_s}});
    return;
  }
  Log(LogLevel::kInfo, "plan finished",
      {{client.kind, client.name},
       {"feasible", file->result.has_plan() ? "yes" : "no"},
       {"iteration_time_s", file->result.iteration_time_s()},
       {"queries", file->result.stats.queries},
       {"cache_hits", file->provenance.cache_hits},
       {"wall_s", wall_s}});
}

// Passes queries to the tracer and, at debug level, logs a line for each.
class QueryLogger : public QueryLog {
 public:
  explicit QueryLogger(const PlanningClient& client) : client_(client) {}

  void OnQuery(const QueryRecord& record) override {
    if (client_.tracer != nullptr) client_.tracer->OnQuery(record);
    if (!IsLogged(LogLevel::kDebug)) return;
    Log(LogLevel::kDebug, "query ended",
        {{client_.kind, client_.name},
         {"query", record.id},
         {"adapter", record.adapter.name},
         {"kind", KindOf(record.query)},
         {"code", absl::StatusCodeToString(record.code)},
         {"cached", record.is_cached ? "yes" : "no"},
         {"attempts", static_cast<int64_t>(record.attempts.size())},
         {"took_s", record.ended_s - record.asked_s}});
  }

 private:
  const PlanningClient& client_;
};

using TraceAttributes = std::vector<std::pair<std::string, SpanValue>>;

TraceAttributes AttributesOf(const PlanOrder& order) {
  return {{"model", order.request.model.name},
          {"gpus", int64_t{order.request.cluster->num_gpus()}},
          {"parallelizer", order.parallelizer}};
}

void FinishTrace(const absl::StatusOr<PlanFile>& file,
                 TraceAttributes attributes, PlanTracer& tracer) {
  if (!file.ok()) return tracer.Finish(file.status().ToString(), attributes);
  const PlanningStats& stats = file->result.stats;
  attributes.insert(attributes.end(),
                    {{"pairs", stats.pairs},
                     {"pruned_redundant", stats.pruned_redundant},
                     {"pruned_imbalanced", stats.pruned_imbalanced},
                     {"pruned_incompatible", stats.pruned_incompatible},
                     {"pruned_infeasible", stats.pruned_infeasible},
                     {"queries", stats.queries},
                     {"feasible", file->result.has_plan()}});
  tracer.Finish("", std::move(attributes));
}

}  // namespace

absl::StatusOr<PlanFile> RunRecordedPlan(const PlanningParts& parts,
                                         PlanOrder order,
                                         const PlanningClient& client) {
  const PlanTurns::Turn turn =
      parts.turns.Begin(client.share, client.should_stop);
  // Every phase asks whether to stop, which is a good place to pause.
  PlanningClient pausing = client;
  pausing.should_stop = [&] {
    parts.turns.Yield(*turn, client.should_stop);
    return client.should_stop();
  };
  PlanningMonitor monitor(parts.now_s, client.report, pausing.should_stop,
                          client.tracer);
  QueryLogger logger(client);
  TraceAttributes attributes = AttributesOf(order);
  absl::StatusOr<PlanFile> file = RunWithin(
      parts, std::move(order), pausing, monitor, logger,
      {.on_wait = [&] { parts.turns.Rest(*turn); },
       .on_resume = [&] { parts.turns.Resume(*turn, client.should_stop); }});
  if (absl::IsCancelled(file.status())) file = client.why_stopped();
  parts.metrics.OnPlan(file.status(),
                       file.ok() ? file->result.stats : PlanningStats{},
                       monitor.Finish(), monitor.wall_s());
  LogEnd(client, file, monitor.wall_s());
  if (client.tracer != nullptr) {
    FinishTrace(file, std::move(attributes), *client.tracer);
  }
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
