#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_GPU_NAMES_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_GPU_NAMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/config/device_list.h"

namespace tangram {

// The GPU of the catalogue that an inventory means.
struct GpuMatch {
  const CatalogueDevice* device = nullptr;  // Null: none.
  // Further types that the name may mean; "a100" does not tell A100-80 from
  // A100-40.
  std::vector<std::string> others;
  // The name is the beginning of the type's alone, and nothing else tells them
  // apart: "RTX 2080" for RTX-2080-Ti.
  bool is_beginning = false;
};

// Matches a name as drivers ("NVIDIA A100-SXM4-80GB"), labels
// ("NVIDIA-A100-SXM4-80GB") and Slurm ("a100", "nvidia_a100-sxm4-80gb") spell
// it. `memory_bytes` of one GPU tells variants apart; 0 if unknown.
GpuMatch MatchGpu(absl::string_view name, double memory_bytes);

// Returns the whole name of a GPU that a table cut short, "Tesla V100-SXM2...",
// if the catalogue has exactly one of that beginning and memory. Otherwise, and
// if nothing was cut, the name as it is.
std::string CompleteGpuName(absl::string_view name, double memory_bytes);

// Returns the texts among the features of a node that name a GPU of the
// catalogue, without what sites put before them: "gpu_a100" and
// "GPU_SKU:V100_SXM2" give "a100" and "V100_SXM2". Each GPU once.
std::vector<std::string> GpuFeatures(absl::string_view features);

// Returns the memory of one GPU that a feature tells, "GPU_MEM:32GB"; 0: none.
double GpuMemoryOfFeatures(absl::string_view features);

// Returns the product of a name that begins with that of its chip: "Instinct
// MI300A" of "Aqua Vanjaram [Instinct MI300A]". Other names stay.
std::string ProductInBrackets(absl::string_view name);

// True for "a100_3g.20gb": a slice of a GPU, for which there are no plans.
bool IsGpuSlice(absl::string_view name);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_GPU_NAMES_H_
