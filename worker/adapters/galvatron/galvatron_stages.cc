#include "worker/adapters/galvatron/galvatron_stages.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "common/domain/stage_limits.h"

namespace tangram::galvatron {
namespace {

bool IsFaster(const StageOption& a, const StageOption& b) {
  return a.seconds() < b.seconds();
}

}  // namespace

StageTable::StageTable(const SliceLayers& layers, int num_gpus,
                       const IslandSpec& island,
                       const ParallelizeOptions& options, StopPoll& poll,
                       LayerCosts::Site* site)
    : layers_(layers), poll_(poll) {
  const StageEnvironment environment = {
      .device = island.device,
      .training = options.training,
      .wiring = WiringOf(island, num_gpus),
      .pipeline_microbatch_size = options.pipeline_microbatch_size};
  const SplitLimits limits(layers.kinds(), options.pipeline_microbatch_size,
                           options.training);
  for (StageParallelism parallelism :
       ParallelismsOf(num_gpus, island, limits, kGalvatronDegrees)) {
    for (const int zero_stage : ZeroStagesOf(parallelism, island.limits)) {
      // An estimate of a kind takes as long as so many steps of StopPoll.
      constexpr int64_t kStepsPerKind = 64;
      if (poll_.After(kStepsPerKind *
                      static_cast<int64_t>(layers.kinds().size()))) {
        return;
      }
      SetZero(island.limits, zero_stage, parallelism);
      degrees_.emplace_back(layers, island.limits, parallelism, environment,
                            site);
    }
  }
}

// Returns the estimates of a range without recomputation. The functions from
// here on expect the first of equal ranges.
StageTable::Kept& StageTable::KeptOf(LayerRange range) {
  std::unique_ptr<Kept>& kept = At(range, kept_);
  if (kept != nullptr && kept->count == count_) return *kept;
  num_steps_ += static_cast<int64_t>(degrees_.size());
  if (kept != nullptr) {
    kept->count = count_;
    return *kept;
  }
  kept = std::make_unique<Kept>();
  kept->count = count_;
  for (const DegreeCosts& degrees : degrees_) {
    kept->figures.push_back(degrees.KeptOf(range));
  }
  poll_.After(static_cast<int64_t>(degrees_.size()) * range.size());
  kept->sync_s.assign(degrees_.size(), -1);
  return *kept;
}

// Synchronisation is assumed not to depend on recomputation.
double StageTable::SyncSeconds(LayerRange range, int degrees, Kept& kept) {
  double& sync_s = kept.sync_s[degrees];
  if (sync_s < 0) {
    const std::vector<LayerRecompute> choices(range.size());
    const StageCost cost = degrees_[degrees].CostOf(range, choices);
    sync_s = cost.sync_s + cost.optimizer_s;
  }
  return sync_s;
}

// Tries the degrees in order of a lower bound on their time, so that good
// options are found early. Skips degrees whose bound is dominated by an option
// found.
void StageTable::Find(LayerRange range, int in_flight) {
  Kept& kept = KeptOf(range);
  std::vector<StageOption> bounds;
  for (size_t i = 0; i < degrees_.size(); ++i) {
    bounds.push_back({.degrees = static_cast<int>(i)});
    bounds.back().recompute.seconds =
        degrees_[i].LeastSeconds(kept.figures[i], in_flight);
  }
  absl::c_stable_sort(bounds, IsFaster);
  std::vector<StageOption> found;
  double bound_s = kInfinity;
  for (StageOption& option : bounds) {
    if (option.seconds() >= bound_s || poll_.After(range.size())) break;
    const int i = option.degrees;
    option.sync_s = SyncSeconds(range, i, kept);
    if (absl::c_any_of(found, [&option](const StageOption& better) {
          return better.seconds() <= option.seconds() &&
                 better.with_sync_s() <= option.with_sync_s();
        })) {
      continue;
    }
    const std::optional<RecomputePlan> recompute =
        degrees_[i].FastestRecompute(range, kept.figures[i], in_flight, poll_);
    ++num_steps_;
    if (!recompute.has_value()) continue;
    option.recompute = *recompute;
    found.push_back(option);
    bound_s = std::min(bound_s, option.with_sync_s());
  }
  AppendBest(found);
}

// Appends the options that no faster one beats in time with synchronisation.
void StageTable::AppendBest(std::vector<StageOption>& found) {
  absl::c_stable_sort(found, IsFaster);
  double bound_s = kInfinity;
  for (const StageOption& option : found) {
    if (option.with_sync_s() >= bound_s) continue;
    bound_s = option.with_sync_s();
    options_.push_back(option);
  }
}

absl::Span<const StageOption> StageTable::OptionsOf(LayerRange range,
                                                    int in_flight) {
  range = FirstLike(range);
  if (static_cast<int>(found_.size()) <= in_flight) {
    found_.resize(in_flight + 1);
  }
  Found& found = At(range, found_[in_flight]);
  if (found.count != count_) {
    found.count = count_;
    KeptOf(range);
    if (found.begin == kUnknown) {
      const int64_t before = num_steps_;
      found.begin = static_cast<int>(options_.size());
      Find(range, in_flight);
      found.end = static_cast<int>(options_.size());
      found.num_steps = static_cast<int>(num_steps_ - before);
    } else {
      num_steps_ += found.num_steps;
    }
  }
  return absl::MakeConstSpan(options_).subspan(found.begin,
                                               found.end - found.begin);
}

double StageTable::FindLeastSeconds(LayerRange range) {
  LeastTime& least = At(range, least_);
  least.count = count_;
  const Kept& kept = KeptOf(range);
  if (least.seconds < 0) {
    least.seconds = kInfinity;
    for (const KeptFigures& figures : kept.figures) {
      least.seconds = std::min(least.seconds, figures.seconds);
    }
  }
  return least.seconds;
}

// Σ over layers of the least time with any degrees.
double StageTable::LeastLatencySeconds() const {
  double sum_s = 0;
  layers_.ForEachRun(0, layers_.size(), [&](int kind, int count) {
    double least_s = kInfinity;
    for (const DegreeCosts& degrees : degrees_) {
      least_s = std::min(least_s, degrees.LeastLayerSeconds(kind));
    }
    sum_s += count * least_s;
  });
  return sum_s;
}

double StageTable::LeastBytesOver(LayerRange range, int in_flight) const {
  double least_bytes = kInfinity;
  for (const DegreeCosts& degrees : degrees_) {
    least_bytes =
        std::min(least_bytes, degrees.LeastBytesOver(range, in_flight));
  }
  return least_bytes;
}

}  // namespace tangram::galvatron
