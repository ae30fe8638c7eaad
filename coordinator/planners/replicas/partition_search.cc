#include "coordinator/planners/replicas/partition_search.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/base/status_macros.h"
#include "common/cost/parameter_bytes.h"
#include "common/sim/evaluate_replicated_plan.h"
#include "common/sim/share_batch.h"
#include "common/sim/unlike_ring.h"
#include "coordinator/planners/replicas/exact_search.h"
#include "coordinator/planners/replicas/exchange_estimate.h"
#include "coordinator/planners/replicas/place_groups.h"

namespace tangram {
namespace {

// The plans of groups, each with a search of its own.
constexpr int kMostPlans = 80;

// Those that are made before it is known which groups are of use.
constexpr int kMostPooled = 40;

// The shares for which each group is then planned.
constexpr int kMostShares = 3;

// The plans of several pipelines that are simulated to combine the plans of
// groups, and the sets of such plans that are looked at.
constexpr int64_t kMostPlays = 10000;
constexpr int64_t kMostChoices = 5000;

// The partitions that are played at each step.
constexpr size_t kMostPlayed = 4;

// By which the units of shares are divided.
constexpr int kUnitDivisors[] = {1, 4, 16};

// Likewise of the samples that move to balance the pipelines.
constexpr int kMovedDivisors[] = {1, 2, 4, 8, 16};

// Several pipelines by the quick planner may take this much longer than one, as
// the thorough planner may gain more for them.
constexpr double kWorthFinishing = 0.15;

double TimeOf(const std::optional<PlayedPartition>& played) {
  return played.has_value() ? played->evaluation.iteration_time_s : kInfinity;
}

// The pace of a group that no plan fits.
constexpr PipelinePace kTakesNone = {.fill_s = kInfinity, .microbatch_s = 1};

}  // namespace

PartitionSearch::PartitionSearch(const PlanRequest& request,
                                 const PipelinesSearch& options,
                                 PlanObserver& observer,
                                 const std::vector<Island>& islands)
    : request_(request),
      options_(options),
      observer_(observer),
      islands_(islands),
      gradient_bytes_(
          GradientBytes(request.training) *
          ParametersOf(request.model, {}, {request.model.num_layers(), 0})),
      plans_(request, islands, options.quick, kMostPlans) {}

absl::Status PartitionSearch::Run() {
  TANGRAM_ASSIGN_OR_RETURN(const PlanResult one, options_.quick(request_));
  if (one.plan.has_value()) {
    limit_s_ = one.evaluation.iteration_time_s * (1 + kWorthFinishing);
  }
  TANGRAM_RETURN_IF_ERROR(PlanPool());
  TANGRAM_RETURN_IF_ERROR(SearchPool(plans_.Candidates()));
  if (!is_exact_) TANGRAM_RETURN_IF_ERROR(ClimbFromAll());
  if (!best_.has_value()) return absl::OkStatus();
  TANGRAM_RETURN_IF_ERROR(Rebalance());
  return Finish();
}

// Plans groups of nodes: all of them, for all shares or for a few, if these are
// not too many; else groups of few parts.
absl::Status PartitionSearch::PlanPool() {
  const std::vector<NodeGroup> groups = CoarseGroups(islands_, kMostPooled);
  const int num_groups = static_cast<int>(groups.size());
  int64_t all = 1;
  for (const Island& island : islands_) {
    all = std::min<int64_t>(all * (std::ssize(island.nodes) + 1),
                            kMostPooled + 3);
  }
  is_exact_ = all <= kMostPooled + 2;
  const int batch = request_.training.global_batch_size;
  if (is_exact_ && num_groups * int64_t{batch} <= kMostPlans) {
    for (const NodeGroup& group : groups) {
      for (int samples = 1; samples < batch; ++samples) {
        TANGRAM_RETURN_IF_ERROR(plans_.Plan(group, samples).status());
      }
    }
    return absl::OkStatus();
  }
  const int num_shares =
      std::clamp(kMostPooled / std::max(num_groups, 1), 1, kMostShares);
  for (const NodeGroup& group : groups) {
    int samples = plans_.SharedSamples(group);
    for (int n = 0; n < num_shares && samples > 0; ++n, samples /= 2) {
      TANGRAM_RETURN_IF_ERROR(plans_.Plan(group, samples).status());
    }
  }
  return absl::OkStatus();
}

// Climbs from the best partition of the pool and from usual ones, and combines
// all plans that were made on the way.
absl::Status PartitionSearch::ClimbFromAll() {
  std::vector<Partition> starts;
  if (best_.has_value()) {
    starts.push_back(best_->groups);
    absl::c_sort(starts.back());
  }
  absl::c_move(FirstPartitions(islands_), std::back_inserter(starts));
  absl::c_move(EqualPartitions(islands_, options_.max_pipelines),
               std::back_inserter(starts));
  for (Partition& start : starts) {
    TANGRAM_RETURN_IF_ERROR(Climb(std::move(start)));
  }
  return SearchPool(plans_.Candidates());
}

// Keeps the fastest plan of several pipelines of the pool, if it is the best.
absl::Status PartitionSearch::SearchPool(std::vector<CandidatePlan> pool) {
  CandidatePlans candidates(request_, std::move(pool));
  TANGRAM_ASSIGN_OR_RETURN(
      ExactAnswer answer,
      SearchExactly(request_, islands_, candidates,
                    {.max_pipelines = options_.max_pipelines,
                     .limit_s = limit_s_,
                     .most_plays = kMostPlays,
                     .most_choices = kMostChoices,
                     .takes = options_.takes},
                    observer_));
  num_played_ += answer.num_plays;
  is_exact_ &= answer.is_exact;
  if (answer.best.has_value()) Keep(*std::move(answer.best));
  return absl::OkStatus();
}

// Returns the pace of each group by samples.
absl::StatusOr<std::vector<PipelinePace>> PartitionSearch::PacesOf(
    const Partition& partition) {
  std::vector<PipelinePace> paces;
  for (const NodeGroup& group : partition) {
    TANGRAM_ASSIGN_OR_RETURN(const std::optional<PipelinePace> pace,
                             plans_.PaceOf(group));
    paces.push_back(pace.value_or(kTakesNone));
  }
  return paces;
}

// Returns the time if the pipelines could share fractions of samples, without
// the exchange of gradients. Infinite: fewer than two groups have a plan.
absl::StatusOr<double> PartitionSearch::LevelOf(const Partition& partition) {
  TANGRAM_ASSIGN_OR_RETURN(std::vector<PipelinePace> paces, PacesOf(partition));
  std::erase_if(
      paces, [](const PipelinePace& pace) { return pace.fill_s == kInfinity; });
  if (paces.size() < 2) return kInfinity;
  return WaterLevelSeconds(paces, request_.training.global_batch_size);
}

// Goes from `partition` to the fastest of the neighbours, until none is faster.
absl::Status PartitionSearch::Climb(Partition partition) {
  if (static_cast<int>(partition.size()) > options_.max_pipelines) {
    return absl::OkStatus();
  }
  TANGRAM_ASSIGN_OR_RETURN(double seconds, SecondsOf(partition));
  while (true) {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<Partition> next,
                             MostPromising(partition));
    std::optional<Partition> fastest;
    for (const Partition& other : next) {
      TANGRAM_ASSIGN_OR_RETURN(const double other_s, SecondsOf(other));
      if (other_s >= seconds) continue;
      seconds = other_s;
      fastest = other;
    }
    if (!fastest.has_value()) return absl::OkStatus();
    partition = *std::move(fastest);
  }
}

