#ifndef TANGRAM_FRAMEWORKS_MODEL_DETAILS_H_
#define TANGRAM_FRAMEWORKS_MODEL_DETAILS_H_

#include <string>
#include <vector>

#include "common/domain/model_spec.h"
#include "common/domain/training_options.h"

// The details of a model (ModelDetails) on launch lines.
namespace tangram {

// The dropout with which a model is trained.
struct DropoutRates {
  double attention = 0;
  double hidden = 0;  // Embedding and residual additions.
};
// Returns the rates of the model, or 0.1 where it gives none; 0 if the training
// has no dropout.
DropoutRates DropoutOf(const ModelSpec& model, const TrainingOptions& training);

// Returns a number as a command line and YAML read it: "500000", "1.0e-05".
std::string DetailText(double value);

// How rotary positions are scaled, in the terms of Megatron-LM.
enum class MegatronRopeScaling {
  kNone,
  kLlama3,  // --use-rope-scaling, with the other figures of Llama 3.1.
  kLinear,  // --rotary-seq-len-interpolation-factor, an integer.
  kOther,   // Not in its options.
};
MegatronRopeScaling MegatronScalingOf(const RopeScaling& scaling);

// The details that a framework takes from its launch line.
struct DetailSupport {
  bool rope = false;            // Theta and fraction of rotary positions.
  bool linear_scaling = false;  // See MegatronRopeScaling.
  bool llama3_scaling = false;
  bool norm_epsilon = false;
  bool dropout_rates = false;  // Otherwise its own, where dropout is on.
  bool expert_capacity = false;
};

// Returns the details of `model` that do not reach the framework, a line each:
// "model.rope_theta: 500000; becomes that of the framework's own model". A
// 16-bit type of weights other than the precision of the plan is among them,
// and all that the model of the plan lacks itself.
std::vector<std::string> LostDetails(const ModelSpec& model,
                                     const TrainingOptions& training,
                                     const DetailSupport& support);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_MODEL_DETAILS_H_
