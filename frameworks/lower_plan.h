#ifndef TANGRAM_FRAMEWORKS_LOWER_PLAN_H_
#define TANGRAM_FRAMEWORKS_LOWER_PLAN_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"

// Steps that take from a plan what a framework cannot hold. What they change
// makes the plan slower or larger, never wrong; the evaluator tells by how
// much.
namespace tangram {

// The same plan without settings that mean nothing: sequence parallelism of
// one rank, sharding over one replica, recomputation of operators that another
// stage runs, neighbouring runs of one mask. Plans are compared in this form.
PipelinePlan CanonicalPlan(const ModelSpec& model, PipelinePlan plan);

// Replaces the mask of every layer that a stage touches by
// `change`(layer of the model, mask).
void ChangeMasks(absl::FunctionRef<OpMask(int layer, OpMask mask)> change,
                 StagePlan& stage);

// Every operator of `layer`.
OpMask WholeLayerMask(const LayerSpec& layer);
// The attention core alone; kRecomputeNone in a layer without attention.
OpMask AttentionCoreMask(const LayerSpec& layer);

// One mask a layer of the model. A layer in two stages has the operators that
// either recomputes.
std::vector<OpMask> LayerMasks(const ModelSpec& model,
                               const PipelinePlan& plan);
// Of a plan whose stages are whole layers.
void SetLayerMasks(const std::vector<OpMask>& masks, PipelinePlan& plan);

// The transformer layers [first, last) of a stage of whole layers.
struct LayerSpan {
  int first = 0;
  int last = 0;
  int size() const { return last - first; }
};
LayerSpan TransformerLayers(const ModelSpec& model, const StagePlan& stage);
bool HoldsEmbedding(const StagePlan& stage);
bool HoldsHead(const ModelSpec& model, const StagePlan& stage);

// Moves cuts inside layers to the nearest end of the layer. kInvalidArgument
// if a stage would become empty.
absl::Status RoundToLayers(const ModelSpec& model, PipelinePlan& plan);

// kInvalidArgument if a stage has no transformer layer.
absl::Status RequireTransformerLayers(const ModelSpec& model,
                                      const PipelinePlan& plan);

// What recomputes whole layers: all layers of every stage with any mask, each
// wholly; or every attention core and nothing else.
enum class RecomputeGranularity { kNone, kAttentionCore, kWholeLayers };

// Makes the recomputation one that Megatron-LM's options hold: nothing, the
// attention core of every layer, or whole transformer layers, of each stage
// the first ones. Recomputes at least what the plan does.
RecomputeGranularity RoundRecompute(const ModelSpec& model, PipelinePlan& plan);

// For frameworks with one switch: whole transformer layers everywhere where any
// layer recomputes anything, and whether that is so.
bool RecomputeAllOrNothing(const ModelSpec& model, PipelinePlan& plan);

// For frameworks without the techniques: leaves tp, cp, dp and ep alone.
void KeepDegreesOnly(PipelinePlan& plan);

// Transformer layers of the stage that are recomputed, wholly or partly.
int RecomputedLayers(const ModelSpec& model, const StagePlan& stage);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_LOWER_PLAN_H_
