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

// The parts of ExpressRun; for cli/validation only. Errors are those of
// ExpressRun.
namespace tangram {

// Returns the catalogue entry of a GPU as sources spell it: "A100-80 SXM
// (Selene)", "V100-32 SXM2", "GH-96". `nvlink` chooses the card with NVLink if
// the name fits several.
// Looks in `devices` before the catalogue.
absl::StatusOr<const CatalogueDevice*> FindRunDevice(
    absl::string_view gpu, bool nvlink,
    absl::Span<const CatalogueDevice> devices = {});

// The network of one node, parsed from "8x HDR InfiniBand 200 Gbps per node",
// "4x Omni-Path links per node (100 Gbps each)", "800 Gbps per node". Empty if
// the text has no rate.
struct NodeNetwork {
  double gbit_per_s = 0;   // Nominal rate of the node.
  int num_links = 1;       // Links of the node; a pair uses one.
  bool rdma = false;       // InfiniBand or RoCE.
  bool omni_path = false;  // Omni-Path, without GPUDirect.
};
std::optional<NodeNetwork> ParseNodeNetwork(absl::string_view text);

absl::StatusOr<ModelSpec> ModelOfRun(const MeasuredRun& run);
// Parses "none", "optimizer", "optimizer 0.5, activations 0.25". Empty for
// "per-stage": then each stage of the row has its own.
absl::StatusOr<std::optional<HostOffload>> OffloadOfRun(const MeasuredRun& run);
absl::StatusOr<TrainingOptions> TrainingOfRun(const MeasuredRun& run);
// A cluster of the nodes that `stages` use, in that order, and the GPUs of each
// stage in rank order.
struct PlacedRun {
  Cluster cluster;
  std::vector<std::vector<GpuId>> gpus;  // One list for each stage.
};
absl::StatusOr<PlacedRun> PlaceRun(
    const MeasuredRun& run, absl::Span<const RunStage> stages,
    absl::Span<const CatalogueDevice> devices = {});

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_RUN_PARTS_H_
