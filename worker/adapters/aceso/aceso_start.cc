#include "worker/adapters/aceso/aceso_start.h"

#include "worker/adapters/aceso/aceso_balance.h"
#include "worker/adapters/aceso/aceso_estimate.h"
#include "worker/adapters/aceso/aceso_recompute.h"

namespace tangram::aceso {
namespace {

// Cuts the slice so that each stage's single-GPU time is in proportion to its
// GPUs. Returns false if there are too few operators.
bool CutInProportion(CostTables& tables, Configuration& configuration) {
  const SliceLayout& layout = tables.layout();
  const DegreeTable& single = tables.At(0);
  const auto seconds = [&](int end) {
    return single.time_s.Over(layout.at(0), layout.at(end));
  };
  std::vector<ConfiguredStage>& stages = configuration.stages;
  const int num_stages = configuration.num_stages();
  double all_gpus = 0;
  stages.back().shape.end = layout.num_ops();
  for (int i = num_stages - 1; i >= 0; --i) {
    all_gpus += tables.space().num_gpus(stages[i].shape.degrees);
    if (i == 0) break;
    // Holds the latest end that leaves room for the stages behind, until the
    // next loop.
    stages[i - 1].shape.end = layout.LatestBegin(stages[i].shape.end);
  }
  double gpus = 0;
  int begin = 0;
  for (int i = 0; i < num_stages; ++i) {
    StageShape& shape = stages[i].shape;
    gpus += tables.space().num_gpus(shape.degrees);
    const double share_s = seconds(layout.num_ops()) * gpus / all_gpus;
    int end = layout.EarliestEnd(begin);
    if (end > shape.end) return false;
    while (end < shape.end && (i + 1 == num_stages || seconds(end) < share_s)) {
      ++end;
    }
    shape.begin = begin;
    shape.end = end;
    begin = end;
  }
  return true;
}

// Returns whether stage `a` is better than `b`: it fits and `b` does not; or
// neither fits and it needs fewer bytes; or both fit and it takes less time in
// an iteration.
bool SuitsBetter(const ConfiguredStage& a, const ConfiguredStage& b,
                 int num_microbatches) {
  if (a.figures.fits != b.figures.fits) return a.figures.fits;
  if (!a.figures.fits) return a.figures.peak_bytes < b.figures.peak_bytes;
  const auto iteration_s = [num_microbatches](const ConfiguredStage& stage) {
    return num_microbatches * stage.figures.compute_s + stage.sync_s;
  };
  return iteration_s(a) < iteration_s(b);
}

// Gives each stage of a complete configuration the best degrees on its GPUs.
// Returns whether any changed.
bool ChooseDegrees(CostTables& tables, Configuration& configuration) {
  const DegreeSpace& space = tables.space();
  bool changed = false;
  for (ConfiguredStage& stage : configuration.stages) {
    ConfiguredStage best = stage;
    for (const DegreeStep step : {DegreeStep::kTpForDp, DegreeStep::kDpForTp}) {
      StageShape shape = stage.shape;
      while ((shape.degrees = space.Step(shape.degrees, step)) != kNoDegrees) {
        if (tables.poll().stopped()) break;
        ConfiguredStage other = {.shape = shape};
        other.figures = EstimateFigures(tables, shape);
        other.sync_s = SyncSeconds(tables, shape, other.figures);
        if (SuitsBetter(other, best, tables.num_microbatches())) best = other;
      }
    }
    changed |= best.shape.degrees != stage.shape.degrees;
    stage.shape.degrees = best.shape.degrees;
  }
  return changed;
}

// Returns the first choice of degrees on `num_gpus` GPUs.
int FirstDegreesOf(const DegreeSpace& space, int num_gpus) {
  int degrees = 0;
  while (space.num_gpus(degrees) != num_gpus) ++degrees;
  return degrees;
}

}  // namespace

std::optional<Configuration> StartConfiguration(CostTables& tables,
                                                int num_stages) {
  Configuration start = {.trailing_stages = tables.options().trailing_stages};
  for (const int size :
       BalancedStageSizes(tables.space(), tables.island(), num_stages)) {
    start.stages.push_back(
        {.shape = {.degrees = FirstDegreesOf(tables.space(), size)}});
  }
  if (start.stages.empty() || !CutInProportion(tables, start)) return {};
  Complete(tables, start);
  // The best degrees depend on the cuts through memory, and the cuts on the
  // degrees. With 1 and with 4 rounds, the plans of the paper's C1 and C3
  // workloads are the same.
  constexpr int kRounds = 2;
  for (int round = 0; round < kRounds; ++round) {
    const bool changed = ChooseDegrees(tables, start);
    if (round > 0 && !changed) break;
    Complete(tables, start);
    BalanceCuts(tables, 0, num_stages - 1, start);
  }
  return start;
}

}  // namespace tangram::aceso
