#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_GPU_NAMES_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_GPU_NAMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/config/device_list.h"

namespace tangram {

// Which GPU of the catalogue an inventory means.
struct GpuMatch {
  const CatalogueDevice* device = nullptr;  // Null: none.
  // Types that the name stands for as well; "a100" does not tell A100-80 from
  // A100-40.
  std::vector<std::string> others;
};

// `name` as drivers ("NVIDIA A100-SXM4-80GB"), labels ("NVIDIA-A100-SXM4-80GB")
// and Slurm ("a100", "nvidia_a100-sxm4-80gb") spell it. The memory of one GPU,
// where known (not 0), tells variants apart.
GpuMatch MatchGpu(absl::string_view name, double memory_bytes);

// "a100_3g.20gb": a part of a GPU, which nothing is planned for.
bool IsGpuSlice(absl::string_view name);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_GPU_NAMES_H_
