#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/stop_poll.h"
#include "coordinator/planners/rivals/metis/device_groups.h"
#include "coordinator/planners/rivals/metis/layer_balance.h"
#include "coordinator/planners/rivals/metis/metis_input.h"
#include "coordinator/planners/rivals/metis/plan_cost.h"
#include "coordinator/planners/rivals/metis/stage_work.h"

namespace tangram {
namespace {

constexpr int kMostSplits = 3;  // Attempts for one strategy.
// A stage that has too little memory is given this part of what fits.
constexpr double kShrink = 0.9;
// About 100 ns each, for every stage of a division of GPUs.
constexpr int64_t kStepsOfPlan = 16;
// So much of the work may stay with no stage.
constexpr double kDeficitLeft = 0.01;
// Stages with less room take no more work.
constexpr double kLeastRoom = 0.001;

// The weights by which layers are split; they add up to 1.
std::vector<double> LayerWeights(const MetisInput& input,
                                 const MetisDefects& defects) {
  std::vector<double> weights(input.num_layers());
  for (int type = 0; type < input.num_types; ++type) {
    // The key with least tp and fewest samples.
    const auto found = input.profiles.lower_bound({type, 0, 0});
    if (found == input.profiles.end() || found->first.type != type) continue;
    const std::vector<double>& layer_ms = found->second.layer_ms;
    const double total = std::accumulate(layer_ms.begin(), layer_ms.end(), 0.0);
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] += layer_ms[i] / total;
    }
    if (defects.first_type_counts) return weights;
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= total;
  return weights;
}

// The cheapest plans so far, of equal costs the earliest.
class BestPlans {
 public:
  explicit BestPlans(int most) : most_(most) {}

  bool Takes(double cost_ms) const {
    return static_cast<int>(plans_.size()) < most_ ||
           cost_ms < plans_.front().plan.cost_ms;
  }
  void Add(MetisPlan plan) {
    plans_.push_back({std::move(plan), next_++});
    std::push_heap(plans_.begin(), plans_.end(), Before);
    if (static_cast<int>(plans_.size()) <= most_) return;
    std::pop_heap(plans_.begin(), plans_.end(), Before);
    plans_.pop_back();
  }
  std::vector<MetisPlan> Take() {
    std::sort_heap(plans_.begin(), plans_.end(), Before);
    std::vector<MetisPlan> plans;
    for (Entry& entry : plans_) plans.push_back(std::move(entry.plan));
    return plans;
  }

 private:
  struct Entry {
    MetisPlan plan;
    int64_t order = 0;
  };
  static bool Before(const Entry& a, const Entry& b) {
    return std::pair(a.plan.cost_ms, a.order) <
           std::pair(b.plan.cost_ms, b.order);
  }
  int most_;
  int64_t next_ = 0;
  std::vector<Entry> plans_;  // A heap, the most expensive in front.
};

// The fate of one strategy.
enum class Outcome { kRefused, kAccepted, kAcceptedAtOnce, kNotProfiled };

class MetisSearch {
 public:
  MetisSearch(const MetisInput& input, const MetisSettings& settings)
      : input_(input),
        settings_(settings),
        defects_(settings.defects),
        balancer_(LayerWeights(input, defects_), !defects_.loses_layers),
        best_(settings.max_plans),
        poll_(settings.should_stop) {
    for (const MetisHost& host : input.hosts) num_gpus_ += host.num_gpus;
    for (int b = settings.global_batch; b >= 1; --b) {
      if (settings.global_batch % b != 0) continue;
      if (settings.batches == 0 || settings.batches == b) batches_.push_back(b);
    }
  }

  MetisRanking Run();

