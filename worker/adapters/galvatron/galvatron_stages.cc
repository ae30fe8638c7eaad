#include "worker/adapters/galvatron/galvatron_stages.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace tangram::galvatron {

StageTable::StageTable(const SliceLayers& layers, int num_gpus,
                       const IslandSpec& island,
                       const ParallelizeOptions& options)
    : layers_(layers),
      num_microbatches_(options.training.global_batch_size /
                        options.pipeline_microbatch_size),
      kept_(layers.size() * layers.size()) {
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

double StageTable::WeightOf(const StageFigures& figures, Goal goal) const {
  return goal == Goal::kMicrobatch
             ? figures.seconds
             : figures.seconds + figures.sync_s / num_microbatches_;
}

// `range` must be the first like it.
const StageTable::Kept& StageTable::KeptOf(LayerRange range) {
  std::unique_ptr<Kept>& kept = kept_[IndexOf(range)];
  if (kept != nullptr) return *kept;
  kept = std::make_unique<Kept>();
  for (const DegreeCosts& degrees : degrees_) {
    kept->figures.push_back(degrees.FiguresOf(range));
  }
  num_steps_ += static_cast<int64_t>(degrees_.size());
  for (const Goal goal : kGoals) {
    std::vector<int>& ranking = kept->ranking[static_cast<int>(goal)];
    ranking.resize(degrees_.size());
    std::iota(ranking.begin(), ranking.end(), 0);
    std::stable_sort(ranking.begin(), ranking.end(), [&](int a, int b) {
      return WeightOf(kept->figures[a], goal) <
             WeightOf(kept->figures[b], goal);
    });
  }
  return *kept;
}

double StageTable::LeastWeight(LayerRange range, Goal goal) {
  const Kept& kept = KeptOf(FirstLike(range));
  return WeightOf(kept.figures[kept.ranking[static_cast<int>(goal)].front()],
                  goal);
}

// Recomputing only adds time, so degrees that are slower with everything kept
// than the best so far are out.
std::optional<StageChoice> StageTable::Find(LayerRange range, int in_flight,
                                            Goal goal) {
  const Kept& kept = KeptOf(range);
  std::optional<StageChoice> best;
  for (const int i : kept.ranking[static_cast<int>(goal)]) {
    if (best.has_value() && WeightOf(kept.figures[i], goal) >= best->weight_s) {
      break;
    }
    std::optional<std::vector<LayerRecompute>> recompute =
        degrees_[i].FastestRecompute(range, kept.figures[i], in_flight);
    ++num_steps_;
    if (!recompute.has_value()) continue;
    const StageFigures figures = degrees_[i].FiguresOf(range, *recompute);
    const double weight_s = WeightOf(figures, goal);
    if (best.has_value() && weight_s >= best->weight_s) continue;
    best = {.degrees = &degrees_[i],
            .recompute = *std::move(recompute),
            .figures = figures,
            .weight_s = weight_s};
  }
  return best;
}

const StageChoice* StageTable::Best(LayerRange range, int in_flight,
                                    Goal goal) {
  range = FirstLike(range);
  const auto [row, inserted] = rows_.try_emplace(in_flight);
  if (inserted) row->second.resize(kept_.size() * kNumGoals);
  std::optional<int>& index =
      row->second[IndexOf(range) * kNumGoals + static_cast<int>(goal)];
  if (!index.has_value()) {
    std::optional<StageChoice> choice = Find(range, in_flight, goal);
    index =
        choice.has_value() ? static_cast<int>(choices_.size()) : kNothingFits;
    if (choice.has_value()) choices_.push_back(*std::move(choice));
  }
  return *index == kNothingFits ? nullptr : &choices_[*index];
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
