#include "coordinator/planners/tangram/order_finalists.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// The most dives of a search.
constexpr int kMostDives = 3;
// A limit that fell to this share is worth new bounds.
constexpr double kWorthNarrowing = 0.99;

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

SliceTimes::EndStage EndOf(const SliceStage& stage, int island, int first_gpu) {
  const StageParallelism& parallelism = stage.plan.parallelism;
  return {.island = island,
          .first_gpu = first_gpu,
          .num_gpus = parallelism.num_gpus(),
          .replicas = parallelism.dp_degree * parallelism.cp_degree};
}

SliceTimes::EndStage FirstStage(const SlicePlan& plan, int island) {
  return EndOf(plan.stages.front(), island, 0);
}

SliceTimes::EndStage LastStage(const SlicePlan& plan, int island) {
  int first_gpu = 0;
  for (size_t stage = 0; stage + 1 < plan.stages.size(); ++stage) {
    first_gpu += plan.stages[stage].plan.parallelism.num_gpus();
  }
  return EndOf(plan.stages.back(), island, first_gpu);
}

}  // namespace

absl::StatusOr<std::optional<OrderedFinalist>> OrderFinalists::Next(
    double limit_s) {
  if (order_ != nullptr && limit_s > limit_s_ && is_exact()) BeginAgain();
  limit_s_ = limit_s;
  if (order_ == nullptr) TANGRAM_RETURN_IF_ERROR(Build(limit_s));
  if (!is_exact_) return std::nullopt;
  TANGRAM_ASSIGN_OR_RETURN(const std::optional<PlayedPipeline> dived,
                           Dive(limit_s));
  if (dived.has_value()) return FinalistOf(*dived, /*is_fastest=*/false);
  TANGRAM_ASSIGN_OR_RETURN(
      const std::optional<PlayedPipeline> next,
      order_->Next(limit_s, [this] { return observer_.ShouldStop(); }));
  if (!next.has_value()) return std::nullopt;
  return FinalistOf(*next, /*is_fastest=*/true);
}

// Dives once, and again with tighter bounds if the limit has fallen since.
absl::StatusOr<std::optional<PlayedPipeline>> OrderFinalists::Dive(
    double limit_s) {
  if (began_again_ || num_dives_ == kMostDives) return std::nullopt;
  if (num_dives_ > 0) {
    if (limit_s > dived_s_ * kWorthNarrowing) return std::nullopt;
    order_->Narrow(limit_s);
  }
  ++num_dives_;
  dived_s_ = limit_s;
  return order_->Dive(limit_s, [this] { return observer_.ShouldStop(); });
}

OrderedFinalist OrderFinalists::FinalistOf(const PlayedPipeline& pipeline,
                                           bool is_fastest) const {
  Finalist finalist{.microbatch = pipeline.problem};
  for (const int index : pipeline.slices) {
    const PlayedSlice& slice = slices_[pipeline.problem][index];
    const Source& source = sources_[pipeline.problem][slice.plan];
    finalist.slices.push_back({.pair = source.pair,
                               .atoms = slice.atoms,
                               .island = slice.island,
                               .plan = source.plan});
  }
  finalist.closed_form_s = search_.ClosedFormOf(finalist);
  return {.finalist = std::move(finalist), .is_fastest = is_fastest};
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
  AddFunctions(microbatch, problem);
  return problem;
}

const SlicePlan& OrderFinalists::PlanOf(int microbatch,
                                        const PlayedSlice& slice) const {
  const Source& source = sources_[microbatch][slice.plan];
  return search_.store().PlansOf(source.pair)[source.plan];
}

// Adds the transfers and exchanges between slices.
void OrderFinalists::AddFunctions(int microbatch, PlayedProblem& problem) {
  problem.set_transfers = [this, microbatch](const PlayedSlice& from,
                                             const PlayedSlice& to,
                                             StageTimes& last) {
    const SliceTimes::EndStage sender =
        LastStage(PlanOf(microbatch, from), from.island);
    times_.SetTransfers(
        {.microbatch = microbatch,
         .atom = to.atoms.begin,
         .from_island = from.island,
         .from_gpu = sender.first_gpu,
         .from_count = sender.num_gpus,
         .to_island = to.island,
         .to_count = FirstStage(PlanOf(microbatch, to), to.island).num_gpus},
        last);
  };
  problem.least_transfers = [this, microbatch](int atom, int from, int to) {
    StageTimes least{.send_forward_s = kInfinity, .send_backward_s = kInfinity};
    for (const SliceTimes::EndStage& last : ends_[microbatch][from].last) {
      for (const SliceTimes::EndStage& first : ends_[microbatch][to].first) {
        StageTimes times;
        times_.SetTransfers({.microbatch = microbatch,
                             .atom = atom,
                             .from_island = from,
                             .from_gpu = last.first_gpu,
                             .from_count = last.num_gpus,
                             .to_island = to,
                             .to_count = first.num_gpus},
                            times);
        least.send_forward_s =
            std::min(least.send_forward_s, times.send_forward_s);
        least.send_backward_s =
            std::min(least.send_backward_s, times.send_backward_s);
      }
    }
    return std::pair(least.send_forward_s, least.send_backward_s);
  };
  problem.exchange_s = [this, microbatch](const PlayedSlice& first,
                                          const PlayedSlice& last) {
    return times_.ExchangeSeconds(
        FirstStage(PlanOf(microbatch, first), first.island),
        LastStage(PlanOf(microbatch, last), last.island));
  };
  problem.least_exchange_s = [this, microbatch](const PlayedSlice& slice) {
    const SliceTimes::EndStage last =
        LastStage(PlanOf(microbatch, slice), slice.island);
    std::vector<Ends>& ends = ends_[microbatch];
    const auto [it, is_new] =
        ends[slice.island].exchange_s.try_emplace(last, kInfinity);
    if (!is_new) return it->second;
    for (int island = 0; island < static_cast<int>(ends.size()); ++island) {
      if (island == slice.island) continue;
      for (const SliceTimes::EndStage& first : ends[island].first) {
        it->second = std::min(it->second, times_.ExchangeSeconds(first, last));
      }
    }
    return it->second;
  };
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
    ends.first.insert(FirstStage(source, island));
    ends.last.insert(LastStage(source, island));
    num_stages_ += stages.size();
    problem.plans.push_back(
        {.stages = stages,
         .max_trailing_stages = candidates[p].max_trailing_stages});
    sources_.back().push_back({pair, p});
    if (IsTooLarge()) return;
  }
}

}  // namespace tangram
