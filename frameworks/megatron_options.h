#ifndef TANGRAM_FRAMEWORKS_MEGATRON_OPTIONS_H_
#define TANGRAM_FRAMEWORKS_MEGATRON_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "common/domain/training_options.h"
#include "frameworks/framework_export.h"

namespace tangram {

// An option of Megatron-LM's pretrain_gpt.py. The name has underscores, as in
// FlagScale's YAML.
struct MegatronOption {
  std::string name;
  std::string value;  // Empty: a flag.
};

// Returns the options of the model. kInvalidArgument names the layer that they
// cannot describe: they know one kind of dense layer and one with experts. The
// pattern of a hybrid model's layers is left out: see HybridPattern.
absl::StatusOr<std::vector<MegatronOption>> MegatronModelOptions(
    const ModelSpec& model);

// Returns the options that depend on the GPUs of the plan.
std::vector<MegatronOption> MegatronGpuOptions(const PlannedTraining& in);

// Returns precision, optimizer, dropout and the other options of training,
// without the batch.
std::vector<MegatronOption> MegatronTrainingOptions(
    const ModelSpec& model, const TrainingOptions& training);

// Returns the details of the model that these options do not hold
// (LostDetails).
std::vector<std::string> LostUnderMegatron(const PlannedTraining& in);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_MEGATRON_OPTIONS_H_
