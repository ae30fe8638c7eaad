#include "worker/adapters/galvatron/galvatron_stages.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace tangram::galvatron {

StageTable::StageTable(const SliceLayers& layers, int num_gpus,
                       const IslandSpec& island,
                       const ParallelizeOptions& options)
    : layers_(layers),
      kept_(layers.size() * layers.size()),
      least_s_(kept_.size(), -1) {
  const StageEnvironment environment = {
      .device = island.device,
      .training = options.training,
      .wiring = WiringOf(island, num_gpus),
      .pipeline_microbatch_size = options.pipeline_microbatch_size};
  const SplitLimits limits(layers.kinds(), options.pipeline_microbatch_size,
                           options.training.sequence_length);
  for (StageParallelism parallelism :
       ParallelismsOf(num_gpus, island, limits, kGalvatronDegrees)) {
    for (const int zero_stage : ZeroStagesOf(parallelism)) {
      parallelism.zero_stage = zero_stage;
      degrees_.emplace_back(layers, parallelism, environment);
    }
  }
}

int StageTable::IndexOf(LayerRange range) const {
  return range.begin * layers_.size() + range.end - 1;
}

LayerRange StageTable::FirstLike(LayerRange range) const {
  const int begin = layers_.FirstLike(range.begin, range.end);
  return {.begin = begin, .end = begin + range.size()};
}

// This and what follows: of a range that is the first like it.
StageTable::Kept& StageTable::KeptOf(LayerRange range) {
  std::unique_ptr<Kept>& kept = kept_[IndexOf(range)];
  if (kept != nullptr) return *kept;
  kept = std::make_unique<Kept>();
  for (const DegreeCosts& degrees : degrees_) {
    kept->figures.push_back(degrees.KeptOf(range));
  }
  num_steps_ += static_cast<int64_t>(degrees_.size());
  kept->sync_s.assign(degrees_.size(), -1);
  kept->ranking.resize(degrees_.size());
  std::iota(kept->ranking.begin(), kept->ranking.end(), 0);
  std::stable_sort(kept->ranking.begin(), kept->ranking.end(),
                   [&](int a, int b) {
                     return kept->figures[a].seconds < kept->figures[b].seconds;
                   });
  return *kept;
}

// Taken to be the same whatever is recomputed.
double StageTable::SyncSeconds(LayerRange range, int degrees, Kept& kept) {
  double& sync_s = kept.sync_s[degrees];
  if (sync_s < 0) {
    const std::vector<LayerRecompute> choices(range.size());
    const StageCost cost = degrees_[degrees].CostOf(range, choices);
    sync_s = cost.sync_s + cost.optimizer_s;
  }
  return sync_s;
}

// Degrees in order of what they take with everything kept: recomputing only
// adds to it, so the rest are out once that alone is more than the best takes
// with its synchronisation.
void StageTable::Find(LayerRange range, int in_flight) {
  Kept& kept = KeptOf(range);
  const auto with_sync_s = [](const StageOption& option) {
    return option.seconds() + option.sync_s;
  };
  std::vector<StageOption> found;
  double bound_s = std::numeric_limits<double>::infinity();
  for (const int i : kept.ranking) {
    if (kept.figures[i].seconds >= bound_s) break;
    if (degrees_[i].LeastSeconds(kept.figures[i], in_flight) >= bound_s) {
      continue;
    }
    const std::optional<RecomputePlan> recompute =
        degrees_[i].FastestRecompute(range, kept.figures[i], in_flight);
    ++num_steps_;
    if (!recompute.has_value()) continue;
    found.push_back({.degrees = i,
                     .recompute = *recompute,
                     .sync_s = SyncSeconds(range, i, kept)});
    bound_s = std::min(bound_s, with_sync_s(found.back()));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const StageOption& a, const StageOption& b) {
                     return a.seconds() < b.seconds();
                   });
  bound_s = std::numeric_limits<double>::infinity();
  for (const StageOption& option : found) {
    if (with_sync_s(option) >= bound_s) continue;
    bound_s = with_sync_s(option);
    options_.push_back(option);
  }
}

absl::Span<const StageOption> StageTable::OptionsOf(LayerRange range,
                                                    int in_flight) {
  range = FirstLike(range);
  std::vector<Found>& row = found_[in_flight];
  row.resize(kept_.size());
  Found& found = row[IndexOf(range)];
  if (found.begin == kUnknown) {
    found.begin = static_cast<int>(options_.size());
    Find(range, in_flight);
    found.end = static_cast<int>(options_.size());
  }
  return absl::MakeConstSpan(options_).subspan(found.begin,
                                               found.end - found.begin);
}

double StageTable::LeastSeconds(LayerRange range) {
  double& least_s = least_s_[IndexOf(range)];
  if (least_s < 0) {
    const Kept& kept = KeptOf(FirstLike(range));
    least_s = kept.figures[kept.ranking.front()].seconds;
  }
  return least_s;
}

double StageTable::LeastBytesOver(LayerRange range, int in_flight) const {
  double least_bytes = std::numeric_limits<double>::infinity();
  for (const DegreeCosts& degrees : degrees_) {
    least_bytes =
        std::min(least_bytes, degrees.LeastBytesOver(range, in_flight));
  }
  return least_bytes;
}

}  // namespace tangram::galvatron