// Returns the neighbours that are worth playing, those with the least level and
// exchange first.
absl::StatusOr<std::vector<Partition>> PartitionSearch::MostPromising(
    const Partition& partition) {
  std::vector<std::pair<double, Partition>> found;
  for (Partition& other : NeighboursOf(partition, options_.max_pipelines)) {
    if (other.size() < 2) continue;
    TANGRAM_ASSIGN_OR_RETURN(const double level_s, LevelOf(other));
    if (level_s >= limit_s_) continue;
    const double exchange_s =
        ExchangeSeconds(request_.cluster, islands_, other, gradient_bytes_);
    found.emplace_back(level_s + exchange_s, std::move(other));
  }
  absl::c_sort(found);
  if (found.size() > kMostPlayed) found.resize(kMostPlayed);
  std::vector<Partition> promising;
  for (auto& [about_s, other] : found) promising.push_back(std::move(other));
  return promising;
}

// Returns the simulated time of the partition. Infinite: it has no plan of
// several pipelines, or no share of the batch lets it beat the best.
absl::StatusOr<double> PartitionSearch::SecondsOf(const Partition& partition) {
  const auto known = seconds_.find(partition);
  if (known != seconds_.end()) return known->second;
  TANGRAM_ASSIGN_OR_RETURN(const double level_s, LevelOf(partition));
  std::optional<PlayedPartition> played;
  if (level_s < limit_s_) {
    TANGRAM_ASSIGN_OR_RETURN(played, PlayShared(partition));
  }
  const double seconds = TimeOf(played);
  seconds_[partition] = seconds;
  if (seconds < limit_s_) Keep(*std::move(played));
  return seconds;
}

