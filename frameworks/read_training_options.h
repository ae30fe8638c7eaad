#ifndef TANGRAM_FRAMEWORKS_READ_TRAINING_OPTIONS_H_
#define TANGRAM_FRAMEWORKS_READ_TRAINING_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/domain/training_options.h"
#include "frameworks/launch_arguments.h"

namespace tangram {

// Requires `found`, which a file has, to be what the plan is imported for.
// `known` 0: not known. The error of `error`(expected) names both.
absl::Status CheckSequenceLength(
    int found, int known,
    absl::FunctionRef<absl::Status(absl::string_view expected)> error);

// Reads how Megatron-LM trains, without the batch. Where the arguments describe
// no model (DescribesModel), `known` has what they lack; otherwise
// Megatron-LM's defaults do. kInvalidArgument if precision or sequence length
// differ from `known`, and for optimizers that plans do not know. Adds a note
// on every other option that differs from `known`.
absl::StatusOr<TrainingOptions> ReadTrainingOptions(
    LaunchArguments& arguments, const TrainingOptions& known,
    std::vector<std::string>& notes);

// Reads the global batch, which without the option is a microbatch of all
// replicas. Checks --rampup-batch-size and notes it: a plan is for the batch at
// its end.
absl::StatusOr<int> ReadGlobalBatch(LaunchArguments& arguments,
                                    int pipeline_microbatch_size,
                                    std::vector<std::string>& notes);

// Adds a note that lists the options in which `found` differs from `known`.
void NoteChangedTraining(const TrainingOptions& known,
                         const TrainingOptions& found,
                         std::vector<std::string>& notes);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_READ_TRAINING_OPTIONS_H_
