#include "coordinator/planners/tangram/tangram_planner.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/tangram/choose_islands.h"
#include "coordinator/planners/tangram/pair_search.h"
#include "coordinator/planners/tangram/pipeline_rules.h"
#include "coordinator/planners/tangram/place_plan.h"
#include "coordinator/planners/tangram/search_space.h"

namespace tangram {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Enough to see what else was close.
constexpr size_t kMaxRunnersUp = 5;

// Pipelines that take this much longer need no exact figure.
constexpr double kMuchLonger = 1.1;

// Bytes that the model lacks even if every island held what it can: the least
// any microbatch size needs, on the island that needs least for each atom.
double ClusterBytesShort(const SearchSpace& space) {
  double least = kInfinity;
  for (const WorkBounds& bounds : space.bounds) {
    double needed = 0;
    for (int a = 0; a < space.num_atoms(); ++a) {
      needed += bounds.LeastBytes({a, a + 1});
    }
    least = std::min(least, needed - bounds.UsableBytes());
  }
  return least;
}

// "3 more A100-80": of the GPUs with most memory, as many as `bytes` need.
std::string MoreGpus(const SearchSpace& space, double bytes) {
  const DeviceSpec* largest = nullptr;
  double most_bytes = 0;
  for (const Island& island : space.islands) {
    const DeviceSpec& device = island.spec.device;
    const double usable_bytes =
        device.memory_bytes - device.efficiency.reserved_bytes;
    if (usable_bytes <= most_bytes) continue;
    largest = &device;
    most_bytes = usable_bytes;
  }
  if (largest == nullptr) return "GPUs with more memory";
  return absl::StrFormat("%.0f more %s", std::ceil(bytes / most_bytes),
                         largest->type);
}

Infeasible WhyNothingFits(const SearchSpace& space, const PairStore& store) {
  int num_gpus = 0;
  for (const Island& island : space.islands) {
    if (space.rules.IsUsable(island.id)) num_gpus += island.spec.num_gpus();
  }
  const double bytes_short = ClusterBytesShort(space);
  if (bytes_short > 0) {
    return {.reason = absl::StrFormat(
                "the model does not fit in the memory of the cluster's %d "
                "GPUs, however it is sharded: %.1f GB short in all, which "
                "takes at least %s",
                num_gpus, bytes_short / 1e9, MoreGpus(space, bytes_short)),
            .bytes_short = bytes_short / num_gpus};
  }
  Infeasible closest{.reason = "no slice plans cover the model"};
  double least = kInfinity;
  for (int m = 0; m < static_cast<int>(space.microbatch_sizes.size()); ++m) {
    for (int s = 0; s < space.slices.num_classes(); ++s) {
      for (int i = 0; i < static_cast<int>(space.island_classes.size()); ++i) {
        const auto& infeasible = store.InfeasibleOf({m, s, i});
        if (!infeasible.has_value() || infeasible->bytes_short >= least) {
          continue;
        }
        least = infeasible->bytes_short;
        const AtomRange atoms = space.slices.MembersOf(s).front();
        closest.reason = absl::StrCat(
            "no slice plans cover the model; closest: ", atoms.size(), " of ",
            space.num_atoms(), " atoms on ",
            space.islands[space.island_classes[i].islands.front()].name, ": ",
            infeasible->reason);
        closest.bytes_short = least;
      }
    }
  }
  return closest;
}

uint32_t IslandsOf(const Finalist& finalist) {
  uint32_t islands = 0;
  for (const ChosenSlice& slice : finalist.slices) {
    islands |= uint32_t{1} << slice.island;
  }
  return islands;
}

// "1.2 % longer" or "0.3 % shorter" than `reference_s`.
std::string Compared(double seconds, double reference_s) {
  const double percent = 100 * (seconds / reference_s - 1);
  return absl::StrFormat("%.4g s, %.1f %% %s", seconds, std::abs(percent),
                         percent < 0 ? "shorter" : "longer");
}

// Why `chosen`, the answer, does without `island`.
absl::StatusOr<UnusedIsland> ExplainUnused(
    const Island& island, const Finalist& chosen,
    const ScoredPipeline& chosen_score, absl::Span<const ScoredPipeline> scored,
    double min_gain, PairSearch& search) {
  UnusedIsland unused{.island = island.id};
  for (const ScoredPipeline& pipeline : scored) {
    const bool uses_it = pipeline.islands >> island.id & 1;
    if (!uses_it || pipeline.iteration_time_s == kInfinity) continue;
    unused.best_with_it_s = std::min(unused.best_with_it_s.value_or(kInfinity),
                                     pipeline.iteration_time_s);
  }
  if (unused.best_with_it_s.has_value()) {
    unused.reason = absl::StrCat(
        "the best pipeline found that uses it takes ",
        Compared(*unused.best_with_it_s, chosen_score.iteration_time_s));
    if (*unused.best_with_it_s < chosen_score.iteration_time_s) {
      absl::StrAppendFormat(&unused.reason,
                            "; more islands must bring at least %.1f %%",
                            100 * min_gain);
    }
    return unused;
  }
  const double limit_s = chosen.closed_form_s * kMuchLonger;
  TANGRAM_ASSIGN_OR_RETURN(
      const double with_s,
      search.BestWithIsland(island.id, chosen.microbatch, limit_s));
  if (with_s < kInfinity) {
    unused.best_with_it_s = with_s;
    unused.reason =
        absl::StrCat("the best pipeline found that uses it takes about ",
                     Compared(with_s, chosen.closed_form_s));
    return unused;
  }
  const double least_s = search.LeastWithIsland(island.id);
  if (least_s == kInfinity) {
    unused.reason = "not even one layer fits in its memory";
  } else if (least_s > chosen.closed_form_s) {
    unused.reason = absl::StrCat(
        "even with perfect balance a pipeline that uses it takes at least ",
        Compared(least_s, chosen.closed_form_s));
  } else {
    unused.reason = absl::StrFormat(
        "no pipeline found that uses it is less than %.0f %% longer",
        100 * (kMuchLonger - 1));
  }
  return unused;
}

// All but `chosen` that fit, fastest first.
std::vector<RunnerUp> RunnersUp(absl::Span<const ScoredPipeline> scored,
                                absl::Span<const PipelinePlan> plans,
                                int chosen) {
  std::vector<RunnerUp> runners_up;
  for (int i = 0; i < static_cast<int>(scored.size()); ++i) {
    if (i == chosen || scored[i].iteration_time_s == kInfinity) continue;
    RunnerUp& runner_up = runners_up.emplace_back(
        RunnerUp{.num_stages = plans[i].num_stages(),
                 .pipeline_microbatch_size = plans[i].pipeline_microbatch_size,
                 .iteration_time_s = scored[i].iteration_time_s});
    for (int island = 0; scored[i].islands >> island != 0; ++island) {
      if (scored[i].islands >> island & 1) runner_up.islands.push_back(island);
    }
  }
  std::stable_sort(runners_up.begin(), runners_up.end(),
                   [](const RunnerUp& a, const RunnerUp& b) {
                     return a.iteration_time_s < b.iteration_time_s;
                   });
  if (runners_up.size() > kMaxRunnersUp) runners_up.resize(kMaxRunnersUp);
  return runners_up;
}

class TangramPlanner : public ClusterPlanner {
 public:
  TangramPlanner(SlicePlanSource& source, const TangramOptions& options,
                 const PipelineRules& rules)
      : source_(source), options_(options), rules_(rules) {}

