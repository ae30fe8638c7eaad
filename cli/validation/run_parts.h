#ifndef TANGRAM_CLI_VALIDATION_RUN_PARTS_H_
#define TANGRAM_CLI_VALIDATION_RUN_PARTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/validation/measured_run.h"
#include "cli/validation/run_stages.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"
#include "formats/config/device_catalogue.h"

// The parts of ExpressRun; inside cli/validation only. Errors as there.
namespace tangram {

// A catalogue entry for a GPU as sources write it: "A100-80 SXM (Selene)",
// "V100-32 SXM2", "GH-96". `nvlink` picks the card with NVLink where the
// name leaves it open.
absl::StatusOr<const CatalogueDevice*> FindRunDevice(absl::string_view gpu,
                                                     bool nvlink);

// What the network of one node carries, from "8x HDR InfiniBand 200 Gbps per
// node", "4x Omni-Path links per node (100 Gbps each)", "800 Gbps per node";
// empty where no rate is given.
struct NodeNetwork {
  double gbit_per_s = 0;  // Of the node, nominal.
  int num_links = 1;
  bool rdma = false;
  bool omni_path = false;
};
std::optional<NodeNetwork> ParseNodeNetwork(absl::string_view text);

absl::StatusOr<ModelSpec> ModelOfRun(const MeasuredRun& run);
// "none", "optimizer", "optimizer 0.5, activations 0.25"; nothing where the
// row's stages say it each ("per-stage").
absl::StatusOr<std::optional<HostOffload>> OffloadOfRun(const MeasuredRun& run);
absl::StatusOr<TrainingOptions> TrainingOfRun(const MeasuredRun& run);
// A cluster with the nodes that `stages` use, in that order, and the stages'
// GPUs on it in rank order.
struct PlacedRun {
  Cluster cluster;
  std::vector<std::vector<GpuId>> gpus;  // By stage.
};
absl::StatusOr<PlacedRun> PlaceRun(const MeasuredRun& run,
                                   absl::Span<const RunStage> stages);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_RUN_PARTS_H_
