#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_DRIVER_REPORTS_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_DRIVER_REPORTS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/inventory.h"

// More texts that tools of drivers print, with the same results and errors as
// those of driver_text.h.
namespace tangram {

// `nvidia-smi -q`: "Product Name : NVIDIA H100 PCIe", and below it the MIG mode
// and the memory of the GPU.
absl::StatusOr<InventoryNode> ParseNvidiaSmiQuery(absl::string_view text);

// `nvidia-smi --query-gpu=name,memory.total --format=csv,noheader`, also with
// nounits: "NVIDIA H100 80GB HBM3, 81559 MiB".
absl::StatusOr<InventoryNode> ParseNvidiaSmiRows(absl::string_view text);

// Returns whether the text is of such rows: all begin with a name of the
// catalogue.
bool IsNvidiaSmiRows(absl::string_view text);

// `rocm-smi --showproductname --json`, with or without --showmeminfo vram.
absl::StatusOr<InventoryNode> ParseRocmSmiJson(absl::string_view text);

// `rocm-smi --showproductname --csv`, with or without --showmeminfo vram.
absl::StatusOr<InventoryNode> ParseRocmSmiCsv(absl::string_view text);

// Returns whether the line has the titles of rocm-smi --csv: "device,Card
// Series,Card Model".
bool IsRocmSmiTitles(absl::string_view line);

// `amd-smi static --json`: a list with an object for each GPU, or such a list
// under "gpu_data".
absl::StatusOr<InventoryNode> ParseAmdSmiJson(absl::string_view text);

// `gpustat`: "[0] Tesla V100-SXM2-16GB | 31'C,   0 % |   0 / 16160 MB |".
absl::StatusOr<InventoryNode> ParseGpustat(absl::string_view text);

// `rocminfo`: the agents whose device type is GPU.
absl::StatusOr<InventoryNode> ParseRocmInfo(absl::string_view text);

// The table of `amd-smi` without arguments: "| 0000:05:00.0  AMD Instinct
// MI355X | ...". GPUs in partitions have their mode in the row below.
absl::StatusOr<InventoryNode> ParseAmdSmiTable(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_DRIVER_REPORTS_H_
