#include "coordinator/planners/tangram/order_finalists.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// The most dives of a search.
constexpr int kMostDives = 2;
// The most tails of a set of islands from which a dive by quick bounds, or by
// tight ones, goes on. With 16 rather than 32, five of 54 searches of four
// islands found slower pipelines, by 1.5 to 10 %.
constexpr int kQuickDiveWidth = 8;
constexpr int kDiveWidth = 32;
// The same for a dive after the limits ended the search.
constexpr int kLastDiveWidth = 128;

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

absl::StatusOr<std::optional<OrderedFinalist>> OrderFinalists::Next(
    double limit_s) {
  if (order_ != nullptr && limit_s > limit_s_ && is_exact()) BeginAgain();
  limit_s_ = limit_s;
  if (order_ == nullptr) {
    TANGRAM_RETURN_IF_ERROR(Build(limit_s));
    if (began_again_ && is_exact_) order_->Narrow(limit_s);
  }
  if (!is_exact_) return std::nullopt;
  TANGRAM_ASSIGN_OR_RETURN(const std::optional<PlayedPipeline> dived,
                           Dive(limit_s));
  if (dived.has_value()) return FinalistOf(*dived, /*is_fastest=*/false);
  TANGRAM_ASSIGN_OR_RETURN(
      const std::optional<PlayedPipeline> next,
      order_->Next(limit_s, [this] { return observer_.ShouldStop(); }));
  if (next.has_value()) return FinalistOf(*next, /*is_fastest=*/true);
  if (order_->is_exact() || began_again_ || has_dived_last_) {
    return std::nullopt;
  }
  has_dived_last_ = true;
  order_->Narrow(limit_s);
  TANGRAM_ASSIGN_OR_RETURN(const std::optional<PlayedPipeline> last,
                           order_->Dive(limit_s, kLastDiveWidth, [this] {
                             return observer_.ShouldStop();
                           }));
  if (!last.has_value()) return std::nullopt;
  return FinalistOf(*last, /*is_fastest=*/false);
}

// Dives by quick bounds, then by tight ones.
absl::StatusOr<std::optional<PlayedPipeline>> OrderFinalists::Dive(
    double limit_s) {
  if (began_again_) return std::nullopt;
  while (num_dives_ < kMostDives) {
    if (num_dives_ > 0) order_->Narrow(limit_s);
    ++num_dives_;
    TANGRAM_ASSIGN_OR_RETURN(
        const std::optional<PlayedPipeline> dived,
        order_->Dive(limit_s, num_dives_ == 1 ? kQuickDiveWidth : kDiveWidth,
                     [this] { return observer_.ShouldStop(); }));
    if (dived.has_value()) return dived;
  }
  return std::nullopt;
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
  order_ = std::make_unique<PlayedOrder>(std::move(problems), limit_s,
                                         PlayedOrder::Scope::kFastest);
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
      .max_stages = space_.rules.max_stages,
      .first_alike = space_.first_alike};
  sources_.emplace_back();
  ends_.emplace_back(microbatch, space_.num_islands(), times_);
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

// Adds the transfers and exchanges between slices.
void OrderFinalists::AddFunctions(int microbatch, PlayedProblem& problem) {
  const auto ends_of = [this, microbatch](const PlayedSlice& slice) {
    return sources_[microbatch][slice.plan].ends;
  };
  problem.set_transfers = [this, microbatch, ends_of](const PlayedSlice& from,
                                                      const PlayedSlice& to,
                                                      StageTimes& last) {
    std::tie(last.send_forward_s, last.send_backward_s) =
        ends_[microbatch].TransfersOf(to.atoms.begin, from.island,
                                      ends_of(from).last, to.island,
                                      ends_of(to).first);
  };
  problem.least_transfers = [this, microbatch](int atom, int from, int to) {
    return ends_[microbatch].LeastTransfers(atom, from, to);
  };
  problem.exchange_s = [this, microbatch, ends_of](const PlayedSlice& first,
                                                   const PlayedSlice& last) {
    return ends_[microbatch].ExchangeSeconds(first.island, ends_of(first).first,
                                             last.island, ends_of(last).last);
  };
  problem.least_exchange_s = [this, microbatch, ends_of](
                                 const PlayedSlice& last, int first_island) {
    return ends_[microbatch].LeastExchangeSeconds(first_island, last.island,
                                                  ends_of(last).last);
  };
}

// Adds the plans of a pair on an island that may be in a pipeline faster than
// `limit_s`, at all their positions.
void OrderFinalists::AddPlans(const PairId& pair, int island, double limit_s,
                              PlayedProblem& problem) {
  const auto& candidates = search_.CandidatesOn(pair, island).candidates;
  if (candidates.empty()) return;
  const TimesOfPlans& times = times_.TimesOf(pair, island);
  for (int p = 0; p < static_cast<int>(candidates.size()); ++p) {
    const std::vector<StageTimes>& stages = times[p];
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
    num_stages_ += stages.size();
    const SliceEnds::Ends ends =
        ends_.back().Add(search_.store().PlansOf(pair)[p], island);
    problem.plans.push_back(
        {.stages = stages,
         .max_trailing_stages = candidates[p].max_trailing_stages,
         .first_end = ends.first,
         .last_end = ends.last});
    sources_.back().push_back({.pair = pair, .plan = p, .ends = ends});
    if (IsTooLarge()) return;
  }
}

}  // namespace tangram
