#include "coordinator/planners/tangram/pair_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "common/cost/operator_cost.h"
#include "common/parallelizer/keep_within.h"
#include "coordinator/planners/tangram/planning_limits.h"
#include "coordinator/planners/tangram/seed_pairs.h"
#include "coordinator/planners/tangram/slice_plan_limit.h"

namespace tangram {
namespace {

// The window in which the search looks for finalists. The first has the
// caller's slack. The others follow when all finalists were refused without a
// lesson, as when a runtime's export refuses whole plans. Each is about ten
// times the work of the one before it.
struct Window {
  double slack;          // Fraction above the best closed form.
  int max_compositions;  // Finalists at most.
  int keep;              // Better partial pipelines needed to drop one.
};
constexpr Window kWindows[] = {
    {0, kMaxCompositions, 1}, {0.25, 256, 4}, {1, kMaxFinalists, 16}};

// The share of the measured latency that counts, as other slices may have less.
constexpr double kMeasuredShare = 0.95;

// Returns the first layer of atom `atom`.
const LayerSpec& LayerAt(const SearchSpace& space, const ModelSpec& model,
                         int atom) {
  return model.layers[space.first_layer[atom]];
}

}  // namespace

PairSearch::PairSearch(const SearchSpace& space, const PlanRequest& request,
                       const TangramOptions& options,
                       const PipelineRules& rules, SlicePlanSource& source,
                       PlanObserver& observer)
    : space_(space),
      options_(options),
      rules_(rules),
      source_(source),
      observer_(observer),
      store_(static_cast<int>(space.microbatch_sizes.size()),
             space.slices.num_classes(),
             static_cast<int>(space.island_classes.size())),
      composed_(space.microbatch_sizes.size()),
      best_s_(IncumbentSeconds()) {
  for (const Island& from : space.islands) {
    std::vector<Link>& row = island_links_.emplace_back();
    for (const Island& to : space.islands) {
      row.push_back(from.id == to.id
                        ? from.spec.inter_node
                        : LinkBetweenIslands(request.cluster, from, to));
    }
  }
  for (const int size : space.microbatch_sizes) {
    std::vector<double>& bytes = boundary_bytes_.emplace_back();
    for (int atom = 0; atom < space.num_atoms(); ++atom) {
      bytes.push_back(BoundaryBytes(LayerAt(space, request.model, atom), 0,
                                    size, request.training));
    }
  }
}

// Asks seed pairs, then two waves, and composes after each (paper §5.1). With
// LB(p) the lower bound of pair p, LB_m that of any pipeline at microbatch size
// m (both by WorkBounds), T the closed form of the best pipeline known and σ
// the slack,
//
//   L = T·(1 + σ)
//   wave 1 asks the pairs with LB(p) ≤ (min_m LB_m + L) / 2,
//   wave 2 asks the pairs with LB(p) ≤ L, for the T that wave 1 found.
//
// A pair with LB(p) > L is in no pipeline within the slack of the best. Without
// imbalance pruning, one wave asks all pairs.
absl::Status PairSearch::Run() {
  observer_.OnPhase(PlanPhase::kEnumeration);
  TANGRAM_ASSIGN_OR_RETURN(open_, EnumeratePairs());
  if (IsHopeless()) {
    Conclude();
    return absl::OkStatus();
  }
  if (options_.pruning.imbalance) {
    std::vector<PairId> seeds;
    const std::vector<PairId> wanted = SeedPairs(space_);
    std::set_intersection(open_.begin(), open_.end(), wanted.begin(),
                          wanted.end(), std::back_inserter(seeds));
    TANGRAM_RETURN_IF_ERROR(AskSeeds(seeds));
    if (rules_.fit) TANGRAM_RETURN_IF_ERROR(AskMeasuredSeeds(seeds));
    if (rules_.effort == PipelineRules::Effort::kSeeds) {
      Conclude();
      return absl::OkStatus();
    }
    if (rules_.fit) latency_.emplace(space_, store_);
    TANGRAM_RETURN_IF_ERROR(FindReach(seeds));
    // The first wave goes half way from the lower bound to the limit. Its
    // answers often lower the limit for the second wave.
    double least_s = kInfinity;
    for (const WorkBounds& bounds : space_.bounds) {
      least_s = std::min(least_s, bounds.IterationSeconds());
    }
    TANGRAM_RETURN_IF_ERROR(AskWave((least_s + Limit()) / 2));
  }
  return AskTheRest();
}

// Answers without a runtime have a lower bound, for which seeds are asked in
// any case.
bool PairSearch::IsHopeless() const {
  return rules_.fit && options_.pruning.imbalance && Limit() < kInfinity &&
         absl::c_none_of(open_,
                         [this](const PairId& pair) { return Matters(pair); });
}

// Asks the open pairs that can still matter beside the best pipeline, and
// collects finalists.
absl::Status PairSearch::AskTheRest() {
  TANGRAM_RETURN_IF_ERROR(
      AskWave(options_.pruning.imbalance ? Limit() : kInfinity));
  Conclude();
  return absl::OkStatus();
}

void PairSearch::Conclude() {
  stats_.pruned_imbalanced = absl::c_count_if(
      open_, [this](const PairId& pair) { return !store_.Asked(pair); });
  CollectFinalists();
}

// Composes again from the known answers. A refused pipeline no longer bounds
// the others, so pairs that were pruned because of it may matter now.
absl::Status PairSearch::Resume() {
  best_s_ = IncumbentSeconds();
  for (Composed& composed : composed_) {
    composed.changed = true;
    composed.compositions.clear();
  }
  TANGRAM_RETURN_IF_ERROR(ComposeAll());
  absl::c_copy(limited_, std::back_inserter(open_));
  limited_.clear();
  absl::c_sort(open_);
  if (options_.pruning.imbalance) TANGRAM_RETURN_IF_ERROR(FindReach({}));
  return AskTheRest();
}

// A runtime claims no bound on its plans, so that the search for one may skip
// what is likely of no use.
absl::Status PairSearch::FindReach(absl::Span<const PairId> asked) {
  reach_.reset();
  if (!rules_.fit || Limit() == kInfinity) return absl::OkStatus();
  std::vector<PairId> pairs;
  for (const absl::Span<const PairId> some :
       {absl::MakeConstSpan(open_), asked}) {
    absl::c_copy_if(some, std::back_inserter(pairs), [&](const PairId& pair) {
      return space_.PairIterationSeconds(pair) <= Limit();
    });
  }
  PairReach reach(space_, pairs);
  while (true) {
    const std::vector<PairId> probes =
        reach.NextProbes([&](const PairId& pair) {
          return !store_.CandidatesOf(pair).candidates.empty();
        });
    if (probes.empty()) break;
    std::vector<PairId> unknown;
    absl::c_copy_if(probes, std::back_inserter(unknown),
                    [&](const PairId& pair) {
                      return !store_.Asked(pair) || !IsAnswered(pair);
                    });
    TANGRAM_RETURN_IF_ERROR(Ask(
        unknown.size(), [&](size_t i) { return FirstQuestion(unknown[i]); }));
    if (store_.is_full()) return absl::OkStatus();
  }
  reach_ = std::move(reach);
  return absl::OkStatus();
}

// A lesson with k trailing stages limits its plan to k − 1 of them:
//
//   borne(plan) = min over its lessons of (k − 1).
//
// It holds on all islands that are alike, so that they stay alike.
absl::Status PairSearch::Widen(absl::Span<const Lesson> lessons) {
  finalists_.clear();
  for (const Lesson& lesson : lessons) {
    int& most = borne_[{lesson.pair, space_.first_alike[lesson.island]}]
                    .try_emplace(lesson.plan, lesson.trailing_stages)
                    .first->second;
    most = std::min(most, lesson.trailing_stages - 1);
  }
  if (!lessons.empty()) {
    TANGRAM_RETURN_IF_ERROR(Resume());
    if (!finalists_.empty() || best_s_ == kInfinity) return absl::OkStatus();
  }
  if (!rules_.persists) return absl::OkStatus();
  // Plans slower than that of another search are of no use.
  while (finalists_.empty() && window_ + 1 < std::size(kWindows) &&
         Limit() < IncumbentSeconds()) {
    ++window_;
    TANGRAM_RETURN_IF_ERROR(Resume());
  }
  return absl::OkStatus();
}

std::vector<std::string> PairSearch::Limits() const {
  std::vector<std::string> limits = space_.limits;
  for (std::string& limit : HidingLimits(met_)) {
    limits.push_back(std::move(limit));
  }
  if (best_s_ < kInfinity) {
    limits.push_back(absl::StrFormat(
        "only the best pipelines, at most %d and %.0f %% slower than the best, "
        "were tried: --microbatch, --tp, --dp or --max-stages leads to others",
        kWindows[window_].max_compositions, 100 * Slack()));
  }
  return limits;
}

// Returns the pairs that the pruning policies leave (paper §5.1), in ascending
// order. There are slices · microbatch sizes · islands pairs before pruning.
// Each pruned pair is counted once, under the first policy that drops it.
absl::StatusOr<std::vector<PairId>> PairSearch::EnumeratePairs() {
  const PruningOptions& pruning = options_.pruning;
  const auto num_sizes = static_cast<int64_t>(space_.microbatch_sizes.size());
  const auto num_classes = static_cast<int64_t>(space_.island_classes.size());
  stats_.pairs = space_.slices.num_slices() * num_sizes * space_.num_islands();
  stats_.pruned_redundant =
      stats_.pairs - space_.slices.num_classes() * num_sizes * num_classes;
  // Positions and constraints do not depend on the microbatch size.
  std::vector<bool> allowed;  // [slice class · island classes + island class]
  for (int s = 0; s < space_.slices.num_classes(); ++s) {
    if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
    const bool fits_nowhere = pruning.incompatibility && !space_.HasPosition(s);
    for (int i = 0; i < num_classes; ++i) {
      allowed.push_back(!fits_nowhere && space_.Allows(PairId{0, s, i}));
    }
  }
  std::vector<PairId> open;
  open.reserve(num_sizes * allowed.size());  // Exact, as there may be many.
  for (int m = 0; m < num_sizes; ++m) {
    if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
    for (int s = 0; s < space_.slices.num_classes(); ++s) {
      for (int i = 0; i < num_classes; ++i) {
        const PairId pair{m, s, i};
        if (!allowed[s * num_classes + i]) {
          ++stats_.pruned_incompatible;
        } else if (pruning.infeasibility && space_.ExceedsMemory(pair)) {
          ++stats_.pruned_infeasible;
        } else {
          open.push_back(pair);
        }
      }
    }
  }
  return open;
}

// Asks questions 0 to `num_questions` − 1 in batches, and stops early once the
// store is full.
absl::Status PairSearch::Ask(size_t num_questions,
                             absl::FunctionRef<Question(size_t)> question) {
  if (num_questions == 0) return absl::OkStatus();
  observer_.OnPhase(PlanPhase::kSlicePlans);
  for (size_t asked = 0; asked < num_questions;) {
    if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
    if (store_.is_full()) return LeaveUnasked();
    std::vector<Question> batch;
    while (batch.size() < kMaxBatchQueries &&
           asked + batch.size() < num_questions) {
      batch.push_back(question(asked + batch.size()));
    }
    TANGRAM_RETURN_IF_ERROR(AskBatch(batch, asked, num_questions));
    asked += batch.size();
  }
  return absl::OkStatus();
}

absl::Status PairSearch::LeaveUnasked() {
  met_.left_unasked = true;
  stats_.truncated = true;
  return absl::OkStatus();
}

// Asks one batch. `done` of `total` questions were asked in earlier batches.
absl::Status PairSearch::AskBatch(absl::Span<const Question> questions,
                                  size_t done, size_t total) {
  std::vector<PairQuery> queries;
  for (const Question& question : questions) {
    const PairId& pair = question.pair;
    int64_t steps = options_.max_search_steps;
    if (options_.pruning.early_stop) {
      // steps = max(1, ⌈share of the model's work · max_search_steps⌉) (§6.4).
      const double share = space_.bounds[pair.microbatch].WorkShare(
          space_.slices.MembersOf(pair.slice_class).front());
      steps = std::max<int64_t>(
          1, std::llround(std::ceil(share * static_cast<double>(steps))));
    }
    queries.push_back(
        {.slice = pair.slice_class,
         .island = space_.ContextIslandOf(pair),
         .pipeline_microbatch_size = space_.microbatch_sizes[pair.microbatch],
         .trailing_stages = question.trailing_stages,
         .max_search_steps = steps,
         .limit_s = std::max(store_.LimitOf(pair), PlanLimit(pair))});
  }
  TANGRAM_ASSIGN_OR_RETURN(
      std::vector<SharedAnswer> answers,
      source_.ParallelizeShared(
          space_.context, queries, [this, done, total](int of_batch, int) {
            observer_.OnPairs(static_cast<int>(done) + of_batch,
                              static_cast<int>(total));
          }));
  for (size_t i = 0; i < answers.size(); ++i) {
    const Question& question = questions[i];
    const int covers =
        SettledCoverage(question.trailing_stages, *answers[i].set);
    KeepUsable(queries[i], answers[i]);
    const SlicePlanSet& set = *answers[i].set;
    ++stats_.queries;
    stats_.requeries += store_.Asked(question.pair) ? 1 : 0;
    stats_.infeasible_answers += set.plans.empty() ? 1 : 0;
    stats_.slice_plans += static_cast<int64_t>(set.plans.size());
    stats_.search_steps += set.search_steps;
    stats_.truncated |= set.truncated;
    met_.cut_short += set.truncated ? 1 : 0;
    composed_[question.pair.microbatch].changed = true;
    if (queries[i].limit_s < kInfinity) limited_.insert(question.pair);
    store_.Add(question.pair, queries[i].limit_s, covers,
               std::move(answers[i]));
  }
  return absl::OkStatus();
}

// Drops the plans of an answer that the runtime cannot run or that are outside
// the limits of the island.
void PairSearch::KeepUsable(const PairQuery& query, SharedAnswer& answer) {
  const StageLimits& limits = space_.context.islands[query.island].limits;
  if (rules_.runtime == nullptr && limits.none()) return;
  const ModelSlice& slice = space_.context.slices[query.slice];
  SlicePlanSet usable = *answer.set;
  if (rules_.runtime != nullptr) KeepRunnable(*rules_.runtime, slice, usable);
  stats_.incompatible_plans += KeepWithin(limits, slice, usable);
  if (usable.plans.size() == answer.set->plans.size()) return;
  answer = {.set = std::make_shared<const SlicePlanSet>(std::move(usable))};
}

// A search without an incumbent has no limit: a plan that is of no use here may
// be in the answer to others.
double PairSearch::PlanLimit(const PairId& pair) const {
  const bool is_limited = rules_.fit || rules_.incumbent_s < kInfinity;
  if (!is_limited || !options_.pruning.imbalance || Limit() == kInfinity) {
    return kInfinity;
  }
  const double pipeline_s = Limit() * (1 + rules_.worth_refining);
  if (!latency_.has_value()) return SlicePlanLimit(space_, pair, pipeline_s);
  return SlicePlanLimitBeside(
      space_, pair, pipeline_s,
      latency_->RestSeconds(pair, pipeline_s) * kMeasuredShare);
}

double PairSearch::LeastSeconds(const PairId& pair) const {
  const double least_s = space_.PairIterationSeconds(pair);
  if (!latency_.has_value() || Limit() == kInfinity) return least_s;
  const double proven_s = space_.bounds[pair.microbatch].RestLatencySeconds(
      space_.slices.MembersOf(pair.slice_class).front(),
      space_.island_classes[pair.island_class].islands.front());
  const double rest_s = latency_->RestSeconds(pair, Limit()) * kMeasuredShare;
  return least_s + std::max(0.0, rest_s - proven_s);
}

PairSearch::Question PairSearch::FirstQuestion(const PairId& pair) const {
  return {pair, space_.LeastTrailingStages(pair.slice_class)};
}

absl::Status PairSearch::AskWave(double limit_s) {
  std::vector<std::pair<double, PairId>> matter;  // With their lower bounds.
  matter.reserve(open_.size());                   // There may be many.
  size_t num_left = 0;
  for (size_t p = 0; p < open_.size(); ++p) {
    if (p % kMaxBatchQueries == 0 && observer_.ShouldStop()) {
      return absl::CancelledError("planning stopped");
    }
    const PairId pair = open_[p];
    const double least_s = LeastSeconds(pair);
    // A pair with an infinite bound is in no pipeline.
    const bool can_matter = least_s <= limit_s && least_s < kInfinity &&
                            (!reach_.has_value() || reach_->Reaches(pair));
    if (can_matter && store_.Asked(pair) && IsAnswered(pair)) {
      limited_.insert(pair);
      continue;
    }
    if (!options_.pruning.imbalance || can_matter) {
      matter.push_back({least_s, pair});
    } else {
      open_[num_left++] = pair;
    }
  }
  open_.resize(num_left);
  // The answers may exceed the memory limit, so promising pairs go first.
  if (matter.size() > kMaxBatchQueries) {
    std::sort(matter.begin(), matter.end());
  }
  TANGRAM_RETURN_IF_ERROR(Ask(matter.size(), [&](size_t i) {
    return FirstQuestion(matter[i].second);
  }));
  matter = {};
  return ComposeAll();
}

double PairSearch::Slack() const {
  return std::max(options_.finalist_slack, kWindows[window_].slack);
}

double PairSearch::Limit() const {
  // L = T·(1 + slack), a little higher so that rounding does not decide.
  return best_s_ * (1 + Slack()) * (1 + 1e-9);
}

PairId PairSearch::PairOf(int microbatch, const PlacedPair& placed) const {
  return {.microbatch = microbatch,
          .slice_class = space_.slices.ClassOf(placed.atoms),
          .island_class = space_.class_of_island[placed.island]};
}

const PairCandidates& PairSearch::CandidatesOn(const PairId& pair, int island) {
  const PairCandidates& answered = store_.CandidatesOf(pair);
  if (borne_.empty()) return answered;
  const int first = space_.first_alike[island];
  const auto lessons = borne_.find({pair, first});
  if (lessons == borne_.end()) return answered;
  PairCandidates& corrected = corrected_[{pair, first}];
  corrected = answered;
  for (const auto& [plan, most] : lessons->second) {
    int& claimed = corrected.candidates[plan].max_trailing_stages;
    claimed = std::min(claimed, most);
  }
  return corrected;
}

// Returns the composition problem of one microbatch size: every allowed slice
// position on every island whose pair has a candidate.
ComposeProblem PairSearch::ProblemFor(int microbatch) {
  const WorkBounds& bounds = space_.bounds[microbatch];
  ComposeProblem problem{
      .num_atoms = space_.num_atoms(),
      .num_islands = space_.num_islands(),
      .num_microbatches = bounds.num_microbatches(),
      .transfer_s =
          [this, microbatch](int atom, int from, int from_gpus, int to,
                             int to_gpus) {
            return TransferSecondsBetween(microbatch, atom, from, from_gpus, to,
                                          to_gpus);
          },
      .first_alike = space_.first_alike,
      .slack = Slack(),
      .max_compositions = MostCompositions(kWindows[window_].max_compositions,
                                           static_cast<int>(composed_.size())),
      .keep = kWindows[window_].keep,
      .incumbent_s = best_s_,
      .min_stages = space_.rules.min_stages,
      .max_stages = space_.rules.max_stages,
      .accepts_gpus = rules_.accepts_gpus,
      .should_stop = [this] { return observer_.ShouldStop(); }};
  if (rules_.chunks > 1) {
    problem.min_stages = std::max(problem.min_stages, 2);
    problem.divided_by_stages = bounds.num_microbatches() / rules_.chunks;
  }
  for (int atom = 0; atom < space_.num_atoms(); ++atom) {
    problem.atom_work.push_back(bounds.MeanWork(atom + 1) -
                                bounds.MeanWork(atom));
  }
  // Most pairs have no candidates, and a pair has many positions.
  const size_t num_classes = space_.island_classes.size();
  std::vector<bool> has_plans;  // [slice class · island classes + island class]
  std::vector<bool> has_any;    // [slice class]
  for (int s = 0; s < space_.slices.num_classes(); ++s) {
    has_any.push_back(false);
    for (int i = 0; i < static_cast<int>(num_classes); ++i) {
      has_plans.push_back(
          !store_.CandidatesOf({microbatch, s, i}).candidates.empty());
      if (has_plans.back()) has_any.back() = true;
    }
  }
  for (int begin = 0; begin < space_.num_atoms(); ++begin) {
    for (int end = begin + 1; end <= space_.num_atoms(); ++end) {
      const int slice_class = space_.slices.ClassOf({begin, end});
      if (!has_any[slice_class]) continue;
      const size_t first = slice_class * num_classes;
      for (int island = 0; island < space_.num_islands(); ++island) {
        if (!has_plans[first + space_.class_of_island[island]]) continue;
        PlacedPair placed{.atoms = {begin, end}, .island = island};
        if (!space_.Allows(placed.atoms, island)) continue;
        placed.pair = &CandidatesOn(PairOf(microbatch, placed), island);
        problem.pairs.push_back(placed);
      }
    }
  }
  return problem;
}

Finalist PairSearch::FinalistOf(int microbatch,
                                const Composition& composition) const {
  const Composed& composed = composed_[microbatch];
  Finalist finalist{.closed_form_s = composition.closed_form_s / rules_.chunks,
                    .microbatch = microbatch};
  for (const ComposedSlice& slice : composition.slices) {
    const PlacedPair& placed = composed.pairs[slice.pair];
    finalist.slices.push_back({.pair = PairOf(microbatch, placed),
                               .atoms = placed.atoms,
                               .island = placed.island,
                               .plan = slice.candidate});
  }
  return finalist;
}

// Adds the compositions within the window that have not been finalists before,
// ordered by closed form, then by microbatch size.
void PairSearch::CollectFinalists() {
  for (int m = 0; m < static_cast<int>(composed_.size()); ++m) {
    for (const Composition& composition : composed_[m].compositions) {
      if (composition.closed_form_s > Limit()) continue;
      Finalist finalist = FinalistOf(m, composition);
      if (collected_.contains(finalist.slices)) continue;
      finalists_.push_back(std::move(finalist));
    }
  }
  std::stable_sort(finalists_.begin(), finalists_.end(),
                   [](const Finalist& a, const Finalist& b) {
                     return std::tie(a.closed_form_s, a.microbatch) <
                            std::tie(b.closed_form_s, b.microbatch);
                   });
  const auto most = static_cast<size_t>(kWindows[window_].max_compositions);
  if (finalists_.size() > most) finalists_.resize(most);
  stats_.finalists += static_cast<int64_t>(finalists_.size());
  for (const Finalist& finalist : finalists_) {
    collected_.insert(finalist.slices);
  }
}

absl::StatusOr<double> PairSearch::BestWithIsland(int island, int microbatch,
                                                  double limit_s) {
  ComposeProblem problem = ProblemFor(microbatch);
  problem.required_islands = uint32_t{1} << island;
  problem.slack = 0;
  problem.incumbent_s = limit_s * rules_.chunks;
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<Composition> compositions,
                           Compose(problem));
  return compositions.empty()
             ? kInfinity
             : compositions.front().closed_form_s / rules_.chunks;
}

}  // namespace tangram