void PartitionSearch::Keep(PlayedPartition played) {
  limit_s_ = played.evaluation.iteration_time_s;
  best_ = std::move(played);
}

// Returns the samples of each group that end earliest by their paces, in units
// that suit its GPUs, divided by `divisor`. Empty: none add up.
absl::StatusOr<std::optional<PartitionSearch::Shares>>
PartitionSearch::SharesOf(const Partition& partition, int divisor) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<PipelinePace> paces,
                           PacesOf(partition));
  const int batch = request_.training.global_batch_size;
  std::vector<SamplePace> units;
  for (size_t g = 0; g < partition.size(); ++g) {
    const int unit = std::max(1, plans_.UnitOf(partition[g]) / divisor);
    units.push_back({.pace = {.fill_s = paces[g].fill_s,
                              .microbatch_s = paces[g].microbatch_s * unit},
                     .microbatch_size = unit});
  }
  const auto numbers = ShareSamples(units, batch);
  if (!numbers.has_value()) return std::nullopt;
  Shares shares;
  for (size_t g = 0; g < partition.size(); ++g) {
    shares.push_back(static_cast<int>((*numbers)[g]) *
                     units[g].microbatch_size);
  }
  return shares;
}

// Plays the groups with shares of several units. Large units suit large
// microbatches, small ones balance the pipelines.
PartitionSearch::MaybePlayed PartitionSearch::PlayShared(
    const Partition& partition) {
  std::optional<PlayedPartition> fastest;
  std::optional<Shares> before;
  for (const int divisor : kUnitDivisors) {
    TANGRAM_ASSIGN_OR_RETURN(std::optional<Shares> shares,
                             SharesOf(partition, divisor));
    if (!shares.has_value() || shares == before) continue;
    TANGRAM_ASSIGN_OR_RETURN(std::optional<PlayedPartition> played,
                             PlayShares(partition, *shares));
    if (TimeOf(played) < TimeOf(fastest)) fastest = std::move(played);
    before = std::move(shares);
  }
  return fastest;
}

// Plays the groups with these shares. Empty: a group has no plan for its share,
// they do not fit, or a single one would do all.
PartitionSearch::MaybePlayed PartitionSearch::PlayShares(
    const Partition& partition, const Shares& shares) {
  Partition used;
  Plans plans;
  Shares samples;
  for (size_t g = 0; g < partition.size(); ++g) {
    if (shares[g] == 0) continue;
    used.push_back(partition[g]);
    samples.push_back(shares[g]);
    TANGRAM_ASSIGN_OR_RETURN(plans.emplace_back(),
                             plans_.Plan(used.back(), samples.back()));
    if (plans.back() == nullptr) return std::nullopt;
  }
  return PlayPlans(used, plans, samples);
}

// Plays plans of groups side by side, with the best way to exchange gradients.
PartitionSearch::MaybePlayed PartitionSearch::PlayPlans(const Partition& groups,
                                                        const Plans& plans,
                                                        const Shares& samples) {
  std::vector<PlacedGroup> placed;
  for (size_t g = 0; g < groups.size(); ++g) {
    const PipelinePlan& plan = plans[g]->plan;
    placed.push_back(
        {&groups[g], &plan, samples[g] / plan.pipeline_microbatch_size});
  }
  std::optional<PlayedPartition> fastest;
  for (const ReplicaSync sync :
       {ReplicaSync::kAllReduce, ReplicaSync::kZero1}) {
    TANGRAM_ASSIGN_OR_RETURN(std::optional<PlayedPartition> played,
                             Play(groups, PlaceGroups(islands_, placed, sync)));
    if (TimeOf(played) < TimeOf(fastest)) fastest = std::move(played);
  }
  return fastest;
}