 private:
  DeviceGroupLimits GroupLimits() const;
  void VisitGroups(int num_stages, int costed_stages);
  void VisitTypes(std::vector<int> types, bool is_first);
  void Begin(const std::vector<int>& groups, int batches);
  void Walk();
  bool IsInRange() const;
  bool CanGoOn() const;
  Outcome Try();
  bool FindWorks();
  bool Fit();
  void SetMemory(absl::Span<const int> bounds);
  void NoteShortage();
  bool ShiftWork();
  bool MoveOn();
  bool IsComplete() const;
  void Cost();

  int num_stages() const { return static_cast<int>(plan_.places.size()); }
  int samples() const { return settings_.global_batch / plan_.batches; }

  const MetisInput& input_;
  const MetisSettings& settings_;
  const MetisDefects& defects_;
  int num_gpus_ = 0;
  std::vector<int> batches_;  // Divisors of the batch, descending.
  LayerBalancer balancer_;
  BestPlans best_;
  StopPoll poll_;
  MetisRanking ranking_;
  bool ended_ = false;

  std::unique_ptr<StageWorks> works_;  // In the order of types at hand.
  WorkPlan plan_;                      // The strategy at hand.
  int splits_ = 0;                     // Attempts that it took.
  std::vector<double> speeds_;
  std::vector<TightestMemory> memory_;
  bool has_memory_ = false;  // Whether memory_ is known.
};

MetisRanking MetisSearch::Run() {
  if (defects_.needs_one_stage) {
    bool found = false;
    ForEachDeviceGroups(num_gpus_, 1, GroupLimits(), [&](const auto&) {
      found = true;
      return false;
    });
    if (!found) {
      ranking_.no_one_stage_group = true;
      return std::move(ranking_);
    }
  }
  std::vector<int> types(input_.num_types);
  std::iota(types.begin(), types.end(), 0);
  bool is_first = true;
  do {
    VisitTypes(types, std::exchange(is_first, false));
  } while (!ended_ && std::next_permutation(types.begin(), types.end()));
  ranking_.plans = best_.Take();
  return std::move(ranking_);
}

DeviceGroupLimits MetisSearch::GroupLimits() const {
  return {.min_scale = defects_.integer_scale
                           ? static_cast<int>(settings_.min_group_scale)
                           : settings_.min_group_scale,
          .max_permute_len = settings_.max_permute_len};
}

void MetisSearch::VisitTypes(std::vector<int> types, bool is_first) {
  works_ = std::make_unique<StageWorks>(input_, settings_, std::move(types));
  const int most = std::min(num_gpus_, input_.num_layers());
  int first = 1;
  if (defects_.costs_stage_0_alone && !is_first) {
    if (most >= 2) VisitGroups(2, 1);
    first = 2;
  }
  for (int stages = first; stages <= most && !ended_; ++stages) {
    VisitGroups(stages, stages);
  }
}

void MetisSearch::VisitGroups(int num_stages, int costed_stages) {
  ForEachDeviceGroups(
      num_gpus_, num_stages, GroupLimits(), [&](const auto& groups) {
        for (const int batches : batches_) {
          if (settings_.max_inter_stage_plans > 0 &&
              ranking_.inter_stage_plans >= settings_.max_inter_stage_plans) {
            ended_ = ranking_.reached_limit = true;
          }
          if (poll_.After(kStepsOfPlan * num_stages))
            ended_ = ranking_.stopped = true;
          if (ended_) return false;
          ++ranking_.inter_stage_plans;
          plan_.costed_stages = costed_stages;
          Begin(groups, batches);
          Walk();
        }
        return true;
      });
}

void MetisSearch::Begin(const std::vector<int>& groups, int batches) {
  plan_.batches = batches;
  plan_.places.clear();
  int rank = 0;
  for (const int size : groups) {
    plan_.places.push_back({rank, size, size, 1});
    rank += size;
  }
  has_memory_ = false;
}

void MetisSearch::Walk() {
  while (CanGoOn()) {
    if (IsInRange()) {
      poll_.After(int64_t{16} * input_.num_layers());
      const Outcome outcome = Try();
      if (outcome == Outcome::kAcceptedAtOnce) return;
      if (outcome == Outcome::kNotProfiled) {
        ++ranking_.missing_profiles;
        if (defects_.missing_profile != MetisMissingProfile::kSkipsStrategy) {
          ended_ = defects_.missing_profile == MetisMissingProfile::kEndsRun;
          return;
        }
      }
    }
    if (!MoveOn()) return;
  }
}

// Whether no stage has more samples or tp than are allowed; both only grow.
bool MetisSearch::CanGoOn() const {
  return std::all_of(
      plan_.places.begin(), plan_.places.end(), [&](const StagePlace& place) {
        return settings_.global_batch / place.dp / plan_.batches <=
                   settings_.max_samples &&
               place.tp <= settings_.max_tp;
      });
}

bool MetisSearch::IsInRange() const {
  return std::all_of(
      plan_.places.begin(), plan_.places.end(), [&](const StagePlace& place) {
        if (settings_.global_batch / place.dp / plan_.batches < 1) return false;
        if (defects_.loses_layers) return true;
        return (works_->IsMixed(place.first_rank, place.num_gpus) ||
                samples() % place.dp == 0) &&
               works_->TpStaysInHosts(place);
      });
}

// Halves dp and doubles tp in the stage with least free memory, or with most
// dp if memory is not known. False: no stage has dp left.
bool MetisSearch::MoveOn() {
  int chosen = -1;
  for (int stage = 0; stage < num_stages(); ++stage) {
    const int dp = plan_.places[stage].dp;
    if (dp == 1) continue;
    if (chosen < 0 ||
        (has_memory_ ? memory_[stage].slack() < memory_[chosen].slack()
                     : dp > plan_.places[chosen].dp)) {
      chosen = stage;
    }
  }
  if (chosen < 0) return false;
  plan_.places[chosen].dp /= 2;
  plan_.places[chosen].tp *= 2;
  return true;
}

Outcome MetisSearch::Try() {
  if (!FindWorks()) return Outcome::kNotProfiled;
  has_memory_ = Fit();
  if (!has_memory_) return Outcome::kRefused;
  Cost();
  return splits_ == 1 ? Outcome::kAcceptedAtOnce : Outcome::kAccepted;
}

// Sets the works of the strategy and the speeds of its stages. Returns false
// without a profile.
bool MetisSearch::FindWorks() {
  plan_.works.clear();
  speeds_.clear();
  double total = 0;
  for (const StagePlace& place : plan_.places) {
    const StageWork& work = works_->Find(place, samples());
    if (!work.profiled) return false;
    plan_.works.push_back(&work);
    speeds_.push_back(1 / work.total_ms);
    total += speeds_.back();
  }
  for (double& speed : speeds_) speed /= total;
  return true;
}

// Splits the layers so that every stage fits. Returns false if that failed.
bool MetisSearch::Fit() {
  for (splits_ = 1;; ++splits_) {
    SetMemory(balancer_.Split(speeds_));
    if (std::all_of(memory_.begin(), memory_.end(),
                    [](const TightestMemory& m) { return m.slack() >= 0; })) {
      return defects_.loses_layers || IsComplete();
    }
    NoteShortage();
    if (splits_ == kMostSplits || !ShiftWork()) return false;
  }
}

void MetisSearch::SetMemory(absl::Span<const int> bounds) {
  plan_.bounds.assign(bounds.begin(), bounds.end());
  memory_.clear();
  for (int stage = 0; stage < num_stages(); ++stage) {
    memory_.push_back(MemoryOf(input_, settings_, *works_, plan_, stage));
  }
}

void MetisSearch::NoteShortage() {
  double shortage = 0;
  for (int stage = 0; stage < num_stages(); ++stage) {
    shortage = std::max(shortage,
                        -memory_[stage].slack() / plan_.places[stage].num_gpus);
  }
  ranking_.least_shortage_mb = std::min(ranking_.least_shortage_mb, shortage);
}

// Takes work from stages that have too little memory, and gives it to others in
// proportion to their speed, round by round. Returns false if they have no room
// for it.
bool MetisSearch::ShiftWork() {
  double deficit = 0;
  const std::vector<double> before = speeds_;
  std::vector<double> room(num_stages());
  for (int stage = 0; stage < num_stages(); ++stage) {
    const TightestMemory& memory = memory_[stage];
    if (memory.slack() > 0) {
      room[stage] =
          before[stage] * memory.capacity / memory.demand - before[stage];
    } else {
      speeds_[stage] =
          before[stage] * (memory.capacity / memory.demand) * kShrink;
      deficit += before[stage] - speeds_[stage];
    }
  }
  if (std::accumulate(room.begin(), room.end(), 0.0) < deficit) return false;
  std::vector<double> added(num_stages());
  while (deficit > kDeficitLeft) {
    double total = 0;
    for (int stage = 0; stage < num_stages(); ++stage) {
      if (room[stage] > kLeastRoom) total += before[stage];
    }
    if (total == 0) return false;
    for (int stage = 0; stage < num_stages(); ++stage) {
      if (room[stage] <= kLeastRoom) continue;
      const double share =
          std::min(deficit * (before[stage] / total), room[stage]);
      added[stage] += share;
      room[stage] -= share;
      deficit -= share;
    }
  }
  for (int stage = 0; stage < num_stages(); ++stage) {
    speeds_[stage] = added[stage] + speeds_[stage];
  }
  return true;
}

// Whether every layer is in a stage, and every stage and replica has work.
bool MetisSearch::IsComplete() const {
  if (plan_.bounds.back() != input_.num_layers()) return false;
  for (int stage = 0; stage < num_stages(); ++stage) {
    if (plan_.bounds[stage] == plan_.bounds[stage + 1]) return false;
    if (plan_.works[stage]->idle_replica) return false;
  }
  return true;
}

void MetisSearch::Cost() {
  if (defects_.drops_zero_sync && plan_.works.back()->sync_ms == 0) return;
  const double cost_ms = CostMs(input_, settings_, *works_, plan_);
  ++ranking_.costed;
  bool whole = plan_.costed_stages == num_stages() &&
               plan_.bounds.back() == input_.num_layers();
  for (int stage = 0; stage < num_stages(); ++stage) {
    whole &= plan_.bounds[stage] < plan_.bounds[stage + 1];
  }
  if (!whole) ++ranking_.invalid;
  if (!best_.Takes(cost_ms)) return;
  MetisPlan plan{.cost_ms = cost_ms,
                 .types = {works_->types().begin(), works_->types().end()},
                 .batches = plan_.batches,
                 .costed_stages = plan_.costed_stages};
  for (int stage = 0; stage < num_stages(); ++stage) {
    const StagePlace& place = plan_.places[stage];
    plan.stages.push_back({.num_gpus = place.num_gpus,
                           .dp = place.dp,
                           .tp = place.tp,
                           .begin_layer = plan_.bounds[stage],
                           .end_layer = plan_.bounds[stage + 1],
                           .shares = plan_.works[stage]->shares});
  }
  best_.Add(std::move(plan));
}

}  // namespace

MetisDefects MetisDefects::AllOfUpstream() {
  return {.costs_stage_0_alone = true,
          .loses_layers = true,
          .inter_is_intra = true,
          .deals_ranks_to_replicas = true,
          .first_type_counts = true,
          .drops_zero_sync = true,
          .missing_profile = MetisMissingProfile::kEndsRun,
          .integer_scale = true,
          .whole_cluster_shares = true,
          .equal_hosts = true,
          .needs_one_stage = true,
          .memory_once_a_stage = true,
          .sends_next_layer = true};
}

MetisRanking RankMetisPlans(const MetisInput& input,
                            const MetisSettings& settings) {
  return MetisSearch(input, settings).Run();
}

}  // namespace tangram
