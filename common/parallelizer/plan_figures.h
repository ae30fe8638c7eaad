#ifndef TANGRAM_COMMON_PARALLELIZER_PLAN_FIGURES_H_
#define TANGRAM_COMMON_PARALLELIZER_PLAN_FIGURES_H_

#include <vector>

#include "common/cost/stage_cost.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// The cost model's figures of one stage of a slice plan. Fields as in
// SliceStage.
struct StageFigures {
  double time_s = 0;
  double backward_s = 0;
  double sync_s = 0;
  StageMemory memory;
};

// Computes the figures of slice plans from their stages. Adapters choose the
// stages; only the cost model sets their figures.
//
// Keeps references to its arguments. Thread-compatible.
class PlanEstimator {
 public:
  PlanEstimator(const ModelSlice& slice, const IslandSpec& island,
                const ParallelizeOptions& options);

  // Returns one entry for each stage. The plan must be one that
  // CheckSlicePlanSet accepts.
  std::vector<StageFigures> FiguresOf(const SlicePlan& plan) const;

  // Returns the largest number of stages that may follow the slice on GPUs and
  // hosts with `memory_scale` times the island's memory; see SlicePlan.
  // Negative: the plan does not fit even without trailing stages.
  int TrailingStages(const std::vector<StageFigures>& stages,
                     double memory_scale = 1) const;

  // Returns the bytes that the fullest GPU lacks with the trailing stages of
  // the options. Negative: bytes left.
  double BytesShort(const std::vector<StageFigures>& stages) const;

 private:
  double TransferSecondsAfter(const SlicePlan& plan, int stage,
                              int first_gpu) const;

  const ModelSlice& slice_;
  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  const int num_microbatches_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_PLAN_FIGURES_H_
