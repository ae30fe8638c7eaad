#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_INVENTORY_FORMAT_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_INVENTORY_FORMAT_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace tangram {

// The outputs that can be imported; CommandOf() names the commands.
enum class InventoryFormat {
  kScontrolNodes,     // scontrol show node
  kScontrolTopology,  // scontrol show topology
  kSinfo,             // sinfo with -o or -O
  kSlurmJson,         // sinfo --json, scontrol show nodes --json
  kKubernetes,        // kubectl get nodes -o json
  kNvidiaSmiXml,      // nvidia-smi -q -x
  kNvidiaSmiTable,    // nvidia-smi
  kHlSmi,             // hl-smi
  kNvidiaSmiList,     // nvidia-smi -L
  kNvidiaSmiCsv,      // nvidia-smi --query-gpu=... --format=csv
  kNvidiaSmiRows,     // nvidia-smi --query-gpu=name,... --format=csv,noheader
  kNvidiaSmiQuery,    // nvidia-smi -q
  kRocmSmi,           // rocm-smi --showproductname
  kRocmSmiJson,       // rocm-smi --showproductname --json
  kRocmSmiCsv,        // rocm-smi --showproductname --csv
  kGpustat,           // gpustat
  kRocmInfo,          // rocminfo
  kAmdSmi,            // amd-smi static
  kAmdSmiJson,        // amd-smi static --json
  kAmdSmiTable,       // amd-smi
  kLspci,             // lspci
  kHostfile,          // a hostfile of MPI or DeepSpeed
  kGpuTopology,       // nvidia-smi topo -m
  kNcclTests,         // all_reduce_perf and the other nccl-tests
};

// Detects the command that printed the text; empty if it is none of these.
std::optional<InventoryFormat> DetectFormat(absl::string_view text);

// Returns "scontrol show node", "nvidia-smi topo -m".
absl::string_view CommandOf(InventoryFormat format);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_INVENTORY_FORMAT_H_
