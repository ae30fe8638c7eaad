#include "worker/adapters/aceso/aceso_answer.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "common/base/infinity.h"
#include "common/domain/plan_merits.h"
#include "worker/adapters/aceso/aceso_balance.h"
#include "worker/adapters/aceso/aceso_estimate.h"
#include "worker/adapters/aceso/aceso_plan.h"
#include "worker/adapters/aceso/aceso_reassign.h"
#include "worker/adapters/aceso/aceso_refine.h"
#include "worker/adapters/aceso/aceso_search.h"
#include "worker/adapters/aceso/aceso_start.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram::aceso {
namespace {

// Limit on the primitives applied for one query, over all stage counts, for
// callers that give none. Planners give 1,024 for a whole model.
constexpr int64_t kDefaultSearchSteps = 192;

// Stage counts that are tried. The paper's implementation stops at 16; a few
// larger ones let big islands be used up.
constexpr int kStageCounts[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                11, 12, 13, 14, 15, 16, 24, 32, 48, 64};

// Limits on how much slower than the best a stage count may be: to have its
// GPUs reassigned, and to have its cuts and degrees refined. Guesses: with half
// and with twice the excess over 1, the plans of the paper's C1 and C3
// workloads are the same.
constexpr double kWorthReassigning = 1.3;
constexpr double kWorthRefining = 1.05;

// Variants of one plan that bear more trailing stages because they recompute
// more. The k-th adds 2^k trailing stages to what the one before bears. With 1
// and with 4, the plans of the same workloads are the same.
constexpr int kMaxTrailingVariants = 2;

// A configuration that fits in memory, and its plan.
struct Found {
  Configuration configuration;
  SlicePlan plan;
};

std::vector<Found> KeepNonDominated(std::vector<Found> all, bool each_depth) {
  std::vector<PlanMerits> merits;
  for (const Found& found : all) {
    merits.push_back(MeritsOf(found.plan, each_depth));
  }
  std::vector<Found> kept;
  for (const int i : NonDominated(merits)) kept.push_back(std::move(all[i]));
  return kept;
}

// Appends variants of `found` that bear more trailing stages. They keep its
// degrees and balance its cuts again.
void AppendVariants(CostTables& tables, const ModelSlice& slice, Found found,
                    std::vector<Found>& all) {
  Configuration& configuration = found.configuration;
  int more = 1;
  for (int variant = 0; variant < kMaxTrailingVariants; ++variant, more *= 2) {
    const int borne = found.plan.max_trailing_stages;
    if (borne == kUnlimitedTrailingStages) return;
    configuration.trailing_stages = borne + more;
    Complete(tables, configuration);
    BalanceCuts(tables, 0, configuration.num_stages() - 1, configuration);
    if (configuration.bytes_short > 0) return;
    found.plan = PlanOf(tables, slice, configuration);
    all.push_back(found);
  }
}

// Applies `improve` to each configuration that does not fit or that takes at
// most `worth` times as long as the best one that fits. Passes that time limit
// on.
template <typename Improve>
void ImproveWithin(double worth, const Improve& improve,
                   std::vector<Configuration>& configurations) {
  double least_s = kInfinity;
  const auto note = [&least_s](const Configuration& configuration) {
    if (configuration.bytes_short > 0) return;
    least_s = std::min(least_s, configuration.score_s);
  };
  for (const Configuration& configuration : configurations) note(configuration);
  for (Configuration& configuration : configurations) {
    if (configuration.bytes_short <= 0 &&
        configuration.score_s > worth * least_s) {
      continue;
    }
    improve(worth * least_s, configuration);
    note(configuration);
  }
}

// Returns the stage counts to try, ascending. The largest is one of them if
// each depth is asked for.
std::vector<int> StageCountsWithin(const StageLimits& limits) {
  std::vector<int> counts;
  for (const int count : kStageCounts) {
    if (limits.max_stages > 0 && count > limits.max_stages) break;
    counts.push_back(count);
  }
  if (limits.each_depth && counts.back() < limits.max_stages) {
    counts.push_back(limits.max_stages);
  }
  return counts;
}

// Returns the best configuration of each stage count, then other useful ones.
std::vector<Configuration> SearchEach(CostTables& tables,
                                      SlicePlanSet& answer) {
  std::vector<Configuration> best;
  const StageLimits& limits = tables.island().limits;
  for (const int num_stages : StageCountsWithin(limits)) {
    if (tables.poll().stopped()) break;
    auto start = StartConfiguration(tables, num_stages);
    if (start) best.push_back(*std::move(start));
  }
  // The search runs from both configurations. The faster of two slice plans may
  // be the worse part of a longer pipeline.
  std::vector<Configuration> reassigned;
  ImproveWithin(
      limits.each_depth ? kInfinity : kWorthReassigning,
      [&](double limit_s, Configuration& configuration) {
        Configuration start = configuration;
        if (!ReassignGpus(tables, limit_s, configuration)) return;
        reassigned.push_back(configuration);
        std::swap(start, configuration);
      },
      best);
  std::move(reassigned.begin(), reassigned.end(), std::back_inserter(best));
  const int64_t asked = tables.options().max_search_steps;
  int64_t steps_left = asked == 0 ? kDefaultSearchSteps : asked;
  int64_t counts_left = static_cast<int64_t>(best.size());
  std::vector<Configuration> others;
  for (Configuration& configuration : best) {
    SearchResult result =
        Search(tables, configuration, steps_left / counts_left--);
    steps_left -= result.steps;
    answer.search_steps += result.steps;
    answer.truncated |= result.truncated;
    configuration = std::move(result.best);
    std::move(result.others.begin(), result.others.end(),
              std::back_inserter(others));
  }
  ImproveWithin(
      limits.each_depth ? kInfinity : kWorthRefining,
      [&](double, Configuration& configuration) {
        Configuration searched = configuration;
        // The configuration that was faster alone may be worse in a pipeline.
        if (Refine(tables, configuration)) {
          others.push_back(std::move(searched));
        }
      },
      best);
  std::move(others.begin(), others.end(), std::back_inserter(best));
  answer.truncated |= tables.poll().stopped();
  return best;
}

// Names the reason and the least shortage of memory over all stage counts.
Infeasible WhyNothingFits(const std::vector<Configuration>& best,
                          bool truncated) {
  const char* const reason =
      truncated ? "the search was stopped before it found a plan that fits in "
                  "memory"
                : "does not fit in memory";
  if (best.empty())
    return {.reason = truncated ? reason : kNoStageWithinLimits};
  const auto closest = std::min_element(best.begin(), best.end(), IsBetter);
  return {.reason = reason, .bytes_short = closest->bytes_short};
}

}  // namespace