  absl::StatusOr<PlanResult> Plan(const PlanRequest& request,
                                  PlanObserver& observer) override {
    TANGRAM_ASSIGN_OR_RETURN(
        const SearchSpace space,
        BuildSearchSpace(request, options_, rules_, source_, observer));
    PairSearch search(space, request, options_, rules_, source_, observer);
    TANGRAM_RETURN_IF_ERROR(search.Run());

    PlanResult result{.islands = space.islands, .notes = space.notes};
    for (std::string& note : search.Notes()) {
      result.notes.push_back(std::move(note));
    }
    for (Island& island : result.islands) island.spec.limits = {};
    if (search.finalists().empty()) {
      result.infeasible = WhyNothingFits(space, search.store());
    } else {
      TANGRAM_RETURN_IF_ERROR(
          ChooseFinalist(request, space, search, observer, result));
    }
    result.notes.push_back(
        absl::StrCat("pipeline microbatch sizes tried: ",
                     absl::StrJoin(space.microbatch_sizes, ", ")));
    result.stats = search.stats();
    result.stats.finalists = static_cast<int64_t>(search.finalists().size());
    return result;
  }

 private:
  // The finalist as it will run: false, with the reason in `why_not`, if its
  // runtime does not take it or it then needs more memory than there is.
  absl::StatusOr<bool> Fit(const PlanRequest& request, PipelinePlan& plan,
                           Evaluation& evaluation,
                           std::optional<Infeasible>& why_not) const {
    if (rules_.fit) {
      absl::StatusOr<PipelinePlan> fitted = rules_.fit(request, plan);
      if (!fitted.ok()) {
        if (!why_not)
          why_not = {.reason = std::string(fitted.status().message())};
        return false;
      }
      plan = *std::move(fitted);
    }
    TANGRAM_ASSIGN_OR_RETURN(
        evaluation,
        EvaluatePlan(request.model, request.cluster, request.training, plan));
    // The evaluator has the last word on memory too.
    if (evaluation.violations.empty()) return true;
    const Violation& violation = evaluation.violations.front();
    if (!why_not) {
      why_not = {.reason = violation.reason,
                 .bytes_short = violation.bytes_short};
    }
    return false;
  }

