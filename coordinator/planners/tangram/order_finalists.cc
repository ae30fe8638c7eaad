#include "coordinator/planners/tangram/order_finalists.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// Returns max_s (Σ_{i<s} t_i + B·t_s), a lower bound in seconds on every
// pipeline with these stages.
double BusiestSeconds(const std::vector<StageTimes>& stages,
                      int num_microbatches) {
  double latency_s = 0;
  double busiest_s = 0;
  for (const StageTimes& stage : stages) {
    const double seconds = stage.forward_s + stage.backward_s;
    busiest_s = std::max(busiest_s, latency_s + num_microbatches * seconds);
    latency_s += seconds;
  }
  return busiest_s;
}

}  // namespace

absl::StatusOr<std::optional<Finalist>> OrderFinalists::Next(double limit_s) {
  if (order_ != nullptr && limit_s > limit_s_ && is_exact()) BeginAgain();
  limit_s_ = limit_s;
  if (order_ == nullptr) TANGRAM_RETURN_IF_ERROR(Build(limit_s));
  if (!is_exact_) return std::nullopt;
  TANGRAM_ASSIGN_OR_RETURN(
      const std::optional<PlayedPipeline> next,
      order_->Next(limit_s, [this] { return observer_.ShouldStop(); }));
  if (!next.has_value()) return std::nullopt;
  Finalist finalist{.microbatch = next->problem};
  for (const int index : next->slices) {
    const PlayedSlice& slice = slices_[next->problem][index];
    const Source& source = sources_[next->problem][slice.plan];
    finalist.slices.push_back({.pair = source.pair,
                               .atoms = slice.atoms,
                               .island = slice.island,
                               .plan = source.plan});
  }
  finalist.closed_form_s = search_.ClosedFormOf(finalist);
  return finalist;
}

void OrderFinalists::BeginAgain() {
  began_again_ = true;
  is_exact_ = true;
  order_.reset();
  sources_.clear();
  ends_.clear();
  slices_.clear();
  num_slices_ = 0;
  num_stages_ = 0;
}

absl::Status OrderFinalists::Build(double limit_s) {
  std::vector<PlayedProblem> problems;
  for (int m = 0; m < static_cast<int>(space_.microbatch_sizes.size()); ++m) {
    TANGRAM_ASSIGN_OR_RETURN(problems.emplace_back(), ProblemOf(m, limit_s));
    slices_.push_back(problems.back().slices);
    is_exact_ = !IsTooLarge();
    if (!is_exact_) problems.clear();
    if (!is_exact_) break;
  }
  order_ = std::make_unique<PlayedOrder>(std::move(problems), limit_s);
  for (const uint32_t islands : settled_) order_->Settle(islands);
  return absl::OkStatus();
}

absl::StatusOr<PlayedProblem> OrderFinalists::ProblemOf(int microbatch,
                                                        double limit_s) {
  PlayedProblem problem{
      .num_atoms = space_.num_atoms(),
      .num_islands = space_.num_islands(),
      .num_microbatches = space_.bounds[microbatch].num_microbatches(),
      .min_stages = space_.rules.min_stages,
      .max_stages = space_.rules.max_stages};
  sources_.emplace_back();
  ends_.emplace_back(space_.num_islands());
  for (int s = 0; s < space_.slices.num_classes(); ++s) {
    if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
    for (int island = 0; island < space_.num_islands(); ++island) {
      const PairId pair{microbatch, s, space_.class_of_island[island]};
      if (search_.Matters(pair)) AddPlans(pair, island, limit_s, problem);
      if (IsTooLarge()) return problem;
    }
  }
  problem.set_transfers = [this, microbatch](const PlayedSlice& from,
                                             const PlayedSlice& to,
                                             StageTimes& last) {
    const auto plan_of = [&](const PlayedSlice& slice) -> const SlicePlan& {
      const Source& source = sources_[microbatch][slice.plan];
      return search_.store().PlansOf(source.pair)[source.plan];
    };
    const SlicePlan& plan = plan_of(from);
    SliceTimes::Boundary boundary{
        .microbatch = microbatch,
        .atom = to.atoms.begin,
        .from_island = from.island,
        .from_count = plan.stages.back().plan.parallelism.num_gpus(),
        .to_island = to.island,
        .to_count = plan_of(to).stages.front().plan.parallelism.num_gpus()};
    for (size_t stage = 0; stage + 1 < plan.stages.size(); ++stage) {
      boundary.from_gpu += plan.stages[stage].plan.parallelism.num_gpus();
    }
    times_.SetTransfers(boundary, last);
  };
  problem.least_transfers = [this, microbatch](int atom, int from, int to) {
    StageTimes least{.send_forward_s = kInfinity, .send_backward_s = kInfinity};
    for (const End& last : ends_[microbatch][from].last) {
      for (const int first_count : ends_[microbatch][to].first_counts) {
        StageTimes times;
        times_.SetTransfers({.microbatch = microbatch,
                             .atom = atom,
                             .from_island = from,
                             .from_gpu = last.first_gpu,
                             .from_count = last.num_gpus,
                             .to_island = to,
                             .to_count = first_count},
                            times);
        least.send_forward_s =
            std::min(least.send_forward_s, times.send_forward_s);
        least.send_backward_s =
            std::min(least.send_backward_s, times.send_backward_s);
      }
    }
    return std::pair(least.send_forward_s, least.send_backward_s);
  };
  return problem;
}

// Adds the plans of a pair on an island that may be in a pipeline faster than
// `limit_s`, at all their positions.
void OrderFinalists::AddPlans(const PairId& pair, int island, double limit_s,
                              PlayedProblem& problem) {
  const auto& candidates = search_.CandidatesOn(pair, island).candidates;
  Ends& ends = ends_.back()[island];
  for (int p = 0; p < static_cast<int>(candidates.size()); ++p) {
    const std::vector<StageTimes>& stages = times_.StagesOf(pair, island, p);
    if (BusiestSeconds(stages, problem.num_microbatches) >= limit_s) continue;
    const auto plan = static_cast<int>(problem.plans.size());
    bool is_placed = false;
    for (const AtomRange& atoms : space_.slices.MembersOf(pair.slice_class)) {
      if (!space_.Allows(atoms, island)) continue;
      problem.slices.push_back(
          {.atoms = atoms, .island = island, .plan = plan});
      is_placed = true;
      ++num_slices_;
    }
    if (!is_placed) continue;
    const SlicePlan& source = search_.store().PlansOf(pair)[p];
    End last{.num_gpus = source.stages.back().plan.parallelism.num_gpus()};
    for (size_t stage = 0; stage + 1 < source.stages.size(); ++stage) {
      last.first_gpu += source.stages[stage].plan.parallelism.num_gpus();
    }
    ends.last.insert(last);
    ends.first_counts.insert(source.stages.front().plan.parallelism.num_gpus());
    num_stages_ += stages.size();
    problem.plans.push_back(
        {.stages = stages,
         .max_trailing_stages = candidates[p].max_trailing_stages});
    sources_.back().push_back({pair, p});
    if (IsTooLarge()) return;
  }
}

}  // namespace tangram