SlicePlanSet SearchAllStageCounts(const ModelSlice& slice,
                                  const IslandSpec& island,
                                  const ParallelizeOptions& options) {
  const SliceLayout layout(slice, island.limits.residual_cuts);
  const DegreeSpace space(layout, island, options.pipeline_microbatch_size);
  if (space.choices().empty()) {
    return {.infeasible = Infeasible{.reason = kNoStageWithinLimits},
            .covers_trailing_stages = kUnlimitedTrailingStages};
  }
  CostTables tables(layout, space, island, options);

  SlicePlanSet answer = {.covers_trailing_stages = options.trailing_stages};
  const std::vector<Configuration> best = SearchEach(tables, answer);
  std::vector<Found> all;
  for (const Configuration& configuration : best) {
    if (configuration.bytes_short > 0) continue;
    all.push_back({configuration, PlanOf(tables, slice, configuration)});
  }
  if (all.empty()) {
    answer.infeasible = WhyNothingFits(best, answer.truncated);
    if (!answer.truncated) {
      answer.covers_trailing_stages = kUnlimitedTrailingStages;
    }
    return answer;
  }
  all = KeepNonDominated(std::move(all), island.limits.each_depth);
  const size_t num_best = all.size();
  for (size_t i = 0; i < num_best && !tables.poll().stopped(); ++i) {
    AppendVariants(tables, slice, all[i], all);
  }
  answer.truncated |= tables.poll().stopped();
  for (Found& found :
       KeepNonDominated(std::move(all), island.limits.each_depth)) {
    answer.plans.push_back(std::move(found.plan));
  }
  return answer;
}

}  // namespace tangram::aceso
