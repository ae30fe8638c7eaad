#include "worker/adapters/aceso/aceso_adapter.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "worker/adapters/aceso/aceso_answer.h"
#include "worker/adapters/aceso/aceso_profile.h"

namespace tangram {
namespace {

// Aceso's operators have no expert parallelism, so mixture-of-experts layers
// are refused.
absl::Status CheckDense(absl::Span<const LayerRun> runs) {
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].layer.is_moe()) continue;
    return absl::UnimplementedError(absl::StrCat(
        "slice.runs[", i, "].layer.num_experts: ", runs[i].layer.num_experts,
        "; aceso plans dense layers only"));
  }
  return absl::OkStatus();
}

absl::Status CheckPositive(absl::string_view field, int value) {
  if (value > 0) return absl::OkStatus();
  return FieldError(field, value, "a positive integer");
}

// Checks the question itself. The search behind it assumes a well-formed query.
absl::Status CheckQuery(const ModelSlice& slice, const IslandSpec& island,
                        const TrainingOptions& training, int microbatch_size) {
  if (slice.runs.empty()) {
    return absl::InvalidArgumentError("slice.runs: empty; expected layers");
  }
  for (size_t i = 0; i < slice.runs.size(); ++i) {
    TANGRAM_RETURN_IF_ERROR(CheckPositive(
        absl::StrCat("slice.runs[", i, "].count"), slice.runs[i].count));
  }
  TANGRAM_RETURN_IF_ERROR(CheckPositive("island.num_nodes", island.num_nodes));
  TANGRAM_RETURN_IF_ERROR(
      CheckPositive("island.gpus_per_node", island.gpus_per_node));
  TANGRAM_RETURN_IF_ERROR(
      CheckPositive("options.pipeline_microbatch_size", microbatch_size));
  TANGRAM_RETURN_IF_ERROR(CheckPositive("options.training.global_batch_size",
                                        training.global_batch_size));
  TANGRAM_RETURN_IF_ERROR(CheckPositive("options.training.sequence_length",
                                        training.sequence_length));
  if (training.global_batch_size % microbatch_size != 0) {
    return FieldError("options.pipeline_microbatch_size", microbatch_size,
                      absl::StrCat("a divisor of the global batch ",
                                   training.global_batch_size));
  }
  return CheckDense(slice.runs);
}

class AcesoParallelizer : public Parallelizer {
 public:
  std::string name() const override { return "aceso"; }
  std::string version() const override { return "2"; }

  ParallelizerFeatures features() const override {
    return {.data_parallel = true,
            .pipeline_parallel = true,
            .tensor_parallel = true,
            .gradient_accumulation = true,
            .recompute = true};
  }

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) const override {
    for (size_t i = 0; i < model.layers.size(); ++i) {
      if (!model.layers[i].is_moe()) continue;
      return absl::UnimplementedError(absl::StrCat(
          "model.layers[", i, "].num_experts: ", model.layers[i].num_experts,
          "; aceso plans dense layers only"));
    }
    return SliceByLayer(model);
  }

  absl::StatusOr<ModelSlice> Concatenate(
      const ModelSlice& head, const ModelSlice& tail) const override {
    if (tail.atoms.begin != head.atoms.end) {
      return FieldError("tail.atoms.begin", tail.atoms.begin,
                        absl::StrCat(head.atoms.end, ", where head ends"));
    }
    return JoinSlices(head, tail);
  }

  absl::StatusOr<PerformanceProfile> Profile(
      const ModelSlice& slice, const IslandSpec& island,
      const ProfileOptions& options) const override {
    TANGRAM_RETURN_IF_ERROR(CheckQuery(slice, island, options.training,
                                       options.pipeline_microbatch_size));
    return aceso::LowerBounds(slice, island, options);
  }

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    TANGRAM_RETURN_IF_ERROR(CheckQuery(slice, island, options.training,
                                       options.pipeline_microbatch_size));
    if (options.trailing_stages < 0) {
      return FieldError("options.trailing_stages", options.trailing_stages,
                        "no negative number");
    }
    if (options.max_search_steps < 0) {
      return FieldError("options.max_search_steps", options.max_search_steps,
                        "no negative number");
    }
    return aceso::SearchAllStageCounts(slice, island, options);
  }
};

}  // namespace

std::unique_ptr<Parallelizer> CreateAcesoParallelizer() {
  return std::make_unique<AcesoParallelizer>();
}

}  // namespace tangram
