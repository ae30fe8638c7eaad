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

// Limit of every number in a plan.
inline constexpr int kMaxNumber = 1 << 20;

// Returns the product; kInvalidArgument, naming `what`, beyond kMaxNumber.
absl::StatusOr<int> Multiply(absl::string_view what, int a, int b);

// Returns the one file that is neither a host file nor a script and does not
// have `ignored` in its name. kInvalidArgument if there is none or several.
absl::StatusOr<const FrameworkFile*> FindConfig(const ImportRequest& request,
                                                absl::string_view ignored);

// Returns the name without its folders.
absl::string_view BaseName(absl::string_view path);

// Returns whether the file has that name, in any folder.
bool IsNamed(const FrameworkFile& file, absl::string_view name);

// Reads the whole numbers of a sequence, each at least `min`.
absl::StatusOr<std::vector<int>> AsInts(const ConfigField& field, int min);

// A stage of whole layers, as frameworks describe it.
struct LayerStage {
  int num_layers = 0;  // Transformer layers.
  StageParallelism parallelism;
};

// GPUs in rank order.
struct GpuList {
  std::vector<GpuId> gpus;
  std::string source;  // Name of the host file; empty: the cluster.
  std::string text;    // Content of the host file.
};
// Returns the GPUs of the host file among the files, or all of the cluster.
absl::StatusOr<GpuList> FindGpus(const ImportRequest& request);

// Assigns GPUs in rank order to the devices of the plan: all of a host file, or
// the first of the cluster, with a note.
absl::Status PlaceStages(const GpuList& list, ImportedPlan& imported);

// Returns the stages as a plan on the GPUs, without recomputation. The
// embedding is in the first stage, the head in the last.
absl::StatusOr<ImportedPlan> PlaceLayerStages(
    const ImportRequest& request, absl::Span<const LayerStage> stages,
    const GpuList& list);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_IMPORT_PARTS_H_
