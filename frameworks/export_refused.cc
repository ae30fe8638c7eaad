#include "absl/status/status.h"
#include "frameworks/targets.h"

// Frameworks that offer no way to set where stages are cut and how each is run.
namespace tangram {

absl::StatusOr<FrameworkExport> ExportToDeepSpeed(const PlannedTraining&) {
  return absl::UnimplementedError(
      "stages: a list of cuts; expected none, as PipelineModule balances "
      "stages "
      "itself (partition_method); sailor writes cuts for Sailor's DeepSpeed");
}

absl::StatusOr<FrameworkExport> ExportToNnScaler(const PlannedTraining&) {
  return absl::UnimplementedError(
      "stages: layers; expected node ids of the graph that nnScaler traces, "
      "which are not known before");
}

absl::StatusOr<FrameworkExport> ExportToNanotron(const PlannedTraining&) {
  return absl::UnimplementedError(
      "stages: degrees and layers of each; expected dp, pp and tp alone, as "
      "Nanotron divides the layers itself; megatron holds uneven stages");
}

}  // namespace tangram