  // The closed form chose the finalists; the evaluator chooses among them.
  absl::Status ChooseFinalist(const PlanRequest& request,
                              const SearchSpace& space, PairSearch& search,
                              PlanObserver& observer, PlanResult& result) {
    observer.OnPhase(PlanPhase::kEvaluation);
    const std::vector<Finalist>& finalists = search.finalists();
    result.lower_bound_s = finalists.front().closed_form_s;
    std::vector<ScoredPipeline> scored;
    std::vector<PipelinePlan> plans;
    std::vector<Evaluation> evaluations;
    std::optional<Infeasible> why_not;
    bool any_fits = false;
    for (const Finalist& finalist : finalists) {
      if (observer.ShouldStop()) {
        return absl::CancelledError("planning stopped");
      }
      plans.push_back(PlacePlan(space, search.store(), finalist));
      Evaluation evaluation;
      TANGRAM_ASSIGN_OR_RETURN(const bool fits,
                               Fit(request, plans.back(), evaluation, why_not));
      scored.push_back({IslandsOf(finalist),
                        fits ? evaluation.iteration_time_s : kInfinity});
      evaluations.push_back(std::move(evaluation));
      any_fits |= fits;
    }
    if (rules_.fit && !any_fits) {
      result.lower_bound_s = 0;
      result.infeasible = std::move(why_not);
      return absl::OkStatus();
    }
    const int chosen = ChooseIslands(scored, options_.min_island_gain);
    result.runners_up = RunnersUp(scored, plans, chosen);
    result.plan = std::move(plans[chosen]);
    result.closed_form_s = finalists[chosen].closed_form_s;
    result.evaluation = std::move(evaluations[chosen]);
    for (const Island& island : space.islands) {
      if (scored[chosen].islands >> island.id & 1) continue;
      if (!space.rules.IsUsable(island.id)) {
        result.unused_islands.push_back(
            {.island = island.id, .reason = WhyKeptOut(island)});
        continue;
      }
      TANGRAM_ASSIGN_OR_RETURN(
          result.unused_islands.emplace_back(),
          ExplainUnused(island, finalists[chosen], scored[chosen], scored,
                        options_.min_island_gain, search));
    }
    return absl::OkStatus();
  }

  std::string WhyKeptOut(const Island& island) const {
    const bool other_nodes = rules_.gpus_per_node > 0 &&
                             rules_.gpus_per_node != island.spec.gpus_per_node;
    return other_nodes ? absl::StrCat(
                             "the runtime needs as many GPUs in every "
                             "node, here ",
                             rules_.gpus_per_node)
                       : "kept out by the request";
  }

  SlicePlanSource& source_;
  const TangramOptions options_;
  const PipelineRules rules_;
};

}  // namespace

std::unique_ptr<ClusterPlanner> CreateTangramPlanner(
    SlicePlanSource& source, const TangramOptions& options) {
  return CreateTangramPlanner(source, options, PipelineRules());
}

std::unique_ptr<ClusterPlanner> CreateTangramPlanner(
    SlicePlanSource& source, const TangramOptions& options,
    const PipelineRules& rules) {
  return std::make_unique<TangramPlanner>(source, options, rules);
}

}  // namespace tangram
