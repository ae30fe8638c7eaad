#ifndef TANGRAM_COMMON_COST_LAYER_ESTIMATOR_H_
#define TANGRAM_COMMON_COST_LAYER_ESTIMATOR_H_

#include "absl/container/inlined_vector.h"
#include "common/cost/operator_cost.h"
#include "common/cost/stage_cost.h"

namespace tangram {

// EstimateLayer for several ways to recompute the same operators, each of which
// is estimated once. Keeps references to the layer and the environment.
// Thread-compatible.
class LayerEstimator {
 public:
  LayerEstimator(const LayerSpec& layer, int op_begin, int op_end,
                 const StageParallelism& parallelism,
                 const StageEnvironment& environment);

  // Returns what EstimateLayer does.
  LayerCost Cost(OpMask recomputed, const HostOffload& offload = {}) const;

  // Costs are those of another ZeRO stage from here on. Operators do not depend
  // on it.
  void SetZeroStage(int zero_stage) { parallelism_.zero_stage = zero_stage; }

 private:
  // Layers have at most so many operators.
  static constexpr size_t kMostOperators = 20;

  const LayerSpec& layer_;
  const int op_begin_;
  StageParallelism parallelism_;
  const StageEnvironment& environment_;
  absl::InlinedVector<OperatorCost, kMostOperators> operators_;
  const MeasuredLayer* measured_ = nullptr;  // Null: not measured.
  // Parameters of the operators outside, in order, if the layer is measured.
  absl::InlinedVector<StageParameters, 1> others_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_LAYER_ESTIMATOR_H_
