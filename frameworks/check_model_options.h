#ifndef TANGRAM_FRAMEWORKS_CHECK_MODEL_OPTIONS_H_
#define TANGRAM_FRAMEWORKS_CHECK_MODEL_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/domain/model_spec.h"
#include "frameworks/launch_arguments.h"

namespace tangram {

// Returns whether the arguments describe a model. Those that do not are the
// parallel part of a launch, and say nothing by what they lack.
bool DescribesModel(LaunchArguments& arguments);

// OK if the arguments describe `model`; what they lack has Megatron-LM's
// default. kInvalidArgument names the option, its value and the model's. Adds a
// note on what cannot be compared.
absl::Status CheckModelOptions(LaunchArguments& arguments,
                               const ModelSpec& model,
                               std::vector<std::string>& notes);

// Reads how experts run. Predictions are for the dispatcher alltoall and for
// products of all experts at once; adds a note if the dispatcher is another.
void ReadExpertKernels(LaunchArguments& arguments, const ModelSpec& model,
                       std::vector<std::string>& notes);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_CHECK_MODEL_OPTIONS_H_
