#include "common/wire/allocation_answer.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/base/format.h"
#include "common/sim/compare_plans.h"
#include "tangram/v1/frontier_service.pb.h"

namespace tangram {
namespace {

// Adds the work of a pipeline to that of each group.
void AddWork(const Cluster& cluster, const PipelinePlan& plan,
             const Evaluation& evaluation, absl::Span<const std::string> groups,
             std::vector<double>& busy_gpu_s) {
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const StageEvaluation& stage = evaluation.stages[s];
    // A device of several chunks synchronises each of them.
    const double busy_s = stage.busy_s + stage.sync_s + stage.optimizer_s;
    for (const GpuId& gpu : plan.stages[s].gpus) {
      const std::string& group = cluster.groups[cluster.nodes[gpu.node].group];
      const auto at = absl::c_find(groups, group);
      if (at != groups.end()) busy_gpu_s[at - groups.begin()] += busy_s;
    }
  }
}

}  // namespace

AllocationAnswer AllocationAnswerOf(const absl::StatusOr<PlanFile>& answer,
                                    absl::Span<const std::string> groups) {
  AllocationAnswer kept;
  if (!answer.ok() || !answer->result.has_plan()) {
    kept.state = AllocationAnswer::State::kNoPlan;
    kept.why_none = WhyNone(answer);
    return kept;
  }
  const PlanResult& result = answer->result;
  kept.state = AllocationAnswer::State::kPlanned;
  kept.iteration_time_s = result.iteration_time_s();
  kept.busy_gpu_s.assign(groups.size(), 0);
  if (result.band.has_value()) kept.band_high = result.band->time.high;
  const auto add = [&](const PipelinePlan& plan, const Evaluation& evaluation) {
    kept.memory_fraction =
        std::max(kept.memory_fraction, MemoryFraction(evaluation));
    kept.num_stages += plan.num_stages();
    kept.num_gpus += NumGpus(plan);
    AddWork(answer->cluster, plan, evaluation, groups, kept.busy_gpu_s);
  };
  if (result.plan.has_value()) {
    add(*result.plan, result.evaluation);
    return kept;
  }
  const auto& pipelines = result.replicated_plan->pipelines;
  for (size_t r = 0; r < pipelines.size(); ++r) {
    add(pipelines[r].plan, result.replicated_evaluation.pipelines[r]);
  }
  return kept;
}

std::string WhyNone(const absl::StatusOr<PlanFile>& answer) {
  if (!answer.ok()) return std::string(answer.status().message());
  const std::optional<Infeasible>& why = answer->result.infeasible;
  if (!why.has_value()) return "no plan";
  if (why->bytes_short <= 0) return why->reason;
  return absl::StrCat(why->reason, " (", FormatBytes(why->bytes_short),
                      " short on each GPU)");
}

v1::AllocationAnswer ToProto(const AllocationAnswer& answer) {
  v1::AllocationAnswer message;
  message.set_state(answer.state == AllocationAnswer::State::kPlanned
                        ? v1::AllocationAnswer::PLANNED
                    : answer.state == AllocationAnswer::State::kNoPlan
                        ? v1::AllocationAnswer::NO_PLAN
                        : v1::AllocationAnswer::UNKNOWN);
  message.set_iteration_time_s(answer.iteration_time_s);
  message.set_memory_fraction(answer.memory_fraction);
  message.set_gpus_used(answer.num_gpus);
  message.set_stages(answer.num_stages);
  message.set_reason(answer.why_none);
  message.set_plan_id(answer.plan_id);
  message.set_from_cache(answer.from_cache);
  for (const double busy_s : answer.busy_gpu_s) message.add_busy_gpu_s(busy_s);
  message.set_band_high(answer.band_high);
  return message;
}

absl::StatusOr<AllocationAnswer> FromProto(const v1::AllocationAnswer& message,
                                           size_t num_groups) {
  AllocationAnswer answer{
      .iteration_time_s = message.iteration_time_s(),
      .memory_fraction = message.memory_fraction(),
      .num_gpus = message.gpus_used(),
      .num_stages = message.stages(),
      .busy_gpu_s = {message.busy_gpu_s().begin(), message.busy_gpu_s().end()},
      .band_high = message.band_high(),
      .why_none = message.reason(),
      .plan_id = message.plan_id(),
      .from_cache = message.from_cache()};
  if (message.state() == v1::AllocationAnswer::NO_PLAN) {
    answer.state = AllocationAnswer::State::kNoPlan;
    answer.busy_gpu_s.clear();
    return answer;
  }
  if (message.state() != v1::AllocationAnswer::PLANNED) {
    return absl::InvalidArgumentError(
        absl::StrCat("state: ", static_cast<int>(message.state()),
                     "; expected PLANNED or NO_PLAN"));
  }
  if (!(answer.iteration_time_s > 0) ||
      answer.busy_gpu_s.size() != num_groups) {
    return absl::InvalidArgumentError(
        absl::StrCat("an answer of ", answer.iteration_time_s, " s with ",
                     answer.busy_gpu_s.size(),
                     " values of busy_gpu_s; expected a positive "
                     "time and one for each of the ",
                     num_groups, " groups"));
  }
  answer.state = AllocationAnswer::State::kPlanned;
  return answer;
}

}  // namespace tangram
