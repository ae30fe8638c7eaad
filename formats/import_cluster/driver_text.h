#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_DRIVER_TEXT_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_DRIVER_TEXT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/inventory.h"

// The texts that tools of drivers print for people. Each function returns the
// GPUs of one node, whose name is not in the text, and their memory where the
// text has it. kInvalidArgument names the line, or says that there is no GPU.
namespace tangram {

// The table of `nvidia-smi`. It cuts names short; memory then tells which GPU
// of the catalogue is meant, and a name that fits several is left as it is. A
// GPU in MIG mode is no whole one. `hl-smi` prints the same table of Intel's
// Gaudi.
absl::StatusOr<InventoryNode> ParseNvidiaSmiTable(absl::string_view text);

// `nvidia-smi -L`: "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-...)", and below a
// GPU its MIG slices, which then stand for it.
absl::StatusOr<InventoryNode> ParseNvidiaSmiList(absl::string_view text);

// `nvidia-smi --query-gpu=name,memory.total,... --format=csv`, with its line of
// titles. The column `name` is needed; memory.total, memory.reserved,
// mig.mode.current, pcie.link.gen.max and pcie.link.width.max are used.
absl::StatusOr<InventoryNode> ParseNvidiaSmiCsv(absl::string_view text);

// `rocm-smi --showproductname`, with or without --showmeminfo vram.
absl::StatusOr<InventoryNode> ParseRocmSmi(absl::string_view text);

// `amd-smi static`.
absl::StatusOr<InventoryNode> ParseAmdSmi(absl::string_view text);

// `lspci`, with or without -nn: "17:00.0 3D controller: NVIDIA Corporation
// GA100 [A100 SXM4 40GB] (rev a1)".
absl::StatusOr<InventoryNode> ParseLspci(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_DRIVER_TEXT_H_
