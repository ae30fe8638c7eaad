#ifndef TANGRAM_FRAMEWORKS_MEGATRON_HYBRID_H_
#define TANGRAM_FRAMEWORKS_MEGATRON_HYBRID_H_

#include <string>

#include "absl/status/status.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"

// Models of Megatron-LM's pretrain_hybrid.py (2026-08), whose layers have one
// part each: M Mamba-2, * attention, - an MLP, E experts. A layer of ours with
// a mixer and an MLP is two of them.
namespace tangram {

// Returns the letters of a transformer layer: "M", "*E".
std::string HybridLetters(const LayerSpec& layer);

// Returns the letters of all layers, with | between stages: "M-M*|-ME".
std::string HybridPattern(const ModelSpec& model, const PipelinePlan& plan);

// Returns how many of Megatron-LM's layers each of the model's is.
int HybridLayersEach(const ModelSpec& model);

// kInvalidArgument names the layer that pretrain_hybrid.py has no letter for,
// or that differs from others of its letter, or is of other letters in number.
absl::Status CheckHybridModel(const ModelSpec& model);

// kInvalidArgument if a stage has no transformer layer: it would be empty.
absl::Status CheckHybridStages(const ModelSpec& model,
                               const PipelinePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_MEGATRON_HYBRID_H_
