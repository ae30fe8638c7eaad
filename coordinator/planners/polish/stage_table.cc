#include "coordinator/planners/polish/stage_table.h"

#include <algorithm>
#include <numeric>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "common/cost/stage_cost.h"
#include "common/domain/stage_limits.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"

namespace tangram {
namespace {

// Degrees that are looked at for each need of memory.
constexpr size_t kMostDegrees = 8;

// Degrees that are tuned where recomputation alone does not make them fit.
constexpr size_t kMostTuned = 3;

}  // namespace

StageTable::StageTable(const PlanRequest& request, const PipelineRules& rules,
                       absl::Span<const Island> islands,
                       StageEstimator& estimator, StageTuner& tuner)
    : request_(request),
      islands_(islands),
      ends_(rules.ends),
      shards_experts_(rules.runtime == nullptr ||
                      rules.runtime->sharded_experts),
      estimator_(estimator),
      tuner_(tuner),
      stage_rules_(estimator.runs()) {
  for (const LayerRun& run : estimator.runs()) {
    run_begins_.push_back(static_cast<int>(run_of_layer_.size()));
    run_of_layer_.insert(run_of_layer_.end(), run.count,
                         static_cast<int>(run_begins_.size()) - 1);
    num_experts_ = std::gcd(num_experts_, run.layer.num_experts);
  }
}

const std::vector<StageWay>& StageTable::WaysOf(int microbatch_size,
                                                int place_index,
                                                const Place& place,
                                                OperatorCut begin,
                                                OperatorCut end, int held) {
  const Key key{microbatch_size, place_index, LayersOf(begin, end)};
  const auto at = known_.find(key);
  if (at != known_.end()) {
    const Known& known = at->second;
    const auto ways = known.by_held.find(known.always_fits ? 0 : held);
    if (ways != known.by_held.end()) return ways->second;
  }
  const PlacedStage stage{
      .plan = {.begin = begin,
               .end = end,
               .recompute = {{.num_layers = LayersTouched(begin, end)}}},
      .gpus = {place.gpus.begin(), place.gpus.end()},
      .island = place.island};
  if (at == known_.end()) {
    known_.emplace(key, MakeKnown(microbatch_size, stage));
    return WaysOf(microbatch_size, place_index, place, begin, end, held);
  }
  return at->second.by_held
      .emplace(held, FindWays(microbatch_size, stage, held, at->second))
      .first->second;
}

double StageTable::LeastWork(int microbatch_size, int island, OperatorCut begin,
                             OperatorCut end) {
  double least_s = kInfinity;
  const std::vector<int>& nodes = islands_[island].nodes;
  std::vector<GpuId> gpus;
  for (const int node : nodes) {
    for (int i = 0; i < request_.cluster->nodes[node].num_gpus; ++i) {
      gpus.push_back({node, i});
    }
  }
  // Within the first node, and some of all.
  const size_t of_node = request_.cluster->nodes[nodes.front()].num_gpus;
  for (size_t n = 1; n <= gpus.size(); n = n < of_node ? n + 1 : 2 * n) {
    const Place place{island, absl::MakeConstSpan(gpus).first(n)};
    for (const StageWay& way : WaysOf(microbatch_size, PlaceIndex(place), place,
                                      begin, end, /*held=*/1)) {
      least_s = std::min(least_s, static_cast<double>(n) * way.pass_s());
    }
  }
  return least_s;
}

int StageTable::PlaceIndex(const Place& place) {
  Alike alike = {place.island};
  int node = -1;
  for (const GpuId& gpu : place.gpus) {
    if (gpu.node != node) {
      node = gpu.node;
      alike.push_back(request_.cluster->nodes[node].group);
      alike.push_back(0);
    }
    ++alike.back();
  }
  return places_.try_emplace(std::move(alike), static_cast<int>(places_.size()))
      .first->second;
}

StageTable::Layers StageTable::LayersOf(OperatorCut begin,
                                        OperatorCut end) const {
  const int first = run_of_layer_[begin.layer];
  const int last = run_of_layer_[end.op > 0 ? end.layer : end.layer - 1];
  if (first == last) {
    return {first, begin.op, end.layer - begin.layer, last, 0, end.op};
  }
  return {first,
          begin.op,
          run_begins_[first + 1] - begin.layer,
          last,
          end.layer - run_begins_[last],
          end.op};
}

StageSetting StageTable::SettingOf(int microbatch_size, int held) const {
  return {
      .microbatch_size = microbatch_size,
      .num_microbatches = request_.training.global_batch_size / microbatch_size,
      .held = {.all = held}};
}

double StageTable::SecondsOf(const StageWay& way, int num_microbatches) const {
  return num_microbatches * way.pass_s() + way.tail_s;
}

void StageTable::KeepBest(int num_microbatches, size_t most,
                          std::vector<StageWay>& ways) const {
  absl::c_stable_sort(ways, [&](const StageWay& a, const StageWay& b) {
    return SecondsOf(a, num_microbatches) < SecondsOf(b, num_microbatches);
  });
  if (ways.size() > most) ways.resize(most);
}

// Returns the stage's way with these degrees. Empty: it does not fit, or may
// not run so.
std::optional<StageWay> StageTable::WayOf(const StageSetting& setting,
                                          const PlacedStage& stage,
                                          bool tunes) {
  PlacedStage fitted = stage;
  const bool fits = tunes ? tuner_.Tune(setting, fitted)
                          : tuner_.FitRecompute(setting, fitted);
  if (!fits) return std::nullopt;
  const StageCost& cost = estimator_.CostOf(fitted, setting.microbatch_size);
  return StageWay{.plan = std::move(fitted.plan),
                  .forward_s = cost.forward_s,
                  .backward_s = cost.backward_s,
                  .tail_s = cost.sync_s + cost.optimizer_s};
}

StageTable::Known StageTable::MakeKnown(int microbatch_size,
                                        const PlacedStage& stage) {
  Known known;
  const int num_microbatches =
      request_.training.global_batch_size / microbatch_size;
  PlacedStage tried = stage;
  for (const StageParallelism& degrees :
       Degrees(microbatch_size, stage, stage.island)) {
    tried.plan.parallelism = degrees;
    // A stage that does not fit with one microbatch may fit once it is tuned.
    std::optional<StageWay> way =
        WayOf(SettingOf(microbatch_size, 1), tried, /*tunes=*/false);
    if (!way.has_value()) {
      way = WayOf(SettingOf(microbatch_size, 1), tried, /*tunes=*/true);
    }
    if (way.has_value()) known.degrees.push_back(*std::move(way));
  }
  KeepBest(num_microbatches, kMostDegrees, known.degrees);
  std::vector<StageWay> best = known.degrees;
  if (best.size() > kMostWays) best.resize(kMostWays);
  const StageSetting most =
      SettingOf(microbatch_size,
                std::min(num_microbatches, request_.cluster->num_gpus()));
  known.always_fits = absl::c_all_of(best, [&](const StageWay& way) {
    tried.plan = way.plan;
    const std::optional<StageWay> full = WayOf(most, tried, /*tunes=*/false);
    return full.has_value() && full->plan == way.plan;
  });
  if (known.always_fits) known.by_held[0] = std::move(best);
  return known;
}

std::vector<StageWay> StageTable::FindWays(int microbatch_size,
                                           const PlacedStage& stage, int held,
                                           Known& known) {
  const StageSetting setting = SettingOf(microbatch_size, held);
  std::vector<StageWay> ways;
  for (const bool tunes : {false, true}) {
    size_t num_tuned = 0;
    for (const StageWay& degrees : known.degrees) {
      if (tunes && ++num_tuned > kMostTuned) break;
      PlacedStage tried = stage;
      tried.plan = degrees.plan;
      tried.plan.begin = stage.plan.begin;
      tried.plan.end = stage.plan.end;
      std::optional<StageWay> way = WayOf(setting, tried, tunes);
      if (way.has_value()) ways.push_back(*std::move(way));
    }
    if (!ways.empty()) break;
  }
  KeepBest(setting.num_microbatches, kMostWays, ways);
  return ways;
}

std::vector<StageParallelism> StageTable::Degrees(int microbatch_size,
                                                  const PlacedStage& stage,
                                                  int island) {
  StageLimits limits = islands_[island].spec.limits;
  const OperatorCut end{request_.model.num_layers(), 0};
  if (stage.plan.begin == OperatorCut() || stage.plan.end == end) {
    const JoinedLimits joined = Join(limits, ends_);
    if (joined.contradiction) return {};
    limits = joined.limits;
  }
  const int num_gpus = static_cast<int>(stage.gpus.size());
  std::vector<StageParallelism> possible;
  for (const int tp : DivisorsOf(num_gpus)) {
    for (const int cp : DivisorsOf(num_gpus / tp)) {
      AppendDegrees(tp, cp, num_gpus / tp / cp, limits, possible);
    }
  }
  const bool has_flash = absl::c_all_of(stage.gpus, [&](const GpuId& gpu) {
    return request_.cluster->nodes[gpu.node].device.supports_flash_attention;
  });
  const StageSite site{
      .max_gpus = num_gpus,
      .microbatch_size = microbatch_size,
      .sequence_length = request_.training.sequence_length,
      .no_context_parallel =
          has_flash && request_.training.flash_attention ? "" : "none"};
  limits.recompute.reset();  // The tuner sees to it.
  StagePlan tried = stage.plan;
  std::erase_if(possible, [&](const StageParallelism& degrees) {
    tried.parallelism = degrees;
    return !WhyOutside(limits, tried, estimator_.runs()).empty() ||
           !stage_rules_.CheckStage(tried, site).ok();
  });
  return possible;
}

void StageTable::AppendDegrees(int tp, int cp, int dp,
                               const StageLimits& limits,
                               std::vector<StageParallelism>& all) const {
  const int replicas = cp * dp;
  const int most_ep = num_experts_ > 0 ? std::gcd(replicas, num_experts_) : 1;
  const bool splits_sequence =
      tp > 1 && !limits.no_sequence_parallel &&
      SplitsSequenceForTp(request_.training.sequence_length, cp, tp);
  for (const int ep : DivisorsOf(most_ep)) {
    StageParallelism& degrees = all.emplace_back(
        StageParallelism{.tp_degree = tp,
                         .cp_degree = cp,
                         .dp_degree = dp,
                         .ep_degree = ep,
                         .sequence_parallel = splits_sequence});
    SetZero(limits, ZeroStageWithin(limits, degrees, 1), degrees);
    if (ep == 1 || !shards_experts_) continue;
    StageParallelism sharded = degrees;
    sharded.fsep = true;
    all.push_back(sharded);
  }
}

}  // namespace tangram
