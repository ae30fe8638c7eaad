#ifndef TANGRAM_FRAMEWORKS_RECOMPUTE_OPTIONS_H_
#define TANGRAM_FRAMEWORKS_RECOMPUTE_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"
#include "frameworks/launch_arguments.h"

namespace tangram {

// Recomputation as Megatron-LM's options describe it, for every stage.
struct RecomputeOptions {
  enum class Kind {
    kNone,
    kModules,  // Some operators of every layer.
    kLayers,   // Whole layers.
  };
  Kind kind = Kind::kNone;
  bool block = false;  // Only the first `num_layers` layers of each stage.
  int num_layers = 0;
  std::vector<std::string> modules;
};

// Reads --recompute-granularity and its relatives. kInvalidArgument where
// Megatron-LM stops, and for modules of models that ours are not. Adds to
// `notes` what is read otherwise than Megatron-LM does it.
absl::StatusOr<RecomputeOptions> ReadRecomputeOptions(
    LaunchArguments& arguments, std::vector<std::string>& notes);

// Sets the masks of a stage of whole layers.
void ApplyRecompute(const RecomputeOptions& options, const ModelSpec& model,
                    StagePlan& stage);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_RECOMPUTE_OPTIONS_H_
