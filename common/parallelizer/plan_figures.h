#ifndef TANGRAM_COMMON_PARALLELIZER_PLAN_FIGURES_H_
#define TANGRAM_COMMON_PARALLELIZER_PLAN_FIGURES_H_

#include <vector>

#include "common/cost/stage_cost.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// One stage of a slice plan by the cost model, in the fields of SliceStage.
struct StageFigures {
  double time_s = 0;
  double backward_s = 0;
  double sync_s = 0;
  StageMemory memory;
};

// Works out every figure of slice plans that follows from their stages: an
// adapter chooses the stages, the cost model alone says what they take.
//
// Keeps references to its arguments. Thread-compatible.
class PlanEstimator {
 public:
  PlanEstimator(const ModelSlice& slice, const IslandSpec& island,
                const ParallelizeOptions& options);

  // One entry for each stage. The plan must be one that CheckSlicePlanSet
  // accepts.
  std::vector<StageFigures> FiguresOf(const SlicePlan& plan) const;

  // The most stages that may follow the slice on GPUs and hosts with
  // `memory_scale` times the island's memory; see SlicePlan. Negative: the plan
  // does not fit even if none follows.
  int TrailingStages(const std::vector<StageFigures>& stages,
                     double memory_scale = 1) const;

  // Bytes by which the fullest GPU is too small with the trailing stages that
  // the options ask for; negative: bytes that are left.
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