PartitionSearch::MaybePlayed PartitionSearch::Play(const Partition& groups,
                                                   ReplicatedPlan plan) {
  if (plan.pipelines.size() < 2) return std::nullopt;
  if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
  ++num_played_;
  absl::StatusOr<ReplicatedEvaluation> evaluation = EvaluateReplicatedPlan(
      request_.model, request_.cluster, request_.training, plan,
      /*timelines=*/nullptr, [this] { return observer_.ShouldStop(); });
  if (absl::IsCancelled(evaluation.status())) return evaluation.status();
  if (!evaluation.ok() || !evaluation->fits()) return std::nullopt;
  if (evaluation->iteration_time_s < limit_s_ && options_.takes &&
      !options_.takes(plan)) {
    return std::nullopt;
  }
  return PlayedPartition{groups, std::move(plan), *std::move(evaluation)};
}

// Moves samples from the pipeline that ends last to the one that ends first,
// ever fewer, and plans both again while that helps.
absl::Status PartitionSearch::Rebalance() {
  for (const int divisor : kMovedDivisors) {
    for (bool is_faster = true; is_faster;) {
      const auto [first, last] = FirstAndLast();
      Shares shares = SharesOfBest();
      const int unit = std::min(plans_.UnitOf(best_->groups[first]),
                                plans_.UnitOf(best_->groups[last]));
      const int moved = std::max(1, unit / divisor);
      if (shares[last] <= moved) break;
      shares[last] -= moved;
      shares[first] += moved;
      TANGRAM_ASSIGN_OR_RETURN(std::optional<PlayedPartition> played,
                               PlayShares(best_->groups, shares));
      is_faster = TimeOf(played) < limit_s_;
      if (is_faster) Keep(*std::move(played));
    }
  }
  return absl::OkStatus();
}

// Returns the pipelines of the best plan that end first and last.
std::pair<size_t, size_t> PartitionSearch::FirstAndLast() const {
  const std::vector<Evaluation>& ends = best_->evaluation.pipelines;
  const auto [first, last] = std::minmax_element(
      ends.begin(), ends.end(), [](const Evaluation& a, const Evaluation& b) {
        return a.iteration_time_s < b.iteration_time_s;
      });
  return {first - ends.begin(), last - ends.begin()};
}

PartitionSearch::Shares PartitionSearch::SharesOfBest() const {
  Shares samples;
  for (const PipelineReplica& replica : best_->plan.pipelines) {
    samples.push_back(replica.num_microbatches *
                      replica.plan.pipeline_microbatch_size);
  }
  return samples;
}

// Plans the groups of the best partition again, and those of islands and types
// alone, as the quick planner may be far from the best for them. Combines these
// plans, with any shares, and the quick ones of these groups.
absl::Status PartitionSearch::Finish() {
  const Partition groups = best_->groups;
  const Shares samples = SharesOfBest();
  std::vector<Partition> finished = {groups};
  std::set<std::pair<NodeGroup, int>> wanted;
  for (size_t g = 0; g < groups.size(); ++g) {
    wanted.insert({groups[g], samples[g]});
  }
  for (Partition& alone : FirstPartitions(islands_)) {
    if (static_cast<int>(alone.size()) > options_.max_pipelines) continue;
    TANGRAM_ASSIGN_OR_RETURN(const std::optional<Shares> shares,
                             SharesOf(alone, /*divisor=*/1));
    if (!shares.has_value()) continue;
    for (size_t g = 0; g < alone.size(); ++g) {
      if ((*shares)[g] > 0) wanted.insert({alone[g], (*shares)[g]});
    }
    finished.push_back(std::move(alone));
  }
  std::vector<CandidatePlan> pool = plans_.Candidates();
  std::erase_if(pool, [&](const CandidatePlan& candidate) {
    return absl::c_none_of(finished, [&](const Partition& partition) {
      return absl::c_linear_search(partition, candidate.nodes);
    });
  });
  for (const auto& [group, share] : wanted) {
    TANGRAM_ASSIGN_OR_RETURN(std::optional<GroupPlan> plan,
                             plans_.PlanBy(options_.thorough, group, share));
    if (!plan.has_value()) continue;
    CandidatePlan candidate{group, std::move(plan->plan)};
    if (!absl::c_linear_search(pool, candidate)) {
      pool.push_back(std::move(candidate));
    }
  }
  return SearchPool(std::move(pool));
}

}  // namespace tangram
