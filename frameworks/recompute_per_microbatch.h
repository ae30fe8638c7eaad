#ifndef TANGRAM_FRAMEWORKS_RECOMPUTE_PER_MICROBATCH_H_
#define TANGRAM_FRAMEWORKS_RECOMPUTE_PER_MICROBATCH_H_

#include "absl/status/status.h"
#include "common/domain/model_spec.h"
#include "frameworks/framework_import.h"
#include "frameworks/launch_arguments.h"

namespace tangram {

// Sets the recomputation of the stages of `imported.plan` as FlagScale does:
// Megatron-LM's options, and lists that replace granularity, method and number
// of layers for each stage and microbatch. kInvalidArgument where FlagScale
// stops, and for microbatches that are treated differently.
absl::Status ReadRecomputePerMicrobatch(LaunchArguments& arguments,
                                        const ModelSpec& model,
                                        int num_microbatches,
                                        ImportedPlan& imported);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_RECOMPUTE_PER_MICROBATCH_H_
