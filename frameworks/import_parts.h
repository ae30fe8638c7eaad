#ifndef TANGRAM_FRAMEWORKS_IMPORT_PARTS_H_
#define TANGRAM_FRAMEWORKS_IMPORT_PARTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/config/config_field.h"
#include "frameworks/framework_import.h"

namespace tangram {

// No number of a plan is larger.
inline constexpr int kMaxNumber = 1 << 20;

// The product, kInvalidArgument where it is no number of a plan.
absl::StatusOr<int> Multiply(absl::string_view what, int a, int b);

// The one file that is neither a host file nor a script, nor has `ignored` in
// its name. kInvalidArgument if there is none or several.
absl::StatusOr<const FrameworkFile*> FindConfig(const ImportRequest& request,
                                                absl::string_view ignored);

// Whether that is the name of the file, whatever its folder.
bool IsNamed(const FrameworkFile& file, absl::string_view name);

// The first setting of that name in a mapping or the mappings in it.
std::optional<ConfigField> FindSetting(const ConfigField& section,
                                       absl::string_view key);

// Whole numbers of a sequence, all at least `min`.
absl::StatusOr<std::vector<int>> AsInts(const ConfigField& field, int min);

// A stage of whole layers as frameworks write it.
struct LayerStage {
  int num_layers = 0;  // Of transformer layers.
  StageParallelism parallelism;
  int recomputed = 0;  // The first so many layers, wholly.
  bool recomputes_attention_core = false;
};

// The stages on the GPUs of the host file among the files, or on the first of
// the cluster. The embedding is in the first stage, the head in the last.
absl::StatusOr<ImportedPlan> PlaceLayerStages(
    const ImportRequest& request, absl::Span<const LayerStage> stages);

// The GPUs of the host file among the files, or all of the cluster.
struct GpuList {
  std::vector<GpuId> gpus;
  std::string source;  // Name of the host file; empty: the cluster.
};
absl::StatusOr<GpuList> FindGpus(const ImportRequest& request);

// Gives each device of `imported.plan` its GPUs in rank order.
absl::Status PlaceStages(const ImportRequest& request, ImportedPlan& imported);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_IMPORT_PARTS_H_
