#ifndef TANGRAM_FRAMEWORKS_PIPELINE_LAYOUT_H_
#define TANGRAM_FRAMEWORKS_PIPELINE_LAYOUT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "frameworks/launch_arguments.h"

namespace tangram {

// A stage, or with virtual stages a chunk, of Megatron-LM's pipeline.
struct LayoutStage {
  bool embedding = false;
  int num_layers = 0;
  bool head = false;
};

// Returns the stages in execution order, as Megatron-LM derives them from
// --pipeline-model-parallel-layout, from virtual stages, from the layers of the
// first and last stage, or from an even split. The result is a multiple of
// `num_devices` long. kInvalidArgument where Megatron-LM stops, and for stages
// that plans cannot hold: of nothing, and of multi-token prediction.
absl::StatusOr<std::vector<LayoutStage>> ReadPipelineLayout(
    LaunchArguments& arguments, int num_layers, int num_devices);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_PIPELINE_LAYOUT_H_
