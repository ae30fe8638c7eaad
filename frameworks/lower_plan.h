#ifndef TANGRAM_FRAMEWORKS_LOWER_PLAN_H_
#define TANGRAM_FRAMEWORKS_LOWER_PLAN_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"

// Steps that remove from a plan what a framework cannot express. Each change
// may make the plan slower or larger, never wrong; the evaluator tells by how
// much.
namespace tangram {

// Returns the same plan without settings that have no effect: sequence
// parallelism with one rank, sharding over one replica, recomputation of
// operators that another stage runs, neighbouring runs with one mask. Plans are
// compared in this form.
PipelinePlan CanonicalPlan(const ModelSpec& model, PipelinePlan plan);

// Replaces the mask of every layer that a stage touches with
// `change`(layer of the model, mask).
void ChangeMasks(absl::FunctionRef<OpMask(int layer, OpMask mask)> change,
                 StagePlan& stage);

// Returns a mask for each layer of the model. A layer in two stages has the
// operators that either of them recomputes.
std::vector<OpMask> LayerMasks(const ModelSpec& model,
                               const PipelinePlan& plan);
// Sets the masks of the layers that each stage touches.
void SetLayerMasks(const std::vector<OpMask>& masks, PipelinePlan& plan);

// The transformer layers [first, last) of a stage of whole layers.
struct LayerSpan {
  int first = 0;  // Index into the model's layers.
  int last = 0;   // One after the last layer.
  int size() const { return last - first; }
};
// Returns the transformer layers of the stage.
LayerSpan TransformerLayers(const ModelSpec& model, const StagePlan& stage);
bool HoldsEmbedding(const StagePlan& stage);
bool HoldsHead(const ModelSpec& model, const StagePlan& stage);

// Moves cuts inside layers to the nearer end of the layer. kInvalidArgument if
// a stage would become empty.
absl::Status RoundToLayers(const ModelSpec& model, PipelinePlan& plan);

// Moves cuts inside attention and MLPs to the nearer end of that half of the
// layer. kInvalidArgument if a stage would become empty.
absl::Status RoundToResiduals(const ModelSpec& model, PipelinePlan& plan);

// kInvalidArgument if a stage has no transformer layer.
absl::Status RequireTransformerLayers(const ModelSpec& model,
                                      const PipelinePlan& plan);

// The unit of recomputation that RoundRecompute() chose.
enum class RecomputeGranularity {
  kNone,           // Nothing is recomputed.
  kAttentionCore,  // Every attention core, and nothing else.
  kWholeLayers,    // Whole transformer layers, of each stage the first ones.
};

// Rounds the recomputation to one that Megatron-LM's options can express. In
// each stage at least as many layers are recomputed as planned, though they may
// be other ones.
RecomputeGranularity RoundRecompute(const ModelSpec& model, PipelinePlan& plan);

// For frameworks with one switch: recomputes all transformer layers wholly if
// any layer recomputes anything. Returns whether that is so.
bool RecomputeAllOrNothing(const ModelSpec& model, PipelinePlan& plan);

// Recomputes all transformer layers wholly.
void RecomputeAll(const ModelSpec& model, PipelinePlan& plan);

// Drops everything but tp, cp, dp and ep, for frameworks without the rest.
void KeepDegreesOnly(PipelinePlan& plan);

// A plan for frameworks that know whole layers, tp, cp, dp, ep and one switch
// for recomputation.
struct DegreePlan {
  PipelinePlan plan;
  bool recompute = false;  // The switch.
};
// Applies the steps above to the canonical plan. The schedule becomes 1F1B,
// unless it is GPipe and `keep_gpipe` is set. kInvalidArgument if a stage would
// have no transformer layer.
absl::StatusOr<DegreePlan> LowerToDegrees(const ModelSpec& model,
                                          const PipelinePlan& plan,
                                          bool keep_gpipe);

// Returns the number of transformer layers in the stage that are recomputed,
// wholly or partly.
int RecomputedLayers(const ModelSpec& model, const StagePlan& stage);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_LOWER_PLAN_H_
