#include "coordinator/planners/replicas/group_plans.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/base/status_macros.h"
#include "common/cost/kernels.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {
namespace {

// Units of shares are at most this part of the batch.
constexpr int kUnitsOfBatch = 4;

}  // namespace

GroupPlans::GroupPlans(const PlanRequest& request,
                       absl::Span<const Island> islands, PlanOnePipeline plan,
                       int most_plans)
    : request_(request),
      islands_(islands),
      plan_(std::move(plan)),
      most_plans_(most_plans) {
  NodeGroup all;
  for (const Island& island : islands_) {
    all.push_back(static_cast<int>(island.nodes.size()));
  }
  peak_flops_ = PeakFlops(all);
}

absl::StatusOr<std::optional<PipelinePace>> GroupPlans::PaceOf(
    const NodeGroup& group) {
  const auto known = paces_.find(group);
  if (known != paces_.end()) return known->second;
  const int samples = SharedSamples(group);
  TANGRAM_ASSIGN_OR_RETURN(const GroupPlan* const plan, Plan(group, samples));
  std::optional<PipelinePace> pace;
  if (plan != nullptr) pace = LineThrough(*plan, samples);
  return paces_[group] = pace;
}

absl::StatusOr<const GroupPlan*> GroupPlans::Plan(const NodeGroup& group,
                                                  int samples) {
  auto known = plans_.find({group, samples});
  if (known == plans_.end()) {
    if (num_plans() >= most_plans_) return nullptr;
    TANGRAM_ASSIGN_OR_RETURN(std::optional<GroupPlan> plan,
                             PlanBy(plan_, group, samples));
    known = plans_.emplace(std::pair(group, samples), std::move(plan)).first;
  }
  return known->second.has_value() ? &*known->second : nullptr;
}

absl::StatusOr<std::optional<GroupPlan>> GroupPlans::PlanBy(
    const PlanOnePipeline& plan, const NodeGroup& group, int samples) const {
  // A demanded microbatch need not divide the group's share.
  const int size = request_.pipeline_microbatch_size;
  if (size > 0 && samples % size != 0) return std::nullopt;
  TANGRAM_ASSIGN_OR_RETURN(PlanResult result, plan(RequestFor(group, samples)));
  if (!result.plan.has_value()) return std::nullopt;
  return GroupPlan{.plan = *std::move(result.plan),
                   .iteration_time_s = result.evaluation.iteration_time_s};
}

std::vector<CandidatePlan> GroupPlans::Candidates() const {
  std::vector<CandidatePlan> candidates;
  for (const auto& [group_and_samples, plan] : plans_) {
    if (!plan.has_value()) continue;
    CandidatePlan candidate{group_and_samples.first, plan->plan};
    if (absl::c_linear_search(candidates, candidate)) continue;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

int GroupPlans::NumGpus(const NodeGroup& group) const {
  int num_gpus = 0;
  for (size_t i = 0; i < islands_.size(); ++i) {
    num_gpus += group[i] * islands_[i].spec.gpus_per_node;
  }
  return num_gpus;
}

// All nodes that are not in the group are excluded by name, also those that no
// island has.
PlanRequest GroupPlans::RequestFor(const NodeGroup& group, int samples) const {
  PlanRequest request = request_;
  request.training.global_batch_size = samples;
  std::vector<bool> in_group(request_.cluster->nodes.size());
  for (size_t i = 0; i < islands_.size(); ++i) {
    for (int n = 0; n < group[i]; ++n) in_group[islands_[i].nodes[n]] = true;
  }
  std::vector<std::string>& excluded = request.constraints.exclude_nodes;
  for (size_t n = 0; n < in_group.size(); ++n) {
    const std::string& name = request_.cluster->nodes[n].name;
    if (!in_group[n] &&
        !absl::c_linear_search(request_.constraints.exclude_nodes, name)) {
      excluded.push_back(name);
    }
  }
  return request;
}

double GroupPlans::PeakFlops(const NodeGroup& group) const {
  double peak_flops = 0;
  for (size_t i = 0; i < islands_.size(); ++i) {
    const IslandSpec& spec = islands_[i].spec;
    peak_flops +=
        static_cast<double>(group[i]) * spec.gpus_per_node *
        spec.device.efficiency.gemm_max_fraction *
        MatmulPeakFlops(spec.device.peak_flops, request_.training.precision);
  }
  return peak_flops;
}

int GroupPlans::UnitOf(const NodeGroup& group) const {
  const int most = request_.training.global_batch_size / kUnitsOfBatch;
  int unit = NumGpus(group);
  while (unit > 1 && unit > most) unit /= 2;
  return unit;
}

int GroupPlans::SharedSamples(const NodeGroup& group) const {
  const int batch = request_.training.global_batch_size;
  const double wanted = batch * PeakFlops(group) / peak_flops_;
  int samples = UnitOf(group);
  // To the nearest on a scale of ratios.
  while (samples <= batch / 2 && samples * std::sqrt(2.0) < wanted) {
    samples *= 2;
  }
  return samples;
}

PipelinePace GroupPlans::LineThrough(const GroupPlan& plan, int samples) const {
  const double samples_s = plan.iteration_time_s;
  PipelinePace pace{.microbatch_s = samples_s / samples};
  const int size = plan.plan.pipeline_microbatch_size;
  const int fewer = samples / size / 2 * size;
  if (fewer == 0) return pace;
  TrainingOptions training = request_.training;
  training.global_batch_size = fewer;
  const absl::StatusOr<Evaluation> half =
      EvaluatePlan(request_.model, request_.cluster, training, plan.plan);
  // Fewer samples may need a plan of their own.
  if (!half.ok()) return pace;
  const double sample_s =
      (samples_s - half->iteration_time_s) / (samples - fewer);
  const double fill_s = samples_s - samples * sample_s;
  if (sample_s <= 0 || fill_s <= 0) return pace;
  return {.fill_s = fill_s, .microbatch_s = sample_s};
}

}  // namespace tangram
